"""Requests after an answer of OpenAI's two APIs that are right in more than one form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.facts import Entry, Finish, Text, Transcript, WireFacts, judge_answer
from harness.providers import PROVIDERS
from harness.stream.exchange import Exchange, Request
from tests.faulty.histories import OUTPUTS, TOOLS, WIRES
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import wire_of

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


FIRST, AGAIN = "Zmlyc3Q=", "YWdhaW4="
MESSAGE: Body = {"id": "msg_0", "type": "message", "role": "assistant"}
MESSAGE |= {"content": [{"type": "output_text", "text": "Yes."}]}


def reasoning(secret: str, item_id: str = "rs_0") -> Body:
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": secret}


def encrypted_twice() -> WireFacts:
    """An answer as OpenAI streams it: the response repeats the reasoning, encrypted anew."""
    done = {"type": "response.output_item.done", "output_index": 0, "item": reasoning(FIRST)}
    text = {"type": "response.output_item.done", "output_index": 1, "item": MESSAGE}
    response = {"object": "response", "output": [reasoning(AGAIN, "rs_9"), MESSAGE]}
    end = {"type": "response.completed", "response": response | {"status": "completed"}}
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in (done, text, end)).encode()
    request = Request("POST", "https://api.openai.com/v1/responses", {}, b'{"stream": true}')
    exchange = Exchange(request, 200, {}, ((None, body),), "complete", provider="openai")
    return PROVIDERS["openai"].facts(exchange)


@pytest.mark.parametrize(
    ("secrets", "verdict"),
    [
        ([FIRST], "kept"),
        ([AGAIN], "kept"),
        ([], "lost"),
        ([FIRST, AGAIN], "wrong"),
        (["b3RoZXI="], "lost"),
    ],
)
def test_either_encryption_of_a_repeated_item_may_go_back(secrets: list[str], verdict: str) -> None:
    history = [*map(reasoning, secrets), MESSAGE, {"role": "user", "content": "Go on."}]
    findings = judge_second_turn(encrypted_twice(), {"input": history}, "openai")
    assert findings["other_signatures"].verdict == verdict


@pytest.mark.parametrize(
    ("native", "verdict"),
    [([FIRST], "kept"), ([AGAIN], "kept"), ([FIRST, AGAIN], "kept"), (["b3RoZXI="], "lost")],
)
def test_either_encryption_of_a_repeated_item_may_be_given(native: list[str], verdict: str) -> None:
    transcript = Transcript((Entry(native, (Text("Yes."), Finish("completed"))),))
    answer = wire_of(encrypted_twice(), "complete")
    assert judge_answer(*answer, transcript)["signatures"].verdict == verdict
