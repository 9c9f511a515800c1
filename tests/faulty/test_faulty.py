"""The harness says no: every known fault of an adapter goes red in a shipped case or a law, and
nearly everything else stays as it was.

An adapter here is our own pipeline with one fault of those that real ones had (``faulty/``). It is
judged by all cases of its dialect, and held against the laws on answers in which its fault shows
and on a few that have something of everything. A fault that nothing sees is a gap in the cases, and
is closed there. The summary of a run says which case or law caught which fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness import Exchange
from harness.conformance.adapters.mind_program import MIND_PROGRAM, make_mind_program
from harness.conformance.adapters.unified_llm_client import (
    UNIFIED_LLM_CLIENT,
    make_unified_llm_client,
)
from harness.conformance.judge import Adapter, Cell, judge, produce, resolve_fixture
from harness.conformance.laws import LAWS, Replayer
from harness.conformance.project import Project, kind_of, yaml_files
from harness.conformance.results import CaseResult
from harness.pipeline.replay import replay
from harness.stream.session import Session
from tests.faulty.agent_events import AGENT_EVENTS
from tests.faulty.anthropic import ANTHROPIC
from tests.faulty.art import ART
from tests.faulty.clients import CLIENT_FAULTS
from tests.faulty.mind import MIND
from tests.faulty.pipeline import Fault, Table
from tests.faulty.programs import PROGRAM_FAULTS, ProgramFault
from tests.faulty.proxy_requests import PROXY
from tests.faulty.requests import REQUEST_FAULTS
from tests.faulty.siblings import SIBLINGS
from tests.faulty.tool_code import TOOL_CODE
from tests.faulty.unified_llm import UNIFIED_LLM

ROOT = Path(__file__).parents[2]
PROJECT = Project([ROOT / "specs"], ROOT / "cassettes")
CASSETTE = cache(PROJECT.cassette)
TABLES: tuple[Table, ...] = (
    UNIFIED_LLM,
    SIBLINGS,
    ANTHROPIC,
    TOOL_CODE,
    PROXY,
    AGENT_EVENTS,
    ART,
    MIND,
)
FAULTS = {
    f"{table.dialect}: {name}": fault for table in TABLES for name, fault in table.faults.items()
}
UNHARMED = 0.75
"""The share of its dialect's cells that one fault must leave alone, so that it is one: about a
fifth of all cells are about errors.
"""

OF_EVERYTHING = (("gemini-api/calls-and-text", 2), ("gemini-api/signatures-calls", 1))
"""The law about spelling looks at these exchanges, for a fault may show in another spelling
alone.
"""

EXAMPLES = 4
"""So many of the smallest answers in which a fault shows are held against the laws of one replay,
the smallest against all.
"""

LARGE = 900
"""No larger body is cut at every place."""

SHOWN = 3
"""So many of the cells that see a fault are named."""

OF_ONE_REPLAY = (2, 3)
TWICE = 5
OF_CUTS = (1, 4)
OF_SPELLING = 6


Tell = Callable[[str, object], None]
CAUGHT = "faulty adapter"
"""The property of a test that the summary of a run prints (see conftest.py)."""


def row(name: str, says: str, caught_by: str) -> str:
    return f"{name}: {says}\n    → {caught_by or 'NOTHING'}"


@dataclass(frozen=True, slots=True)
class Sight:
    """What all cases of its dialect see of one adapter: red cells, and those in which payloads or
    session are not ours.
    """

    red: list[Cell]
    differing: list[Cell]

    def __str__(self) -> str:
        names = [f"{cell.spec.removesuffix('.yaml')} {cell.case.case}" for cell in self.red]
        return ", ".join(names[:SHOWN]) + (
            f" and {len(names) - SHOWN} more cells" if len(names) > SHOWN else ""
        )


@cache
def cells(dialect: str) -> list[Cell]:
    files = [path for path in yaml_files(ROOT / "specs") if kind_of(path) == "spec"]
    return [
        cell
        for path in files
        for cell in PROJECT.cells(path)
        if cell.column == dialect and cell.case.kind == "stream"
    ]


def recorded(cell: Cell) -> Exchange:
    return CASSETTE(cell.case.cassette).exchanges[cell.case.exchange - 1]


def told(fault: Fault, cell: Cell) -> tuple[Any, Any]:
    """The payloads of a cell, and the calls that its session remembers."""
    session = Session()
    return fault.replay(
        recorded(cell), provider=cell.case.provider, tool_code=cell.case.tool_code, session=session
    ), session.calls


@cache
def ours(dialect: str) -> list[tuple[Any, Any]]:
    return [told(Fault(dialect), cell) for cell in cells(dialect)]


def look(fault: Fault) -> Sight:
    """Judge an adapter by all cases of its dialect."""
    pairs = zip(cells(fault.dialect), ours(fault.dialect), strict=True)
    differing = [cell for cell, own in pairs if told(fault, cell) != own]
    return Sight(
        [cell for cell in cells(fault.dialect) if is_red(judge(cell, CASSETTE, fault))], differing
    )


def is_red(result: CaseResult) -> bool:
    """Whether the comparison says no; an adapter that raises would be seen for something else than
    its fault.
    """
    assert result.verdict != "error", result.reason
    return result.verdict not in ("passed", "not-carried")


def breaches(fault: Fault, differing: list[Cell]) -> Iterator[str]:
    """The laws that the fault breaks where ours keeps them."""
    small = sorted(differing, key=lambda cell: len(recorded(cell).body))[:EXAMPLES]
    pairs = [(law, cell) for law in OF_ONE_REPLAY for cell in small]
    if fault.spoils_events:
        pairs += [
            (law, cell)
            for law in OF_CUTS
            for cell in small[:1]
            if len(recorded(cell).body) <= LARGE
        ]
        pairs += [
            (OF_SPELLING, cell)
            for cell in cells(fault.dialect)
            if (cell.case.cassette, cell.case.exchange) in OF_EVERYTHING
        ]
    for number, cell in [*pairs, *((TWICE, cell) for cell in small[:1])]:
        law = LAWS[number - 1]
        how = Replayer(cell.case.provider, fault.dialect, cell.case.tool_code)
        broken = law.findings(recorded(cell), replace(how, replay=fault.replay))
        if broken and not law.findings(
            recorded(cell), replace(how, replay=Fault(fault.dialect).replay)
        ):
            yield f"law {number} ({law.title})"


@pytest.mark.parametrize("dialect", sorted({table.dialect for table in TABLES}))
def test_the_pipeline_without_a_fault_is_ours(dialect: str) -> None:
    for cell, (payloads, _) in zip(cells(dialect), ours(dialect), strict=True):
        own = replay(
            recorded(cell),
            provider=cell.case.provider,
            dialect=dialect,
            tool_code=cell.case.tool_code,
        )
        assert (cell.spec, cell.case.case, payloads) == (cell.spec, cell.case.case, own)


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_survives(name: str, record_property: Tell) -> None:
    fault = FAULTS[name]
    sight = look(fault)
    caught_by = "; ".join(
        filter(None, [str(sight), *dict.fromkeys(breaches(fault, sight.differing))])
    )
    record_property(CAUGHT, row(name, fault.says, caught_by))
    assert sight.differing, (
        f"{name} changes nothing that any shipped case gives: it has no fault, or no case is about it"
    )
    assert caught_by, (
        f"{name} survives: neither case nor law sees it, although {[cell.name for cell in sight.differing]} are not as ours"
    )
    most = (1 - UNHARMED) * len(cells(fault.dialect))
    assert len(sight.red) <= most, (
        f"{name} turns {len(sight.red)} cells red, which is too much for one fault: {sight}"
    )


@cache
def asking_cells(dialect: str) -> list[Cell]:
    """The request and conversation cells of a dialect."""
    files = [path for path in yaml_files(ROOT / "specs") if kind_of(path) == "spec"]
    return [
        cell
        for path in files
        for cell in PROJECT.cells(path)
        if cell.column == dialect and cell.case.kind != "stream"
    ]


@cache
def our_requests(dialect: str) -> list[Any]:
    return [produce(cell, resolve_fixture(cell.case, CASSETTE)) for cell in asking_cells(dialect)]


@pytest.mark.parametrize("name", REQUEST_FAULTS)
def test_no_fault_of_a_request_survives(name: str, record_property: Tell) -> None:
    fault = REQUEST_FAULTS[name]
    cells_and_ours = zip(asking_cells(fault.dialect), our_requests(fault.dialect), strict=True)
    differing = [
        cell
        for cell, own in cells_and_ours
        if produce(cell, resolve_fixture(cell.case, CASSETTE), fault.half) != own
    ]
    sight = Sight(
        [
            cell
            for cell in asking_cells(fault.dialect)
            if is_red(judge(cell, CASSETTE, requests=fault.half))
        ],
        differing,
    )
    record_property(CAUGHT, row(name, fault.says, str(sight)))
    assert sight.differing, (
        f"{name} changes no request that any shipped case asks for: it has no fault, or no case is about it"
    )
    assert sight.red, (
        f"{name} survives: no case sees it, although {[cell.name for cell in sight.differing]} are not as ours"
    )
    most = (1 - UNHARMED) * (len(asking_cells(fault.dialect)) + len(cells(fault.dialect)))
    assert len(sight.red) <= most, (
        f"{name} turns {len(sight.red)} cells red, which is too much for one fault: {sight}"
    )


AT_WORK: dict[str, tuple[str, str, str, Adapter]] = {
    **{
        name: ("mind", MIND_PROGRAM, one.says, make_mind_program(CASSETTE, one.run))
        for name, one in PROGRAM_FAULTS.items()
    },
    **{
        name: (
            "unified-llm",
            UNIFIED_LLM_CLIENT,
            one.says,
            make_unified_llm_client(CASSETTE, one.make),
        )
        for name, one in CLIENT_FAULTS.items()
    },
}
"""What only a program or a client at work shows: name of the fault → its dialect, the column of its
cells, what is wrong, the adapter.
"""


@cache
def cells_at_work(column: str) -> list[Cell]:
    """The cells of the mind program, or of the client of unified-llm."""
    files = [path for path in yaml_files(ROOT / "specs") if kind_of(path) == "spec"]
    return [cell for path in files for cell in PROJECT.cells(path) if cell.column == column]


def judge_at_work(column: str, adapter: Adapter) -> Sight:
    return Sight(
        [cell for cell in cells_at_work(column) if is_red(judge(cell, CASSETTE, adapter))], []
    )


@pytest.mark.parametrize(
    ("column", "adapter"),
    [
        (MIND_PROGRAM, make_mind_program(CASSETTE, ProgramFault("none", "no fault", dict).run)),
        (UNIFIED_LLM_CLIENT, make_unified_llm_client(CASSETTE)),
    ],
)
def test_what_is_at_work_without_a_fault_passes(column: str, adapter: Adapter) -> None:
    assert judge_at_work(column, adapter).red == []


@pytest.mark.parametrize("name", AT_WORK)
def test_no_fault_at_work_survives(name: str, record_property: Tell) -> None:
    dialect, column, says, adapter = AT_WORK[name]
    sight = judge_at_work(column, adapter)
    record_property(CAUGHT, row(name, says, str(sight)))
    assert sight.red, f"{name} survives: no case sees it"
    most = (1 - UNHARMED) * (
        len(cells_at_work(column)) + len(asking_cells(dialect)) + len(cells(dialect))
    )
    assert len(sight.red) <= most, (
        f"{name} turns {len(sight.red)} cells red, which is too much for one fault: {sight}"
    )
