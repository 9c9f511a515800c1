"""Judging many exchanges: which of them have a second turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.conformance.adapters import RunOptions
from harness.conformance.aspect_run import Item, judge_second_turns
from harness.stream.exchange import Exchange
from tests.security.samples import exchange
from tests.support.facts_adapters import facts_adapter

CALL = (
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {%b"args": {"a": 1}}}]},'
    b' "finishReason": "STOP"}]}\n\n'
)


@pytest.mark.parametrize(
    ("name", "asked", "verdict"), [(b"", [], "not_asked"), (b'"name": "f", ', ["f"], "lost")]
)
def test_an_answer_with_a_nameless_call_has_no_second_turn(
    name: bytes, asked: list[str], verdict: str
) -> None:
    requests: list[str] = []

    def ask_again(answer: Exchange, options: RunOptions) -> bytes:
        requests.append("f")
        return b'{"contents": []}'

    adapter = replace(facts_adapter(), second_request=ask_again)
    [cell] = judge_second_turns([Item("calls", 1, exchange(CALL % name))], [adapter])
    assert (cell.aspects["calls"], requests) == (verdict, asked)
