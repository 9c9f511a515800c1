"""Every known fault of an adapter makes a shipped case or a law red.

An adapter here is our own pipeline with one fault of a real adapter (see the modules beside this
one). All cases of its dialect judge it. The laws judge it on the smallest answers that show the
fault, and the law about spelling on a few rich answers. If no case and no law finds a fault, a case
is missing. The summary of a run lists which case or law found which fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from harness import Exchange
from harness.adapters import ADAPTERS, Adapter, RunOptions
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.dialects.mind.program.adapter import adapt as adapt_program
from harness.dialects.unified_llm.client.adapter import adapt as adapt_client
from harness.judging.judge import Cell, judge, resolve_fixture, run_cell
from harness.judging.laws import LAWS
from harness.judging.results import Result
from harness.pipeline.replay import replay
from harness.project.project import Project, kind_of, yaml_files
from harness.stream.session import Session
from tests.faulty.agent_events import AGENT_EVENTS
from tests.faulty.agy import AGY, AGY_EVENTS
from tests.faulty.anthropic import ANTHROPIC
from tests.faulty.art import ART
from tests.faulty.clients import CLIENT_FAULTS
from tests.faulty.ends import BAD_ENDS
from tests.faulty.interactions import INTERACTIONS
from tests.faulty.mind import MIND
from tests.faulty.openai_compat import OPENAI_COMPAT
from tests.faulty.pipeline import Fault, Table
from tests.faulty.programs import PROGRAM_FAULTS, ProgramFault
from tests.faulty.proxy_requests import PROXY
from tests.faulty.requests import RequestFault
from tests.faulty.siblings import SIBLINGS
from tests.faulty.tool_code import TOOL_CODE
from tests.faulty.tool_code_reader import ToolCodeReader
from tests.faulty.unified_llm import UNIFIED_LLM
from tests.faulty.wire_requests import REQUEST_FAULTS
from tests.support.adapters import events_of, payloads_of

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
    INTERACTIONS,
    OPENAI_COMPAT,
    AGY,
    AGY_EVENTS,
    *BAD_ENDS,
)
FAULTS = {
    f"{table.dialect}: {name}": fault for table in TABLES for name, fault in table.faults.items()
}
UNHARMED = 0.75
"""The share of its dialect's cells that a fault must not change. About a fifth of all cells are
about errors, so a fault of errors may turn this many red.
"""

OF_EVERYTHING = (("gemini-api/calls-and-text", 2), ("gemini-api/signatures-calls", 1))
"""The law about spelling judges these exchanges, because a fault may be visible only in another
spelling.
"""

EXAMPLES = 4
"""The laws with one replay judge a fault on this number of answers, the smallest that show it. All
laws judge it on the smallest one.
"""

LARGE = 900
"""In bytes; a larger body is not cut at every place."""

NAMED = 3
"""The number of cells that the summary names for a fault."""

OF_ONE_REPLAY = (2, 3, 9)
TWICE = 5
OF_CUTS = (1, 4)
OF_SPELLING = 6


RecordProperty = Callable[[str, object], None]
CAUGHT = "faulty adapter"
"""The property of a test that a run lists in build/faulty-adapters.txt; see conftest.py."""


def row(name: str, says: str, caught_by: str) -> str:
    return f"{name}: {says}\n    → {caught_by or 'NOTHING'}"


@dataclass(frozen=True, slots=True)
class Detection:
    """The result of all cases for one adapter: the red cells, and the cells in which payloads or
    session differ from ours.
    """

    red: list[Cell]
    differing: list[Cell]

    def __str__(self) -> str:
        names = [f"{cell.spec.removesuffix('.yaml')} {cell.case.case}" for cell in self.red]
        return ", ".join(names[:NAMED]) + (
            f" and {len(names) - NAMED} more cells" if len(names) > NAMED else ""
        )


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


def run(fault: Fault, cell: Cell) -> tuple[Any, Any]:
    """The payloads of a cell, and the calls that its session remembers."""
    session = Session(context=cell.case.context)
    return fault.replay(
        recorded(cell), provider=cell.case.provider, tool_code=cell.case.tool_code, session=session
    ), session.calls


@cache
def ours(dialect: str) -> list[tuple[Any, Any]]:
    return [run(Fault(dialect), cell) for cell in cells(dialect)]


@cache
def differing_cells(fault: Fault) -> list[tuple[int, Cell]]:
    """The cells, each with its place in `cells`, in which payloads or session differ from ours."""
    pairs = zip(cells(fault.dialect), ours(fault.dialect), strict=True)
    return [(at, cell) for at, (cell, own) in enumerate(pairs) if run(fault, cell) != own]


def detect(fault: Fault) -> Detection:
    """Judge an adapter by the cases of its dialect. A cell without a difference is green like ours."""
    differing = [cell for _, cell in differing_cells(fault)]
    return Detection(
        [cell for cell in differing if is_red(judge(cell, CASSETTE, fault.adapter).result)],
        differing,
    )


def is_red(result: Result) -> bool:
    """Whether the comparison fails. An adapter must not raise, since that would be a different
    fault.
    """
    assert result.verdict != "error", result.reason
    return result.verdict not in ("passed", "not-carried")


def broken_laws(fault: Fault, differing: list[Cell]) -> Iterator[str]:
    """The laws that the fault breaks and that our pipeline keeps."""
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
    broken = set()
    for number, cell in [*pairs, *((TWICE, cell) for cell in small[:1])]:
        if number in broken:
            continue
        law = LAWS[number - 1]
        options = RunOptions(provider=cell.case.provider, tool_code=cell.case.tool_code)
        for make in (events_of, payloads_of):
            faulty, faultless = (
                make(replay, fault.dialect).with_options(options)
                for replay in (fault.replay, Fault(fault.dialect).replay)
            )
            if law.findings(recorded(cell), faulty) and not law.findings(recorded(cell), faultless):
                broken.add(number)
                yield f"law {number} ({law.title})"
                break


@pytest.mark.parametrize("dialect", sorted({table.dialect for table in TABLES}))
def test_the_pipeline_without_a_fault_is_ours(dialect: str) -> None:
    for cell, (payloads, _) in zip(cells(dialect), ours(dialect), strict=True):
        own = replay(
            recorded(cell),
            provider=cell.case.provider,
            dialect=dialect,
            tool_code=cell.case.tool_code,
            session=Session(context=cell.case.context),
        )
        assert (cell.spec, cell.case.case, payloads) == (cell.spec, cell.case.case, own)
        assert not is_red(judge(cell, CASSETTE).result), cell.name


def test_the_reader_of_tool_code_without_a_fault_is_ours() -> None:
    reader = Fault("anthropic", tool_code=lambda events: ToolCodeReader().read(events))
    for cell, expected in zip(cells("anthropic"), ours("anthropic"), strict=True):
        assert (cell.name, run(reader, cell)) == (cell.name, expected)


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_survives(name: str, record_property: RecordProperty) -> None:
    fault = FAULTS[name]
    detection = detect(fault)
    caught_by = "; ".join(filter(None, [str(detection), *broken_laws(fault, detection.differing)]))
    record_property(CAUGHT, row(name, fault.says, caught_by))
    assert detection.differing, (
        f"{name} changes nothing that any shipped case gives: it has no fault, or no case is about it"
    )
    assert caught_by, (
        f"{name} survives: neither case nor law sees it, although {[cell.name for cell in detection.differing]} are not as ours"
    )
    most = (1 - UNHARMED) * len(cells(fault.dialect))
    assert len(detection.red) <= most, (
        f"{name} turns {len(detection.red)} cells red, which is too much for one fault: {detection}"
    )


@cache
def asking_cells(dialect: str) -> list[Cell]:
    """The request and conversation cells of a dialect."""
    return [cell for cell in all_cells() if cell.column == dialect and cell.case.kind != "stream"]


@cache
def our_requests(dialect: str) -> list[Any]:
    return [
        run_cell(cell, resolve_fixture(cell.case, CASSETTE)).items for cell in asking_cells(dialect)
    ]


def sending(fault: RequestFault) -> Adapter:
    return replace(ADAPTERS[fault.dialect], request=fault.half)


@pytest.mark.parametrize("name", REQUEST_FAULTS)
def test_no_fault_of_a_request_survives(name: str, record_property: RecordProperty) -> None:
    fault = REQUEST_FAULTS[name]
    cells_and_ours = zip(asking_cells(fault.dialect), our_requests(fault.dialect), strict=True)
    differing = [
        cell
        for cell, own in cells_and_ours
        if run_cell(cell, resolve_fixture(cell.case, CASSETTE), sending(fault)).items != own
    ]
    detection = Detection(
        [cell for cell in differing if is_red(judge(cell, CASSETTE, sending(fault)).result)],
        differing,
    )
    record_property(CAUGHT, row(name, fault.says, str(detection)))
    assert detection.differing, (
        f"{name} changes no request that any shipped case asks for: it has no fault, or no case is about it"
    )
    assert detection.red, (
        f"{name} survives: no case sees it, although {[cell.name for cell in detection.differing]} are not as ours"
    )
    most = (1 - UNHARMED) * (len(asking_cells(fault.dialect)) + len(cells(fault.dialect)))
    assert len(detection.red) <= most, (
        f"{name} turns {len(detection.red)} cells red, which is too much for one fault: {detection}"
    )


def mind_program(fault: ProgramFault) -> Adapter:
    return make_client_adapter(
        CLIENTS["mind-program"], CASSETTE, partial(adapt_program, run=fault.run)
    )


RUNNING: dict[str, tuple[str, str, str, Adapter]] = {
    **{
        name: ("mind", "mind-program", fault.says, mind_program(fault))
        for name, fault in PROGRAM_FAULTS.items()
    },
    **{
        name: (
            "unified-llm",
            "unified-llm-client",
            fault.says,
            make_client_adapter(
                CLIENTS["unified-llm-client"], CASSETTE, partial(adapt_client, client=fault.make)
            ),
        )
        for name, fault in CLIENT_FAULTS.items()
    },
}
"""Faults that only a running program or client shows: the name of the fault → its dialect, the
column of its cells, its description, the adapter.
"""


@cache
def client_cells(column: str) -> list[Cell]:
    """The cells of the mind program, or of the client of unified-llm."""
    return [cell for cell in all_cells() if cell.column == column]


def judge_client(column: str, adapter: Adapter) -> Detection:
    return Detection(
        [cell for cell in client_cells(column) if is_red(judge(cell, CASSETTE, adapter).result)],
        [],
    )


@pytest.mark.parametrize(
    ("column", "adapter"),
    [
        ("mind-program", mind_program(ProgramFault("none", "no fault", dict))),
        ("unified-llm-client", make_client_adapter(CLIENTS["unified-llm-client"], CASSETTE)),
    ],
)
def test_a_program_and_a_client_without_a_fault_pass(column: str, adapter: Adapter) -> None:
    assert judge_client(column, adapter).red == []


@pytest.mark.parametrize("name", RUNNING)
def test_no_fault_of_a_program_or_client_survives(
    name: str, record_property: RecordProperty
) -> None:
    dialect, column, says, adapter = RUNNING[name]
    detection = judge_client(column, adapter)
    record_property(CAUGHT, row(name, says, str(detection)))
    assert detection.red, f"{name} survives: no case sees it"
    most = (1 - UNHARMED) * (
        len(client_cells(column)) + len(asking_cells(dialect)) + len(cells(dialect))
    )
    assert len(detection.red) <= most, (
        f"{name} turns {len(detection.red)} cells red, which is too much for one fault: {detection}"
    )
