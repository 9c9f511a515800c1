"""A ``RunAgentInput`` becomes a prompt, and the events of an answer become its next messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

import harness
from harness.dialects.ag_ui.prompt_writer import write
from harness.dialects.ag_ui.request import REQUEST
from harness.judging.questions.question import own_questions
from harness.stream.exchange import Exchange
from harness.stream.generation import ToolOutcome, TranslationError
from harness.stream.session import Session

Body = dict[str, Any]


def given(*messages: Body, **fields: Any) -> Body:
    numbered = [{"id": f"m{at}", **message} for at, message in enumerate(messages)]
    return {"threadId": "t", "runId": "r", "messages": numbered, **fields}


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


def called(call_id: str, name: str, arguments: str = "{}", **fields: Any) -> Body:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **fields}


def contents(prompt: Body) -> list[Any]:
    body = harness.request(prompt, dialect="ag-ui")
    return [(each["role"], each["parts"]) for each in body["contents"]]


def test_the_parts_of_a_conversation_are_at_their_places() -> None:
    prompt = given(
        {"role": "system", "content": "Be brief."},
        user([
            {"type": "text", "text": "Look."},
            {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo", "mimeType": "image/png"}},
        ]),
        {"role": "reasoning", "content": "Hm.", "encryptedValue": "VEhP"},
        {"role": "assistant", "content": "I look."},
        {"role": "assistant", "toolCalls": [called("a", "f", '{"x": 1}', encryptedValue="U0lH"), called("b", "g")]},
        {"role": "tool", "toolCallId": "b", "content": "two"},
        {"role": "tool", "toolCallId": "a", "content": "one", "error": "it broke"},
        user("And?"),
        tools=[{"name": "f", "description": "D", "parameters": {"type": "object", "properties": {}}}],
        context=[{"description": "Place", "value": "Oslo"}],
    )  # fmt: skip
    RunAgentInput.model_validate(prompt)
    body = harness.request(prompt, dialect="ag-ui", options={"model": "m"})

    texts = [part["text"] for part in body["systemInstruction"]["parts"]]
    assert texts == ["Be brief.", "Place: Oslo"]
    [tool] = body["tools"]
    assert [each["name"] for each in tool["functionDeclarations"]] == ["f"]
    first, answer, results, last = contents(prompt)
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo"}}
    assert first == ("user", [{"text": "Look."}, image])
    assert answer == (
        "model",
        [
            {"text": "Hm.", "thought": True, "thoughtSignature": "VEhP"},
            {"text": "I look."},
            {
                "functionCall": {"id": "a", "name": "f", "args": {"x": 1}},
                "thoughtSignature": "U0lH",
            },
            {"functionCall": {"id": "b", "name": "g", "args": {}}},
        ],
    )
    assert [part["functionResponse"]["name"] for part in results[1]] == ["f", "g"]
    assert "it broke" in json.dumps(results[1][0])
    assert last == ("user", [{"text": "And?"}])


@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        (given({"role": "tool", "toolCallId": "x", "content": "1"}), "no earlier call has the id 'x'"),
        (given({"role": "robot", "content": "1"}), "messages[0].role"),
        (given(user([{"type": "binary", "data": "x"}])), "messages[0].content[0].type"),
        (given(user(1)), "messages[0].content"),
        (given(user("a"), tools=[{"description": "D"}]), "tools[0].name"),
    ],
)  # fmt: skip
def test_a_faulty_input_is_refused_at_its_place(prompt: Body, error: str) -> None:
    with pytest.raises(TranslationError) as raised:
        harness.request(prompt, dialect="ag-ui")
    assert error in str(raised.value)


def test_what_no_model_gets_is_named() -> None:
    activity = {"role": "activity", "activityType": "plan", "content": {"a": 1}}
    prompt = given(user("a"), activity, state={"a": 1}, forwardedProps={"b": 2}, resume=[])
    read = REQUEST.translate(prompt, {}, Session())
    assert [warning.partition(":")[0] for warning in read.warnings] == [
        "messages[1].content",
        "state",
        "forwardedProps",
    ]


PARTS = (
    {"text": "Hm.", "thought": True, "thoughtSignature": "VEhP"},
    {"text": "I look."},
    {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}, "thoughtSignature": "U0lH"},
    {"functionCall": {"name": "g", "args": {}}},
)


def test_an_answer_is_sent_back_as_a_client_keeps_its_messages() -> None:
    answer = {"candidates": [{"content": {"parts": [*PARTS]}, "finishReason": "STOP"}]}
    data = f"data: {json.dumps(answer)}\n\n".encode()
    session = Session()
    exchange = Exchange(None, 200, {}, ((None, data),), "complete", provider="gemini-api")
    events = harness.replay(exchange, dialect="ag-ui", session=session)
    outcomes = [ToolOutcome({"done": True}), ToolOutcome("no", failed=True)]
    prompt = REQUEST.follow_up(given(user("Hi")), events, outcomes)

    RunAgentInput.model_validate(prompt)
    body = harness.request(prompt, dialect="ag-ui", session=session)
    _, model, results = body["contents"]
    assert model["parts"] == [*PARTS]
    assert [part["functionResponse"].get("id") for part in results["parts"]] == ["a", None]
    texts = REQUEST.follow_up(given(user("Hi")), events[:0], "Go on.")["messages"]
    assert [message["content"] for message in texts] == ["Hi", "Go on."]


def test_the_inputs_of_questions_are_of_the_protocol() -> None:
    refused = {}
    for question in own_questions():
        try:
            prompt, _ = write(question.prompt)
        except TranslationError as error:
            refused[question.name] = error.place
        else:
            RunAgentInput.model_validate(prompt)
    assert refused == {"media-details": "messages[0].user[1]"}  # it has no detail of a medium
