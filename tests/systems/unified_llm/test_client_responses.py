"""The unified-llm client: the Response and the events of an answer, and those of every recording."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import harness
from harness import Exchange
from harness.systems.unified_llm import (
    NoObjectGeneratedError,
    Response,
    SDKError,
    StreamAccumulator,
)
from harness.systems.unified_llm.errors import error_of
from tests.systems.unified_llm.loopback import (
    HELLO,
    MODEL,
    ONCE,
    RECORDED,
    Loopback,
    answer,
    reply,
)


def test_complete_gives_the_response() -> None:
    with Loopback(answer(reply("Hi there")[0], stream=False)) as client:
        response = client.complete(HELLO)
    assert response == {
        "id": "r1",
        "model": MODEL,
        "provider": "gemini",
        "message": {"role": "assistant", "content": [{"kind": "text", "text": "Hi there"}]},
        "finish_reason": {"reason": "stop", "raw": "STOP"},
        "usage": {
            "input_tokens": 3,
            "output_tokens": 1,
            "total_tokens": 4,
            "raw": {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4},
        },
        "warnings": [],
    }
    assert (response.text, response.reasoning, response.tool_calls) == ("Hi there", "", [])


def test_stream_gives_the_events_as_they_come() -> None:
    with Loopback(answer(reply("Hi ", "there"), stream=True)) as client:
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_DELTA",
        "TEXT_END",
        "FINISH",
    ]
    assert StreamAccumulator(events).response == events[-1]["response"]


def test_losses_of_the_request_are_warnings_of_the_response() -> None:
    """A Response has the warnings of the specification; the errors of a call cannot carry them."""
    message = [{"message": "metadata: is left out; Gemini has no place for it"}]
    request = {**HELLO, "metadata": {"user": "me"}}
    with Loopback(answer(reply("Hi")[0], stream=False), answer(reply("Hi"), stream=True)) as client:
        assert client.complete(request)["warnings"] == message
        events = list(client.stream(request))
    assert events[-1]["response"]["warnings"] == message
    assert StreamAccumulator(events).response["warnings"] == message


def test_the_accessors_of_a_response() -> None:
    call = {"id": "c", "name": "f", "arguments": {}, "type": "function"}
    content = [
        {"kind": "thinking", "thinking": {"text": "Hm.", "redacted": False}},
        {"kind": "text", "text": '{"a":'},
        {"kind": "tool_call", "tool_call": call},
        {"kind": "text", "text": " 1}"},
    ]
    response = Response({"message": {"role": "assistant", "content": content}})
    assert (response.text, response.reasoning, response.tool_calls, response.object) == (
        '{"a": 1}',
        "Hm.",
        [call],
        {"a": 1},
    )
    with pytest.raises(NoObjectGeneratedError, match="the answer is not JSON"):
        _ = Response({"message": {"role": "assistant", "content": content[:1]}}).object


STREAM = r"streamGenerateContent\?alt=sse"
UNARY = "generateContent"


def asked_by(method: str) -> list[Any]:
    """The answers to this method over HTTP, on all three wires, except those whose client left."""
    return [
        pytest.param(exchange, id=name)
        for name, exchange in RECORDED
        if exchange.provider != "gemini-cli" and exchange.end != "aborted" and exchange.request
        if re.search(rf":{method}$", exchange.request.url)
    ]


def test_every_wire_has_answers_of_both_methods() -> None:
    assert len(asked_by(STREAM)) > 300
    assert len(asked_by(UNARY)) >= 3
    for method in (STREAM, UNARY):
        assert {parameter.values[0].provider for parameter in asked_by(method)} == {
            "gemini-api",
            "vertex-ai",
            "code-assist",
        }


def asked_again(exchange: Exchange) -> dict[str, Any]:
    """A Request for the recorded model, with the recorded tools, since they decide the names of
    calls that a model wrote as text.
    """
    assert exchange.request
    body = json.loads(exchange.request.body or b"{}")
    model = body.get("model") or exchange.request.url.rpartition("/models/")[2].partition(":")[0]
    tools = body.get("request", body).get("tools", [])
    return {**HELLO, "model": model, "provider_options": {"gemini": {"tools": tools}}}


@pytest.mark.slow
@pytest.mark.parametrize("exchange", asked_by(STREAM))
def test_every_recorded_stream_comes_as_its_replay(exchange: Exchange) -> None:
    expected = harness.replay(exchange)
    request = asked_again(exchange)
    with Loopback(exchange, retry=ONCE, provider=exchange.provider) as client:
        if expected[0]["type"] == "ERROR":
            with pytest.raises(SDKError) as raised:
                list(client.stream(request))
            assert vars(raised.value) == vars(error_of(expected[0]))
        else:
            assert list(client.stream(request)) == expected


@pytest.mark.parametrize("exchange", asked_by(UNARY))
def test_every_recorded_unary_answer_comes_as_its_replay(exchange: Exchange) -> None:
    expected = harness.replay(exchange)[-1]
    with Loopback(exchange, retry=ONCE, provider=exchange.provider) as client:
        if expected["type"] == "ERROR":
            with pytest.raises(SDKError) as raised:
                client.complete(asked_again(exchange))
            assert type(raised.value) is type(error_of(expected))
        else:
            assert client.complete(asked_again(exchange)) == expected["response"]
