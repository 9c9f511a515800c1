"""Fills empty expectations in spec files (``--harness-accept``) and rewrites the parts of
expectations that no longer hold (``--harness-update``).

The cells run in any process of pytest-xdist and only report their values. The controller writes
each file once, at the end of the run: a file that a person wrote is changed in one process and in
one step. The text before that is kept for `harness review`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import guard
from harness.project.before_update import before_update, keep_before
from harness.project.folders import read_text
from harness.specs.accept import ExpectationChange, Fill, change_all
from harness.specs.spec_error import SpecError
from harness.specs.update import Update


class Written(TypedDict):
    """The value for an expectation, from a worker."""

    path: str
    case: str
    key: str
    value: str
    """The expectation, as JSON."""
    update: str | None
    """None for an empty expectation; else the expectation in the file, and the output of the run,
    as JSON.
    """
    named: str
    """The id of its item, for messages."""


class Filled(NamedTuple):
    """The result of writing one value: ``fault`` is empty if it is in the file."""

    named: str
    file: str
    fault: str = ""
    is_update: bool = False

    @property
    def verb(self) -> str:
        """What was done to the expectation."""
        return "updated" if self.is_update else "filled in"


def written_of(
    path: Path, case: str, key: str, value: Any, named: str, update: tuple[Any, Any] | None = None
) -> Written:
    """Return the value that a worker sends; ``update`` is the expectation in the file, and the
    output of the run. Raises `CassetteError` for a value that shows a secret.
    """
    text = msgspec.json.encode(value).decode()
    guard().scanner.refuse(text, str(path))
    both = None if update is None else msgspec.json.encode(update).decode()
    return Written(path=str(path), case=case, key=key, value=text, update=both, named=named)


def write_all(values: dict[str, Written]) -> dict[str, Filled]:
    """Write the values of items, by their ids. Every file is written once, and atomically."""
    by_file: dict[str, dict[str, Written]] = {}
    for nodeid, value in values.items():
        by_file.setdefault(value["path"], {})[nodeid] = value
    filled: dict[str, Filled] = {}
    for path, of_file in by_file.items():
        faults = _write(Path(path), of_file.values())
        for (nodeid, value), fault in zip(of_file.items(), faults, strict=True):
            is_update = value["update"] is not None
            filled[nodeid] = Filled(value["named"], Path(path).name, fault, is_update)
    return {nodeid: filled[nodeid] for nodeid in values}


def _write(path: Path, values: Iterable[Written]) -> list[str]:
    """Write the values into one file; returns the fault of each, or ""."""
    from harness.recording.persister import save  # imports vcrpy

    changes = [_change(value) for value in values]
    try:
        old = read_text(path)
        text, errors = change_all(old, changes, path=str(path))
        if not all(errors):
            with suppress(OSError):  # the review then shows each expectation as a whole
                if before_update(path) is None:
                    keep_before(path, old)
            save(path.resolve(), [guard().scanner.refuse(text, str(path)).encode()])
    except (CassetteError, SpecError, OSError) as error:
        return [str(error)] * len(changes)
    return [str(error or "") for error in errors]


def _change(value: Written) -> ExpectationChange:
    case, key, expectation = value["case"], value["key"], msgspec.json.decode(value["value"])
    if value["update"] is None:
        return Fill(case, key, expectation)
    before, got = msgspec.json.decode(value["update"])
    return Update(case, key, before, got, expectation)
