"""Law 9 on single bodies: a body that is no answer of the wire, or has no good reason, has no good
end in any dialect or in the oracle.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harness
from harness import Exchange
from harness.adapters import ADAPTERS, RunOptions
from harness.dialects import DIALECTS
from harness.facts import View
from harness.judging.aspects import facts_of
from harness.judging.judge import NormalizedOnce
from harness.judging.laws.success import no_good_end
from harness.providers import PROVIDERS

CASSETTES = Path(__file__).parents[3] / "cassettes"
GEMINI = {name for name, provider in PROVIDERS.items() if provider.wire == "generateContent"}

CHAT = {"openai", "openai-compat"}


def body_of(name: str, number: int = 1) -> bytes:
    return harness.load(CASSETTES / f"{name}.yaml").exchanges[number - 1].body


def sse(*messages: object) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(message).encode() for message in messages)


WHOLE = {"gemini-cli": "runs"}
"""The cassette whose first exchange is a whole stream of its wire, if it is not ``text``."""
GOOD = {name: body_of(f"{name}/{WHOLE.get(name, 'text')}") for name in PROVIDERS}
"""A whole stream of each wire."""

NOTHING = {
    "a page": b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "nothing": b"",
    "line ends": b"\r\n\r\n\r\n",
    "null": b"null",
    "a number": b"5",
    "an array of nothing": b"[{}, {}, null]",
    "an empty object": b"{}",
    "comments": b": ping\n\n: ping\n\n",
    "an end mark alone": b"data: [DONE]\n\n",
    "an event without data": b"data:\n\n",
    "an event with null": b"data: null\n\n",
    "an event with a string": b'data: "Hi"\n\n',
    "bytes as Python prints them": b"data: b'data: {\"candidates\": []}'\n\n",
    "every byte": bytes(range(256)),
    "a response of OpenAI": json.dumps(
        {"id": "r", "object": "response", "status": "completed", "output": [{"text": "Hi"}]}
    ).encode(),
    "a message of OpenAI's responses": json.dumps(
        {"type": "message", "status": "completed", "content": [{"text": "Hi"}]}
    ).encode(),
    "a text completion of OpenAI": json.dumps(
        {"object": "text_completion", "choices": [{"text": "Hi", "finish_reason": "stop"}]}
    ).encode(),
    "a stream of OpenAI's responses": sse(
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": "response.completed", "response": {"status": "completed"}},
    ),
    "a line of another program": b'{"status": "ok", "text": "Hi"}\n',
    "a list of answers of a model": b'[{"generated_text": "Hi"}]',
}
"""Bodies that are no answer on any wire."""


def candidate(*parts: object, **more: object) -> dict[str, object]:
    return {"candidates": [{"content": {"parts": parts}, **more}]}


TEXT = {"text": "Hi"}
NO_GOOD_END = {
    "no reason": sse(candidate(TEXT)),
    "a reason that is null": sse(candidate(TEXT, finishReason=None)),
    "an empty reason": sse(candidate(TEXT, finishReason="")),
    "a thought and no reason": sse(candidate({"text": "Hm", "thought": True})),
    "a part of an unknown kind and no reason": sse(candidate({"hologram": {}})),
    "a malformed call": sse(candidate(TEXT), candidate(finishReason="MALFORMED_FUNCTION_CALL")),
    "a signature and a malformed call": sse(
        candidate({"thoughtSignature": "QUJD"}, finishReason="MALFORMED_FUNCTION_CALL")
    ),
    "too many calls": sse(candidate(TEXT, finishReason="TOO_MANY_TOOL_CALLS")),
    "text for arguments": sse(
        candidate({"functionCall": {"name": "f", "args": "x"}}, finishReason="STOP")
    ),
    "text for streamed arguments": sse(
        candidate({"functionCall": {"name": "f", "willContinue": True, "args": "x"}}),
        candidate({"functionCall": {}}, finishReason="STOP"),
    ),
    "a list for arguments": sse(
        candidate({"functionCall": {"name": "f", "args": [1]}}, finishReason="STOP")
    ),
    "text for a call": sse(candidate(TEXT, {"functionCall": "f()"}, finishReason="STOP")),
    "a signed list for a call": sse(
        candidate({"functionCall": ["f"], "thoughtSignature": "QUJD"}, finishReason="STOP")
    ),
    "a number for a name": sse(candidate({"functionCall": {"name": 5}}, finishReason="STOP")),
    "a signed object for a name": sse(
        candidate(
            {"functionCall": {"name": {}, "args": {"a": 1}}, "thoughtSignature": "QUJD"},
            finishReason="STOP",
        )
    ),
    "text for a call beside the candidates": sse(
        {"functionCalls": ["f()"], **candidate(finishReason="STOP")}
    ),
}
"""Answers of generateContent that must not end like good ones."""


def good_ends(wire: str, body: bytes) -> list[str]:
    """The dialects, and the oracle, for which a body is an answer of a wire with a good end."""
    exchange = Exchange(None, 200, {}, ((None, body),), "complete", provider=wire)
    names = [] if no_good_end(PROVIDERS[wire].facts(exchange)) else ["oracle"]
    normalize, options = NormalizedOnce(), RunOptions(provider=wire)
    for name in DIALECTS:
        adapter = ADAPTERS[name]
        facts = facts_of(adapter, adapter.output(exchange, options, normalize))
        assert isinstance(facts, View)
        names += [name] if facts.ended_well else []
    return names


@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_good_stream_of_each_wire_ends_well(wire: str) -> None:
    assert good_ends(wire, GOOD[wire]) == ["oracle", *DIALECTS]


@pytest.mark.parametrize("body", NOTHING)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_a_body_without_content_is_no_good_end(wire: str, body: str) -> None:
    if wire == "openai" and "OpenAI" in body:
        pytest.skip("the wire of the body")
    assert good_ends(wire, NOTHING[body]) == []


@pytest.mark.parametrize("other", PROVIDERS)
@pytest.mark.parametrize("wire", PROVIDERS)
def test_the_stream_of_another_wire_is_no_good_end(wire: str, other: str) -> None:
    if wire == other or {wire, other} <= GEMINI or {wire, other} <= CHAT:
        pytest.skip("the wires have the same messages")
    assert good_ends(wire, GOOD[other]) == []


@pytest.mark.parametrize("body", NO_GOOD_END)
@pytest.mark.parametrize("wire", sorted(GEMINI))
def test_an_answer_without_a_good_reason_is_no_good_end(wire: str, body: str) -> None:
    assert good_ends(wire, NO_GOOD_END[body]) == []


@pytest.mark.parametrize(
    "body",
    [
        body_of("code-assist/text", 3),
        b'{"response": null}',
        b'{"session_id": "s", "stats": {"models": {}}}',
        b'{"stats": {}, "warnings": ["w"]}',
    ],
    ids=["a server's", "null", "none", "a warning"],
)
def test_a_document_whose_answer_is_no_text_is_no_good_end(body: bytes) -> None:
    assert good_ends("gemini-cli", body) == []
