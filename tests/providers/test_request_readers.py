"""The readers of requests: the reverse of the writers, and no value of a body is unread."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import CassetteError
from harness.cassettes.load import load
from harness.providers import PROVIDERS, with_provider
from harness.stream.prompt import Prompt
from harness.stream.session import Session

CASSETTES = Path(__file__).parents[2] / "cassettes"
WORDS = (
    *("model", "assistant", "VALIDATED", "AUTO", "ANY", "NONE", "application/json", True),
    *("omitted", "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "enabled"),
    *("any", "tool", "base64", "url", "json_schema", "summarized", "function", "message"),
    *("function_call", "function_call_output", "reasoning", "input_text", "output_text", "auto"),
    *(
        "summary_text",
        "input_image",
        "image_url",
        "json_object",
        "developer",
        "tool_calls",
        "system",
        "user_input",
        "model_output",
        "function_result",
        "thought",
        "",
    ),
)
"""Words of the wire for which a prompt has a class or a word of its own; ``true`` marks thoughts."""


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@cache
def recorded_bodies(provider: str) -> list[Any]:
    bodies = []
    for path in sorted(CASSETTES.rglob("*.yaml")):
        try:
            exchanges = load(path).exchanges
        except CassetteError:
            continue
        for exchange in map(with_provider, exchanges):
            asked = exchange.request.body if exchange.request else b""
            if exchange.provider == provider and exchange.generates and asked:
                with suppress(ValueError):  # the lines of a WebSocket
                    bodies.append(json.loads(asked))
    return bodies


def in_base64(leaf: Any) -> str:
    """The text of a document as a prompt has it."""
    return json.dumps(base64.b64encode(str(leaf).encode()).decode())


READ = [name for name, provider in PROVIDERS.items() if provider.reads_whole]
OTHER_WIRES = [name for name in READ if PROVIDERS[name].wire != "generateContent"]
PLACES = ("place", "places")
UNWRITTEN = {
    "openai": ("more", "strict"),
    "openai-compat": ("more",),
    "interactions": ("more", "continues"),
}
"""Wire → the values that only its reader has, or its writer adds."""


def opened(leaf: Any) -> set[str]:
    """Return the leaves of the arguments of a call, which Chat Completions has as a text."""
    with suppress(ValueError):
        if isinstance(leaf, str) and isinstance(read := json.loads(leaf), dict):
            return {json.dumps(inner) for inner in leaves(read)}
    return {json.dumps(leaf)}


@pytest.mark.parametrize("name", READ)
def test_no_value_of_a_recorded_request_is_unread(name: str) -> None:
    provider = PROVIDERS[name]
    bodies = recorded_bodies(name)
    assert bodies

    for body in bodies:
        read = {json.dumps(leaf) for leaf in leaves(asdict(provider.prompt_of(body)))}
        unread = [
            leaf
            for leaf in leaves(body)
            if leaf not in WORDS
            and not read & {json.dumps(leaf), in_base64(leaf)}
            and not opened(leaf) <= read
        ]
        assert unread == []


def without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        inner = value.items()
        return {name: without(item, names) for name, item in inner if name not in names}
    if isinstance(value, list | tuple):
        return [without(item, names) for item in value]
    return value


@pytest.mark.parametrize("name", OTHER_WIRES)
def test_a_recorded_request_is_written_as_it_was_read(name: str) -> None:
    provider = PROVIDERS[name]
    for body in recorded_bodies(name):
        prompt = provider.prompt_of(body)
        option = provider.api_of(body).option
        options: dict[str, Any] = {option: {}} if option else {}
        written = provider.request(replace(prompt, options=options), Session()).body

        again = provider.prompt_of(json.loads(json.dumps(written)))

        names = (*PLACES, *UNWRITTEN.get(name, ()))
        assert without(asdict(again), names) == without(asdict(prompt), names)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"contents": 1, "tools": "x"},
        {"contents": [1, {"parts": [2, {"text": 3}]}]},
        {"messages": 1, "input": 2, "system": 3, "tools": [4], "thinking": "x", "metadata": []},
        {"messages": [1, {"role": "user", "content": [2, {"type": "text", "text": 3}]}]},
        {"messages": [{"content": [{"type": "image", "source": 1}, {"type": "tool_result"}]}]},
        {"input": [1, {"content": [2, {"type": "input_image", "image_url": 3}]}, {"type": 4}]},
        {"tools": [{"name": 1}, {"function": 2}], "tool_choice": 3, "response_format": 4},
        {"input": {"type": "image", "data": 1, "processing": {"start_offset": 2}}, "tools": {}},
        {"input": [{"type": "function_result", "result": [1]}, {"type": "thought", "summary": 2}]},
        {"input": [{"role": "model", "content": "x"}, {"text": 3}], "safety_settings": [{}]},
        {"response_format": [{"type": "text"}], "generation_config": {"tool_choice": {"x": 1}}},
        {"text": 1, "reasoning": 2, "output_config": 3, "generation_config": 4, "instructions": 5},
    ],
)
def test_any_object_is_read(name: str, body: Any) -> None:
    provider = PROVIDERS[name]

    assert isinstance(provider.prompt_of(body), Prompt)
