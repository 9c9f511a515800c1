"""The judge: how a verdict is reached, and that green needs a comparison that ran."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import pytest

from harness.adapters import (
    ADAPTERS,
    Adapter,
    AdapterMissing,
    Output,
    RunOptions,
    user_adapter,
)
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request
from harness.judging.judge import Cell, judge
from harness.judging.rows import CaseRow
from harness.providers import with_provider
from harness.specs.models import Case

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
BODY = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]},"finishReason": "STOP"}]}\r\n\r\n'
GENERATES = with_provider(Exchange(Request("POST", URL), 200, {}, ((3.0, BODY),), "complete"))
COUNTS = with_provider(
    Exchange(Request("POST", URL.replace("streamGenerate", "count")), 200, {}, ((3.0, b"{}"),))
)
CASSETTE = Cassette((GENERATES, COUNTS), Origin("written", date="2026-11-21"))
RIGHT = {"$contains": [{"type": "message_stop"}]}
WRONG = {"$contains": [{"type": "message_stopp"}]}
KNOWN = {"reason": "r", "link": "https://x.example"}


def verdict(
    expected: Any = RIGHT, *, column: str = "anthropic", adapter: Adapter | None = None, **keys: Any
) -> CaseRow:
    expect = keys.pop("expect", {column: expected})
    case = Case(
        case="c",
        requirement="r",
        features=("f",),
        source="https://s.example",
        cassette="x/y",
        expect=expect,
        **keys,
    )
    return judge(Cell(case, "a.yaml", column), load, adapter, today=date(2026, 11, 21)).result


def load(name: str) -> Cassette:
    if name != "x/y":
        raise CassetteError(f"no cassette {name}")
    return CASSETTE


VERDICTS: list[tuple[Any, dict[str, Any], str]] = [
    (RIGHT, {}, "passed"),
    (WRONG, {}, "failed"),
    (WRONG, {"level": "should"}, "warning"),
    (RIGHT, {"level": "should"}, "passed"),
    (WRONG, {"known_failing": {"anthropic": KNOWN}}, "known-failing"),
    (WRONG, {"known_failing": {"unified-llm": KNOWN}}, "failed"),
    (RIGHT, {"known_failing": {"anthropic": KNOWN}}, "fixed"),
    (WRONG, {"known_failing": {"anthropic": {**KNOWN, "expires": "2026-11-21"}}}, "known-failing"),
    (WRONG, {"known_failing": {"anthropic": {**KNOWN, "expires": "2026-11-20"}}}, "failed"),
    (RIGHT, {"known_failing": {"anthropic": {**KNOWN, "expires": "2026-11-20"}}}, "fixed"),
    (RIGHT, {"not_carried": {"anthropic": ("grounding",)}}, "not-carried"),
    (WRONG, {"not_carried": {"anthropic": ("grounding",)}}, "failed"),
    (None, {}, "not-run"),
    (RIGHT, {"reviewed": "no"}, "unreviewed"),
    (WRONG, {"reviewed": "no"}, "failed"),
    (RIGHT, {"cassette": "z"}, "error"),
    (RIGHT, {"exchange": 3}, "error"),
    (RIGHT, {"exchange": 2}, "error"),
]


@pytest.mark.parametrize(("expected", "keys", "word"), VERDICTS)
def test_verdicts(expected: Any, keys: dict[str, Any], word: str) -> None:
    case = Case(
        **{
            "case": "c",
            "requirement": "r",
            "features": ("f",),
            "source": "https://s.example",
            "cassette": "x/y",
            "expect": {"anthropic": expected},
            **keys,
        }
    )
    judgement = judge(Cell(case, "a.yaml", "anthropic"), load, today=date(2026, 11, 21))
    assert judgement.result.verdict == word


def test_a_result_names_its_origin_and_its_threads() -> None:
    result = verdict(WRONG, regression_of=("vercel/ai#10660",))
    assert result.regression_of == ("vercel/ai#10660",)
    assert (result.provider, result.adapter, result.layer, result.end) == (
        "gemini-api",
        "anthropic",
        "payloads",
        "complete",
    )
    assert result.origin is not None
    assert (result.origin.kind, result.origin.date) == ("written", "2026-11-21")
    assert result.first_layer == "payloads"
    assert result.findings_total == len(result.findings) == 1


def test_the_first_differing_layer_is_the_lowest_expected() -> None:
    frames, events = [{"offset": 1}], [{"kind": "nope"}]
    assert (
        verdict(expect={"anthropic": WRONG, "events": events, "frames": frames}).first_layer
        == "frames"
    )
    assert verdict(expect={"anthropic": WRONG, "events": events}).first_layer == "events"
    assert (
        verdict(column="events", expect={"anthropic": WRONG, "events": events}).first_layer
        == "events"
    )
    assert verdict(expect={"anthropic": RIGHT, "events": events}).first_layer == ""


def test_a_users_adapter_is_judged_like_ours() -> None:
    own = ADAPTERS["anthropic"]

    def without_the_end(exchange: Exchange, options: RunOptions) -> Output:
        return Output(own.run(exchange, options).items[:-1])

    assert verdict(RIGHT, adapter=own).verdict == "passed"
    assert verdict(RIGHT, adapter=of(own.run)).verdict == "passed"
    assert verdict(RIGHT, adapter=of(without_the_end)).verdict == "failed"


def of(run: Callable[[Exchange, RunOptions], Output]) -> Adapter:
    return user_adapter("mine", "anthropic", run)


def test_an_adapter_that_raises_is_an_error_and_not_a_crash() -> None:
    def broken(exchange: Exchange, options: RunOptions) -> Output:
        raise KeyError("parts")

    result, line = verdict(adapter=of(broken)), broken.__code__.co_firstlineno + 1
    assert (result.verdict, result.reason) == (
        "error",
        f"the adapter raised KeyError at test_judge.py:{line}: 'parts'",
    )


def test_an_exception_of_a_library_has_the_place_of_the_adapter() -> None:
    def broken(exchange: Exchange, options: RunOptions) -> Output:
        json.loads("{")
        return Output([])

    reason, line = verdict(adapter=of(broken)).reason, broken.__code__.co_firstlineno + 1
    assert f"raised JSONDecodeError at test_judge.py:{line}: " in reason


def test_an_exception_from_other_code_has_the_innermost_place() -> None:
    reason = verdict(adapter=of(partial(json.loads, "{"))).reason
    assert re.search(r"raised TypeError at adapter\.py:\d+: ", reason)


def test_an_adapter_that_lacks_a_library_is_not_run() -> None:
    def lacking(exchange: Exchange, options: RunOptions) -> Output:
        raise AdapterMissing("it needs httpx2: pip install httpx2")

    result = verdict(adapter=of(lacking))
    assert (result.verdict, result.reason) == ("not-run", "it needs httpx2: pip install httpx2")


def test_a_cell_of_an_unknown_adapter_is_an_error() -> None:
    result = verdict([], column="mine")
    assert result.verdict == "error"
    assert result.reason.startswith("there is no adapter mine; ours are events, frames, ")


def test_an_adapter_gets_the_options_of_its_case() -> None:
    calls: list[RunOptions] = []

    def run(exchange: Exchange, options: RunOptions) -> Output:
        calls.append(options)
        return Output([])

    verdict([], adapter=of(run), provider="vertex-ai", tool_code=True, context={"a": 1})
    assert calls == [RunOptions("c", "x/y", "vertex-ai", True, {"a": 1})]


def test_shortened_values_and_excerpts_are_marked() -> None:
    result = verdict([{"text": "x" * 5000}])
    assert any("characters)" in str(finding.wire) for finding in result.findings)
    assert all(len(str(finding.wire)) < 1300 for finding in result.findings)
