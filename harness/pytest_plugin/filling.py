"""Fills empty expectations in spec files (``--harness-accept``).

The cells run in any process of pytest-xdist and only report their values. The controller writes
each file once, at the end of the run: a file that a person wrote is changed in one process and in
one step.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import guard
from harness.project.project import read_text
from harness.specs import SpecError, accept_all


class Fill(TypedDict):
    """The value of an empty expectation. ``named``: the id of its item, for messages."""

    path: str
    case: str
    key: str
    value: str
    named: str


class Filled(NamedTuple):
    """The result of writing one value: ``fault`` is empty if it is in the file."""

    named: str
    file: str
    fault: str = ""


def fill_of(path: Path, case: str, key: str, value: Any, named: str) -> Fill:
    """Raises `CassetteError` for a value that shows a secret."""
    text = msgspec.json.encode(value).decode()
    guard().scanner.refuse(text, str(path))
    return Fill(path=str(path), case=case, key=key, value=text, named=named)


def write_fills(fills: dict[str, Fill]) -> dict[str, Filled]:
    """Write the values of items, by their ids. Every file is written once, and atomically."""
    by_file: dict[str, dict[str, Fill]] = {}
    for nodeid, fill in fills.items():
        by_file.setdefault(fill["path"], {})[nodeid] = fill
    filled: dict[str, Filled] = {}
    for path, of_file in by_file.items():
        faults = _write(Path(path), of_file.values())
        for (nodeid, fill), fault in zip(of_file.items(), faults, strict=True):
            filled[nodeid] = Filled(fill["named"], Path(path).name, fault)
    return {nodeid: filled[nodeid] for nodeid in fills}


def _write(path: Path, fills: Iterable[Fill]) -> list[str]:
    """Write the values into one file; returns the fault of each, or ""."""
    from harness.recording.persister import save  # imports vcrpy

    values = [(fill["case"], fill["key"], msgspec.json.decode(fill["value"])) for fill in fills]
    try:
        text, errors = accept_all(read_text(path), values, path=str(path))
        if not all(errors):
            save(path.resolve(), [guard().scanner.refuse(text, str(path)).encode()])
    except (CassetteError, SpecError, OSError) as error:
        return [str(error)] * len(values)
    return [str(error or "") for error in errors]
