"""Two bodies that differ in one value or field have different prompts, wherever it is."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from harness.providers import PROVIDERS
from harness.stream.prompt import Function

from .test_request_readers import READ, recorded_bodies

MOST: Final = 3
"""The changes that are made at places of the same names and types."""
SAME: Final = (
    ("role", "user", None),
    ("mode", "AUTO", None),
    ("type", "message", None),
    ("detail", "auto", None),
    ("is_error", False, None),
)
"""A field, its value, and the value that means the same; None: the field is missing."""
NOTHING: Final[tuple[Any, ...]] = (None, {}, [], "", "{}")
"""Values that say as much as a missing field."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """Each holder with a key and the path of names. The key of a new field is None."""
    if isinstance(value, dict):
        yield value, None, path
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        own = (*path, key if isinstance(value, dict) else "*")
        yield value, key, own
        if isinstance(value[key], dict | list):
            yield from places(value[key], own)


def changes(body: dict[str, Any], seen: Counter[Any]) -> Iterator[tuple[Any, ...]]:
    """Change the body in one place, and yield a description; then change it back."""
    for holder, key, path in list(places(body)):
        kind = holder.get("type") if isinstance(holder, dict) else None
        place = (path, str(kind), key is None or type(holder[key]))
        seen[place] += 1
        if seen[place] > MOST:
            continue
        before = copy.copy(holder)
        if key is None:
            holder["zzUnknown"] = "ZZ"
            yield "added", path, "zzUnknown"
        else:
            for value in changed(before[key]):
                holder[key] = value
                yield "changed", path, before[key], value
            if isinstance(holder, dict):
                del holder[key]
                yield "removed", path, before[key]
        holder.clear()
        holder.update(before) if isinstance(holder, dict) else holder.extend(before)


def changed(value: Any) -> list[Any]:
    match value:
        case str():
            return [f"{value}~", 5, {"zz": 1}]
        case bool():
            return [not value, "zz"]
        case int() | float():
            return [value + 1]
        case None:
            return []
    return ["zz", 7]


def is_same(change: tuple[Any, ...]) -> bool:
    """Whether the API gives both bodies one meaning."""
    kind, path, *values = change
    if kind == "removed":
        has_name = path[0] == "messages" and path[-1] == "name"  # of a result: that of its call
        known = (path[-1], values[0], None) in SAME
        return values[0] in NOTHING or known or has_name
    # "the role field of systemInstruction is ignored"
    return bool(path[-2:] == ("systemInstruction", "role"))


@pytest.mark.parametrize("name", READ)
def test_prompts_differ_if_bodies_differ_in_one_place(name: str) -> None:
    provider, seen = PROVIDERS[name], Counter[Any]()
    number, lost = 0, []
    for body in recorded_bodies(name):
        changing = copy.deepcopy(body)
        known = provider.prompt_of(body)
        for change in changes(changing, seen):
            number += 1
            # The reader must not take fields out of the body that it is given.
            if provider.prompt_of(changing) == known and not is_same(change):
                lost.append(change)
        assert changing == body
    assert lost == []
    assert number > 200


BODIES: Final[tuple[tuple[str, dict[str, Any], dict[str, Any]], ...]] = (
    ("gemini-api", {"contents": [{"parts": [{}]}]}, {"contents": [{"parts": []}]}),
    ("gemini-api", {"contents": ["x"]}, {"contents": []}),
    ("gemini-api", {"tools": [{}]}, {"tools": []}),
    (
        "gemini-api",
        {"tools": [{"functionDeclarations": [{"name": 5}]}]},
        {"tools": [{"functionDeclarations": [{"name": ""}]}]},
    ),
    (
        "gemini-api",
        {"contents": [{"parts": [{"fileData": {"fileUri": "u"}, "videoMetadata": {"x": 1}}]}]},
        {"contents": [{"parts": [{"fileData": {"fileUri": "u"}, "videoMetadata": {}}]}]},
    ),
    (
        "vertex-ai",
        {"toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}}},
        {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}},
    ),
    (
        "gemini-api",
        {"generationConfig": {"responseFormat": {"text": {"schema": {}, "x": 1}}}},
        {"generationConfig": {"responseFormat": {"text": {"schema": {}}}}},
    ),
    ("gemini-api", {"systemInstruction": {"parts": [{}]}}, {"systemInstruction": {"parts": []}}),
    ("interactions", {"input": ["a", 5]}, {"input": ["a"]}),
    ("interactions", {"input": [{"role": "user", "content": "a"}]}, {"input": [{"content": "a"}]}),
    (
        "openai-compat",
        {"messages": [{"role": "tool", "name": "f", "content": ""}]},
        {"messages": [{"role": "tool", "name": "g", "content": ""}]},
    ),
    (
        "openai",
        {"input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}]},
        {"input": [{"type": "reasoning", "content": [{"type": "summary_text", "text": "a"}]}]},
    ),
    (
        "openai",
        {"input": [{"role": "developer", "content": "a"}]},
        {"input": [{"role": "system", "content": "a"}]},
    ),
    (
        "openai",
        {"messages": [], "tool_choice": {"type": "function", "function": {"name": "f", "x": 1}}},
        {"messages": [], "tool_choice": {"type": "function", "function": {"name": "f"}}},
    ),
    (
        "openai",
        {"input": [{"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "a"}]},
        {
            "input": [
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"input":"a"}'}
            ]
        },
    ),
    (
        "openai",
        {"input": [{"type": "reasoning", "id": "rs_1"}, {"role": "assistant", "content": []}]},
        {"input": [{"type": "reasoning", "id": "rs_1"}]},
    ),
    ("openai", {"messages": []}, {}),
    ("anthropic", {"messages": [], "system": {"text": "a"}}, {"messages": []}),
    (
        "anthropic",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
    ),
)


@pytest.mark.parametrize(("name", "one", "other"), BODIES)
def test_prompts_of_unusual_bodies_differ(
    name: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    provider = PROVIDERS[name]

    assert provider.prompt_of(one) != provider.prompt_of(other)


def test_a_part_of_the_system_and_a_wrapper_of_a_tool_have_their_places() -> None:
    body = {"contents": [], "systemInstruction": {"parts": [{"text": "a"}, {"text": "b", "x": 1}]}}
    assert PROVIDERS["gemini-api"].prompt_of(body).more == {"systemInstruction.parts[1].x": 1}
    tool = {"type": "function", "function": {"name": "f"}, "x": 1}
    prompt = PROVIDERS["openai"].prompt_of({"messages": [], "tools": [tool]})
    (function,) = prompt.tools
    assert isinstance(function, Function)
    assert dict(function.more) == {"x": 1}
