"""A variant excuses only the aspects that depend on its form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.adapters import EVENTS, Output
from harness.facts import Call, Entry, Error, Fact, Finish, Text, Thought, Transcript, Usage
from harness.judging.aspects import ExchangeJudgement, judge_output
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange, Request

URL = "https://api.openai.com/v1/chat/completions"


def exchange(*messages: Any) -> Exchange:
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages)
    request = Request("POST", URL, {}, b'{"stream": true}')
    return Exchange(request, 200, {}, ((None, body.encode()),), "complete", provider="openai")


def message(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


def call(**index: int) -> dict[str, Any]:
    function = {"name": "look", "arguments": "{}"}
    return {"tool_calls": [index | {"id": "call_1", "type": "function", "function": function}]}


def judged(answer: Exchange, facts: Sequence[Fact]) -> ExchangeJudgement:
    native = [fact.id for fact in facts if isinstance(fact, Call)]
    transcript = Transcript((Entry(native, tuple(facts)),))
    output = Output.of_transcript(transcript)
    return judge_output(Reading(answer), replace(EVENTS, name="tested"), output)


TEXT = message({"content": "Oslo"})
END = message({}, "tool_calls")
THOUGHT, CALL = Thought("Hm"), Call("call_1", "look", {})


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "Hm"},
        {"reasoning": "Hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]},
    ],
)
def test_reasoning_that_a_server_documents_is_no_variant(delta: dict[str, Any]) -> None:
    answer = exchange(message(delta), message(call(index=0)), END)
    lost = judged(answer, [THOUGHT, Finish("tool_calls")])
    assert (lost.block, lost.variants, lost.red) == ("documented", (), ["calls", "ids"])
    assert judged(answer, [THOUGHT, CALL, Finish("tool_calls")]).red == []


def test_a_flat_error_event_of_responses_is_no_variant() -> None:
    flat = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down.", "param": None}
    answer = exchange({"type": "response.created", "response": {"object": "response"}}, flat)
    silent = judged(answer, [Finish("stop")])
    assert (silent.block, silent.red) == ("documented", ["error"])
    assert judged(answer, [Error("rate_limit_exceeded", "Slow down.")]).red == []


def test_a_form_of_calls_excuses_calls_alone() -> None:
    answer = exchange(TEXT, message(call()), END)
    lost = judged(answer, [Text("Oslo"), Finish("tool_calls")])
    assert (lost.block, lost.red) == ("variant", ["calls", "ids"])
    wrong = judged(answer, [Text("Bergen"), Finish("tool_calls")])
    assert (wrong.block, wrong.red) == ("documented", ["text"])
    assert wrong.aspects["calls"].verdict == "not_asked"
    assert wrong.aspects["calls"].note == (
        "it depends on a form that no server documents: a call without an index"
    )


def test_an_adapter_may_refuse_a_variant() -> None:
    refused = judged(exchange(TEXT, message(call()), END), [Error(None, "no index")])
    assert refused.block == "variant"
    assert "needless_error" in refused.red


def test_another_framing_excuses_an_answer_of_which_nothing_was_read() -> None:
    answer = exchange(TEXT, message({}, "length"))
    answer = replace(answer, reads=((None, answer.body.replace(b"data: ", b"data:")),))
    assert judged(answer, []).block == "variant"
    read = judged(answer, [Text("Oslo"), Finish("stop")])
    assert (read.block, read.red) == ("documented", ["finish"])


def test_an_id_that_changes_excuses_no_loss() -> None:
    other = message({}, "stop") | {"id": "d"}
    answer = exchange(TEXT, other)
    assert judged(answer, [Text("Oslo"), Finish("stop")]).block == "variant"
    lost = judged(answer, [Finish("stop"), Usage(input=1)])
    assert (lost.block, lost.variants) == ("documented", ("a response id that changes",))
