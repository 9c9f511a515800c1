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
from typing import Final, NamedTuple, TypedDict

import msgspec

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import guard
from harness.project.folders import read_text
from harness.project.review import before_update, keep_before
from harness.specs.spec_error import SpecError
from harness.specs.update import Update, change_all

EMPTY: Final = "null"
"""An empty expectation, as JSON."""


class Written(TypedDict):
    """The value for an expectation, from a worker."""

    path: str
    case: str
    key: str
    value: str
    """The expectation, as JSON."""
    before: str
    """The expectation in the file, as JSON; ``null`` for an empty one."""
    got: str
    """The output of the run, as JSON."""
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


def written_of(path: Path, update: Update, named: str) -> Written:
    """Return the value that a worker sends. Raises `CassetteError` for a value that shows a
    secret.
    """
    before, got, value = (
        msgspec.json.encode(data).decode() for data in (update.before, update.got, update.value)
    )
    guard().scanner.refuse(value, str(path))
    return Written(
        path=str(path),
        case=update.case,
        key=update.key,
        value=value,
        before=before,
        got=got,
        named=named,
    )


def write_all(values: dict[str, Written]) -> dict[str, Filled]:
    """Write the values of items, by their ids. Every file is written once, and atomically."""
    by_file: dict[str, dict[str, Written]] = {}
    for nodeid, value in values.items():
        by_file.setdefault(value["path"], {})[nodeid] = value
    filled: dict[str, Filled] = {}
    for path, of_file in by_file.items():
        faults = _write(Path(path), of_file.values())
        for (nodeid, value), fault in zip(of_file.items(), faults, strict=True):
            is_update = value["before"] != EMPTY
            filled[nodeid] = Filled(value["named"], Path(path).name, fault, is_update)
    return {nodeid: filled[nodeid] for nodeid in values}


def _write(path: Path, values: Iterable[Written]) -> list[str]:
    """Write the values into one file; returns the fault of each, or ""."""
    from harness.recording.persister import save  # imports vcrpy

    changes = [
        Update(value["case"], value["key"], *map(msgspec.json.decode, texts))
        for value in values
        for texts in [(value["before"], value["got"], value["value"])]
    ]
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
