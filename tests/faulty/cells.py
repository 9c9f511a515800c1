"""The cells of the shipped specs, which are read once, and those in which a fault differs from ours."""

from __future__ import annotations

from functools import cache
from typing import Any

from harness import Exchange
from harness.judging.judge import Cell
from harness.project.folders import yaml_files
from harness.project.project import kind_of
from harness.stream.session import Session
from tests.faulty.faults import CASSETTE, PROJECT, ROOT
from tests.faulty.pipeline import AnswerFault


@cache
def all_cells() -> list[Cell]:
    """The cells of all specs, which are read once."""
    files = [path for path in yaml_files(ROOT / "specs") if kind_of(path) == "spec"]
    return [cell for path in files for cell in PROJECT.cells(path)]


@cache
def cells(dialect: str) -> list[Cell]:
    return [cell for cell in all_cells() if cell.column == dialect and cell.case.kind == "stream"]


def recorded(cell: Cell) -> Exchange:
    return CASSETTE(cell.case.cassette).exchanges[cell.case.exchange - 1]


def run(fault: AnswerFault, cell: Cell) -> tuple[Any, Any]:
    """The payloads of a cell, and the calls that its session remembers."""
    session = Session(context=cell.case.context)
    return fault.replay(
        recorded(cell), provider=cell.case.provider, tool_code=cell.case.tool_code, session=session
    ), session.calls


@cache
def ours(dialect: str) -> list[tuple[Any, Any]]:
    return [run(AnswerFault(dialect), cell) for cell in cells(dialect)]


@cache
def differing_cells(fault: AnswerFault) -> list[tuple[int, Cell]]:
    """The cells, each with its place in `cells`, in which payloads or session differ from ours."""
    pairs = zip(cells(fault.dialect), ours(fault.dialect), strict=True)
    return [(at, cell) for at, (cell, own) in enumerate(pairs) if run(fault, cell) != own]
