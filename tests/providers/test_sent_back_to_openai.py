"""Requests after an answer of OpenAI's two APIs that are right in more than one form."""

from __future__ import annotations

from typing import Any

import pytest

from harness.providers import PROVIDERS
from tests.faulty.histories import OUTPUTS, TOOLS, WIRES
from tests.support.second_turn import judge_second_turn

Body = dict[str, Any]


def red(wire: str, body: Body) -> set[str]:
    exchange = WIRES[wire].exchange
    facts = PROVIDERS["openai"].facts(exchange)
    findings = judge_second_turn(facts, body, "openai", given=[True, True])
    return {str(name) for name, finding in findings.items() if finding.red}


def test_texts_of_a_message_of_chat_may_be_parts_beside_its_calls() -> None:
    pieces = [{"type": "text", "text": "I "}, {"type": "text", "text": "look."}]
    message = {**WIRES["chat"].history[0], "content": pieces}
    assert red("chat", {"messages": [message, *TOOLS]}) == set()


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ([], {"previous_response_id": "resp_1"}),
        ([{"type": "item_reference", "id": "rs_1"}, {"type": "item_reference", "id": "fc_a"}], {}),
    ],
    ids=["a stored response", "stored items"],
)
def test_only_results_follow_a_stored_response(more: list[Body], kept: Body) -> None:
    assert red("responses", {**kept, "input": [*more, *OUTPUTS]}) == set()
    assert red("responses", {**kept, "input": [*more, OUTPUTS[0]]}) == {"results"}
