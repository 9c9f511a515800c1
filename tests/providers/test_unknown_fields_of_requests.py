"""Two bodies that differ in one unknown field have different prompts, wherever the field is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.providers import PROVIDERS
from harness.stream.prompt import Function
from tests.faulty.faults import CASSETTE

BODIES = {
    "gemini-api": ("gemini-api/mind-tools", "gemini-api/signatures-thoughts"),
    "vertex-ai": ("vertex-ai/signed-thought-then-call", "vertex-ai/unary"),
    "code-assist": ("code-assist/mind-tools",),
    "interactions": ("interactions/stateless-turns", "interactions/text"),
    "anthropic": ("anthropic/agent", "anthropic/thinking"),
    "openai-compat": ("openai-compat/turns", "openai-compat/signatures"),
    "openai": ("openai/chat-agent", "openai/responses-calls"),
}
FREE = {"args", "response", "parameters", "input_schema", "arguments", "labels", "metadata"}
"""The fields whose values are the application's."""


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Each object of a body, but those in free values."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            yield from objects(inner) if name not in FREE else ()
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


@pytest.mark.parametrize("provider", BODIES)
def test_an_unknown_field_is_kept_at_each_place(provider: str) -> None:
    wire, lost = PROVIDERS[provider], []
    for name in BODIES[provider]:
        for exchange in CASSETTE(name).exchanges:
            body = json.loads(exchange.request.body) if exchange.request else {}
            known = wire.prompt_of(copy.deepcopy(body))
            for number, _ in enumerate(objects(body)):
                changed = copy.deepcopy(body)
                place = list(objects(changed))[number]
                place["zzUnknown"] = "ZZ"
                if wire.prompt_of(changed) == known:
                    lost.append((name, {key: place[key] for key in [*place][:2]}))
    assert lost == []


def test_a_part_of_the_system_and_a_wrapper_of_a_tool_have_their_places() -> None:
    body = {"contents": [], "systemInstruction": {"parts": [{"text": "a"}, {"text": "b", "x": 1}]}}
    assert PROVIDERS["gemini-api"].prompt_of(body).more == {"systemInstruction.parts[1].x": 1}
    tool = {"type": "function", "function": {"name": "f"}, "x": 1}
    prompt = PROVIDERS["openai"].prompt_of({"messages": [], "tools": [tool]})
    (function,) = prompt.tools
    assert isinstance(function, Function)
    assert dict(function.more) == {"x": 1}
