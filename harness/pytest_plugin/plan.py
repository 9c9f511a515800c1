"""The planned cells that a run did not reach: a result for each, made from the id of its item.

A worker of pytest-xdist collects the items, and the controller knows only their ids. So the cell of
an id is looked up in its spec or cassette, in the same way with and without workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import mask
from harness.judging.judge import Cell, blank_result
from harness.judging.laws.judge import LawCell, blank_law_result
from harness.judging.rows import CaseRow, Row, encode, unjudged
from harness.project.project import kind_of
from harness.specs.spec_error import SpecError

from .failures import Gap
from .items import command_of
from .laws import cells_of_cassette
from .mask import masked as masked_text
from .paths import QUESTIONS, cassette_folder, is_collected
from .project import project_of
from .questions import QuestionCell, cells_of_questions, options_of
from .specs import cells_of_spec, provider_of

Blank = Callable[[], Row]


def unreached(config: pytest.Config, gaps: Mapping[str, Gap]) -> dict[str, str]:
    """Return the encoded results of the cells with these ids, which have no other result, by their
    ids. An id that is not of a cell has none.
    """
    by_file: dict[str, list[str]] = {}
    for nodeid in gaps:
        by_file.setdefault(nodeid.partition("::")[0], []).append(nodeid)
    results = {}
    for file, ids in by_file.items():
        blanks = _blanks(file, config)
        if blanks is None:
            continue
        for nodeid in ids:
            blank = blanks[nodeid]() if nodeid in blanks else _unknown(nodeid)
            reason, skipped = gaps[nodeid]
            not_run = replace(blank, verdict="not-run", reason=reason)
            result = not_run if skipped else unjudged(blank, reason)
            results[nodeid] = encode([mask().value(result)]).decode()
    return results


def _blanks(file: str, config: pytest.Config) -> dict[str, Blank] | None:
    """Return the cells of a file by the ids of their items; None if it is not a file with cells."""
    path = Path(os.path.normpath(config.rootpath / file))
    try:
        if kind_of(path) == "spec":
            return {
                masked_text(f"{file}::{name}"): partial(_of_spec, path, name, cell, config)
                for name, cell in cells_of_spec(path, config)
            }
        if kind_of(path) == "questions" or path == QUESTIONS:
            return {
                masked_text(f"{file}::{cell.name}"): partial(_of_question, path, cell, config)
                for cell in cells_of_questions(path, config)
            }
        laws = config.getoption("--harness-laws")
        if laws and is_collected(path, cassette_folder(config), config):
            return {
                masked_text(f"{file}::{cell.name}"): partial(_of_cassette, path, cell, config)
                for cell in cells_of_cassette(path, config)
            }
    except (SpecError, CassetteError, OSError):
        return {}  # it changed during the run
    return None


def _of_spec(path: Path, name: str, cell: Cell, config: pytest.Config) -> Row:
    provider = provider_of(project_of(config), cell) or ""
    command = command_of(path, name, config)
    return replace(blank_result(cell), provider=provider, command=command)


def _of_question(path: Path, cell: QuestionCell, config: pytest.Config) -> Row:
    command = command_of(path, cell.name, config, *options_of(cell))
    return replace(cell.item.blank, adapter=cell.adapter.name, command=command)


def _of_cassette(path: Path, cell: LawCell, config: pytest.Config) -> Row:
    command = command_of(path, cell.name, config, "--harness-laws")
    return replace(blank_law_result(cell), command=command)


def _unknown(nodeid: str) -> Row:
    """Return the result of a cell that its file does not have any more."""
    file, _, name = nodeid.partition("::")
    return CaseRow("error", spec=file, case=name)
