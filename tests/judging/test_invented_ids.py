"""Ids that an adapter invents are compared by reference, not by their text."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

import pytest

from harness.adapters import ADAPTERS, Adapter, Output, RunOptions, user_adapter
from harness.judging.invented_ids import compare_with_ids
from harness.judging.judge import Cell, judge
from harness.specs.models import Case
from harness.stream.exchange import Cassette, Exchange, Origin
from harness.stream.json_codec import Json

CALLS = (
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {}}},'
    b'{"functionCall": {"id": "wire","name": "g","args": {}}},{"functionCall": {"name": "h","args": {}}}]},"finishReason": "STOP"}]}\n\n'
)
EXCHANGE = Exchange(None, 200, {}, ((None, CALLS),), "complete", provider="gemini-api", generates=True)  # fmt: skip
INVENTED = {"msg_1", "toolu_1", "toolu_2"}


def payloads(exchange: Exchange) -> list[Any]:
    return ADAPTERS["anthropic"].output(exchange, RunOptions(provider="gemini-api")).items


def spelled(changes: dict[str, str]) -> Adapter:
    """Our own payloads with other ids."""

    def run(exchange: Exchange, options: RunOptions) -> Output:
        text = json.dumps(payloads(exchange))
        changed = re.sub(r'"(\w+)"', lambda match: f'"{changes.get(match[1], match[1])}"', text)
        return Output(json.loads(changed))

    return user_adapter("mine", "anthropic", run)


def verdict(changes: dict[str, str], expected: Any = None) -> tuple[str, list[Json]]:
    expected = expected or payloads(EXCHANGE)
    case = Case(case="c", requirement="r", features=("text.streaming",), source="https://x.y", cassette="x",
                provider="gemini-api", expect={"anthropic": expected})  # fmt: skip
    cell = Cell(case, "s.yaml", "mine", "anthropic")
    cassette = Cassette((EXCHANGE,), Origin("written"))
    result = judge(cell, lambda name: cassette, spelled(changes), today=date(2026, 1, 1)).result
    return result.verdict, [finding.adapter for finding in result.findings]


def test_our_dialect_marks_the_ids_that_it_invented() -> None:
    output = ADAPTERS["anthropic"].output(EXCHANGE, RunOptions(provider="gemini-api"))
    assert output.session.invented == INVENTED


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"toolu_1": "call-8f3a"},
        {"msg_1": "m", "toolu_1": "toolu_2", "toolu_2": "toolu_1"},
    ],
)
def test_an_invented_id_may_be_any_text(changes: dict[str, str]) -> None:
    assert verdict(changes) == ("passed", [])


def test_a_partial_expectation_compares_by_reference_too() -> None:
    (start, *_) = [p for p in payloads(EXCHANGE) if p.get("content_block", {}).get("name") == "h"]
    assert verdict({"toolu_2": "x"}, {"$contains": [start]}) == ("passed", [])


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"wire": "toolu_9"}, ['"toolu_9"']),
        ({"toolu_2": "toolu_1"}, ['"toolu_1"']),
        ({"msg_1": ""}, ['""']),
    ],
)
def test_wire_ids_shared_ids_and_empty_ids_are_differences(
    changes: dict[str, str], got: list[str]
) -> None:
    assert verdict(changes) == ("failed", got)


def test_an_id_has_the_same_spelling_at_all_of_its_places() -> None:
    expected = [{"id": "call_1"}, {"for": "call_1"}, {"$literal": "call_1"}]
    assert compare_with_ids(expected, [{"id": "a"}, {"for": "a"}, "call_1"], {"call_1"}) == []
    (other,) = compare_with_ids(expected, [{"id": "a"}, {"for": "b"}, "call_1"], {"call_1"})
    assert (other.path, other.got) == ("[1].for", "b")
    (literal,) = compare_with_ids(expected, [{"id": "a"}, {"for": "a"}, "a"], {"call_1"})
    assert literal.path == "[2]"
    (number,) = compare_with_ids([{"id": "call_1"}], [{"id": 1}], {"call_1"})
    assert (number.path, number.got) == ("[0].id", 1)
