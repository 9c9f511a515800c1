"""Distinguishes bodies of Gemini's OpenAI-compatible endpoint from those of other services."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.providers import Identity, detect_provider

OURS = Identity("openai-compat", True, True)
OPENAI = Identity("openai", True, True)


def chunk(**changes: Any) -> dict[str, Any]:
    """A chunk of Gemini's endpoint, its names in alphabetical order."""
    whole = {
        "choices": [{"delta": {"content": "Hi", "role": "assistant"}, "index": 0}],
        "created": 1790000000,
        "id": "r1",
        "model": "gemini-3.8-flash",
        "object": "chat.completion.chunk",
    }
    return dict(sorted((whole | changes).items()))


def stream(*messages: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)


def extra(vendor: str) -> list[dict[str, Any]]:
    call = {"extra_content": {vendor: {"thought_signature": "QUJD"}}, "id": "c"}
    return [{"delta": {"tool_calls": [call]}, "index": 0}]


@pytest.mark.parametrize(
    "message",
    [
        chunk(),
        chunk(model="models/gemini-2.5-flash"),
        chunk(model="google/gemini-2.5-flash"),
        chunk(model="gemma-4-31b-it"),
        chunk(model="endpoints/1", choices=extra("google")),
        chunk(id="chatcmpl-1", model="m", choices=extra("vertex")),
        chunk(choices=[{"delta": {"extra_content": {"google": {"thought": True}}}}], model="m"),
    ],
)
def test_a_body_of_the_endpoint_is_recognized(message: dict[str, Any]) -> None:
    assert detect_provider("", "", b"", stream(message, message)) == OURS
    assert detect_provider("POST", "https://gateway.example/chat", b"", stream(message)) == OURS


@pytest.mark.parametrize(
    "message",
    [
        chunk(id="chatcmpl-1"),
        chunk(system_fingerprint="fp_1"),
        chunk(service_tier="default"),
        chunk(provider="Google", id="gen-1"),
        chunk(model="gpt-5.6-luna"),
        chunk(model="not-gemini/gpt"),
        chunk(choices=None),
        dict(reversed(chunk().items())),
        chunk(model="m", choices=extra("other")),
    ],
)
def test_a_body_of_another_service_is_not_taken(message: dict[str, Any]) -> None:
    assert detect_provider("", "", b"", stream(message, message)) == OPENAI


def test_an_object_of_another_api_is_not_taken() -> None:
    message = chunk(object="chat.completion.other")
    assert detect_provider("", "", b"", stream(message, message)) == Identity(None, False)


def test_the_request_decides_whether_the_answer_is_streamed() -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
    asked = detect_provider("POST", url, b'{"model": "m", "stream": true}', b"")
    assert asked == Identity("openai-compat", True, True, "m")
    assert not detect_provider("POST", url, b'{"model": "m", "stream": false}', b"").streamed
