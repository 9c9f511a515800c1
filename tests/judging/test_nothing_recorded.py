"""An answer with status 200 and no byte is not run, for everybody; a golden case of it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from harness.adapters import ADAPTERS, EVENTS, FACTS, Adapter, Output, RunOptions, user_adapter
from harness.cassettes import Cassette, Origin
from harness.judging.aspect_run import JudgedExchange, plan_answers
from harness.judging.judge import Cell, judge
from harness.judging.laws.judge import cells, judge_law
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.pipeline.replay import replay
from harness.providers import with_provider
from harness.specs.models import Case
from harness.stream.events import End
from harness.stream.exchange import Exchange, Request
from harness.sweep.contract import judge_batch
from harness.sweep.stream import stream_of_row
from tests.support.captured import OWN, row

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash"
    ":streamGenerateContent?alt=sse"
)
HEADERS = {"content-type": ["text/event-stream"]}
REQUEST = Request("POST", URL, {}, b'{"contents": [{"parts": [{"text": "Hi"}]}]}')
EMPTY = with_provider(Exchange(REQUEST, 200, HEADERS, (), "complete"))
UNRECORDED = ("not-run", "nothing recorded")


def refuse(exchange: Exchange, options: RunOptions) -> Output:
    raise AssertionError("the adapter runs")


STATED = user_adapter("stated", FACTS, refuse)


def outcome(result: Row) -> tuple[str, str]:
    return result.verdict, result.reason


@pytest.mark.parametrize(
    "adapter", [EVENTS, *ADAPTERS.values(), STATED], ids=lambda each: each.name
)
def test_no_facts_and_no_law_are_judged(adapter: Adapter) -> None:
    (cell,) = run_plan(plan_answers([JudgedExchange("empty", 1, EMPTY)]), [adapter])
    assert outcome(cell) == UNRECORDED
    assert cell.aspects == {}
    results = [judge_law(law).result for law in cells("empty", [EMPTY], [adapter])]
    assert {outcome(result) for result in results} == {UNRECORDED}


@pytest.mark.parametrize("laws", [(), (3, 9)])
def test_a_sweep_does_not_run_it(laws: tuple[int, ...]) -> None:
    stream = stream_of_row(row("s", body=b""), "day:1")
    (verdict,) = judge_batch([stream], replace(OWN, laws=laws))
    assert (verdict.verdict, verdict.sentence, verdict.red) == (*UNRECORDED, False)


def test_a_golden_case_runs_and_a_case_by_facts_does_not() -> None:
    expected = replay(EMPTY, dialect="mind")
    case = Case(
        case="c",
        requirement="r",
        features=("finish.none",),
        source="https://s.example",
        cassette="x",
        provider="gemini-api",
        expect={"mind": expected},
    )
    judged = partial(judge, load=lambda _: Cassette((EMPTY,), Origin("written")))
    assert judged(Cell(case, "s.yaml", "mind")).result.verdict == "passed"
    assert expected
    by_facts = Cell(case, "s.yaml", "stated", FACTS)
    assert outcome(judged(by_facts, adapter=STATED).result) == UNRECORDED


@pytest.mark.parametrize("end", ["cut", "reset", "aborted"])
def test_an_answer_that_breaks_off_before_its_first_byte_is_judged(end: End) -> None:
    item = JudgedExchange("cut", 1, replace(EMPTY, end=end))
    (cell,) = run_plan(plan_answers([item]), [ADAPTERS["unified-llm"]])
    assert cell.aspects["unfinished"] == "kept"
