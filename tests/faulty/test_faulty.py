"""Every known fault of an adapter makes a shipped case or a law red. Every fault that changes a fact
also breaks a law about facts, without a golden case (`by_facts`).

An adapter here is our own pipeline with one fault of a real adapter (see the modules beside this
one). All cases of its dialect judge it. The laws judge it on the smallest answers that show the
fault, and the law about spelling on a few rich answers. If no case and no law finds a fault, a case
is missing. The summary of a run lists which case or law found which fault. All tests are in one
file, because pytest-xdist gives a file to one worker, and they share the cells that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from harness.adapters import RunOptions, Subject
from harness.judging.judge import Cell, judge, resolve_fixture, run_cell
from harness.judging.laws import LAWS
from harness.judging.rows import Row
from harness.pipeline.replay import replay
from harness.stream.session import Session
from tests.faulty import by_facts
from tests.faulty.borders import BORDER_CASSETTES, BORDER_FAULTS, judged_at_borders
from tests.faulty.cells import all_cells, cells, differing_cells, ours, recorded, run
from tests.faulty.clients import ClientFault
from tests.faulty.faults import CASSETTE, Fault
from tests.faulty.histories import HISTORY_FAULTS, WIRES, HistoryFault
from tests.faulty.pipeline import ANSWER_FAULTS, AnswerFault
from tests.faulty.programs import ProgramFault
from tests.faulty.requests import RequestFault
from tests.faulty.table import FAULTS, KINDS, NO_FACT, SHOWN
from tests.faulty.tool_code_reader import ToolCodeReader
from tests.support.adapters import events_of, payloads_of

UNHARMED = 0.7
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
    """The result of all cases for one adapter: the red cells, the cells in which payloads, session
    or request may differ from ours, and the number of cells that a fault must mostly not change.
    """

    red: list[Cell]
    differing: list[Cell]
    judged: int

    def __str__(self) -> str:
        names = [f"{cell.spec.removesuffix('.yaml')} {cell.case.case}" for cell in self.red]
        return ", ".join(names[:NAMED]) + (
            f" and {len(names) - NAMED} more cells" if len(names) > NAMED else ""
        )


def detect(fault: Fault) -> Detection:
    """Judge an adapter by the cells of its kind. A cell without a difference is green like ours."""
    asking = asking_cells(fault.dialect)
    match fault:
        case AnswerFault():
            differing, others = [cell for _, cell in differing_cells(fault)], 0
        case RequestFault():
            differing = [
                cell
                for cell, own in zip(asking, our_requests(fault.dialect), strict=True)
                if run_cell(cell, resolve_fixture(cell.case, CASSETTE), fault.adapter).items != own
            ]
            others = len(asking)
        case ProgramFault() | ClientFault():
            differing = client_cells(fault.column)
            others = len(asking) + len(differing)
        case _:
            raise TypeError(fault)
    adapter = fault.adapter
    red = [cell for cell in differing if is_red(judge(cell, CASSETTE, adapter).result)]
    return Detection(red, differing, len(cells(fault.dialect)) + others)


def is_red(result: Row) -> bool:
    """Whether the comparison fails. An adapter must not raise, since that would be a different
    fault.
    """
    assert result.verdict != "error", result.reason
    return result.verdict not in ("passed", "not-carried")


def broken_laws(fault: AnswerFault, differing: list[Cell]) -> Iterator[str]:
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
                Subject(make(replay, fault.dialect), options)
                for replay in (fault.replay, AnswerFault(fault.dialect).replay)
            )
            if law.findings(recorded(cell), faulty) and not law.findings(recorded(cell), faultless):
                broken.add(number)
                yield f"law {number} ({law.title})"
                break


@pytest.mark.parametrize("dialect", sorted({fault.dialect for fault in KINDS["answer"].values()}))
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
    reader = AnswerFault("anthropic", tool_code=lambda events: ToolCodeReader().read(events))
    for cell, expected in zip(cells("anthropic"), ours("anthropic"), strict=True):
        assert (cell.name, run(reader, cell)) == (cell.name, expected)


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_survives(name: str, record_property: RecordProperty) -> None:
    fault = FAULTS[name]
    detection = detect(fault)
    laws = broken_laws(fault, detection.differing) if isinstance(fault, AnswerFault) else ()
    caught_by = "; ".join(filter(None, [str(detection), *laws]))
    record_property(CAUGHT, row(name, fault.says, caught_by))
    assert detection.differing, (
        f"{name} changes nothing that any shipped case gives: it has no fault, or no case is about it"
    )
    assert caught_by, (
        f"{name} survives: neither case nor law sees it, although {[cell.name for cell in detection.differing]} are not as ours"
    )
    most = (1 - UNHARMED) * detection.judged
    assert len(detection.red) <= most, (
        f"{name} turns {len(detection.red)} cells red, which is too much for one fault: {detection}"
    )


@pytest.mark.parametrize("name", HISTORY_FAULTS)
def test_a_fault_of_a_history_is_red_by_its_own_aspect(
    name: str, record_property: RecordProperty
) -> None:
    fault = HISTORY_FAULTS[name]
    red = {finding.subject: finding for finding in fault.result.red_findings}
    record_property(CAUGHT, row(f"history of {name}", fault.says, f"second turn: {[*red]}"))
    assert red[fault.aspect].reason == fault.reason, red


@pytest.mark.parametrize("wire", WIRES)
def test_a_history_without_a_fault_is_kept(wire: str) -> None:
    result = HistoryFault(wire).result
    assert result.verdict == "passed", result.findings
    assert set(result.aspects.values()) == {"kept"}
    assert result.aspects.keys() >= {"calls", "ids", "results", "text"}


@pytest.mark.parametrize("wire", BORDER_CASSETTES)
@pytest.mark.parametrize("name", BORDER_FAULTS)
def test_a_fault_at_a_border_of_reads_is_red_by_default(
    wire: str, name: str, record_property: RecordProperty
) -> None:
    fault = BORDER_FAULTS[name]
    cells = judged_at_borders(wire, fault)
    red = {
        f"{cell.cassette}:{cell.exchange}": {finding.place.cuts for finding in cell.red_findings}
        for cell in cells
        if cell.red_findings
    }
    record_property(CAUGHT, row(f"{name} on {wire}", str(fault.__doc__), f"judge: {[*red]}"))
    with_borders, without = BORDER_CASSETTES[wire]
    assert red[f"{with_borders}:1"] == {"recorded"}
    if name != "cut_characters":  # the pieces of a body need not cut a character
        assert {"pieces"} in [cuts for place, cuts in red.items() if place.startswith(without)]


@pytest.mark.parametrize("wire", BORDER_CASSETTES)
def test_a_reader_of_all_reads_passes(wire: str) -> None:
    cells = judged_at_borders(wire, None)
    assert [cell.verdict for cell in cells] == ["passed"] * 8


@pytest.mark.parametrize("name", ANSWER_FAULTS)
def test_a_fault_shows_what_its_row_says(name: str) -> None:
    fault = ANSWER_FAULTS[name]
    if name not in SHOWN:
        assert by_facts.caught_by(fault), f"{name} survives: {fault.says}"
        return
    rule, law = SHOWN[name]
    assert by_facts.changes_facts(fault) is (rule != NO_FACT)
    assert not by_facts.caught_by(fault)
    assert by_facts.broken_by(fault) == law


def test_each_row_is_about_a_fault() -> None:
    assert SHOWN.keys() <= ANSWER_FAULTS.keys()


@pytest.mark.parametrize(
    ("kind", "least"),
    [("answer", 220), ("request", 87), ("program", 18), ("client", 8), ("history", 54)],
)
def test_no_fault_is_lost(kind: str, least: int) -> None:
    assert len(KINDS[kind]) >= least  # an event model adds four faults


@cache
def asking_cells(dialect: str) -> list[Cell]:
    """The request and conversation cells of a dialect."""
    return [cell for cell in all_cells() if cell.column == dialect and cell.case.kind != "stream"]


@cache
def our_requests(dialect: str) -> list[Any]:
    return [
        run_cell(cell, resolve_fixture(cell.case, CASSETTE)).items for cell in asking_cells(dialect)
    ]


@cache
def client_cells(column: str) -> list[Cell]:
    """The cells of the mind program, or of the client of unified-llm."""
    return [cell for cell in all_cells() if cell.column == column]


@pytest.mark.parametrize("fault", [ProgramFault("mind"), ClientFault("unified-llm")])
def test_a_program_and_a_client_without_a_fault_pass(fault: Fault) -> None:
    assert detect(fault).red == []
