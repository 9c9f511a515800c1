"""Where each event model's payloads keep what the damages look for: pieces of text, and calls with
their ids, names and arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

Payloads = list[dict[str, Any]]
Change = Callable[[Any], bool]
"""Changes payloads, or a request, in place; whether it did."""


@dataclass(frozen=True, slots=True)
class MutationOperator:
    """A damage: its name, what is wrong then, and how it is done for each event model that can
    carry it.
    """

    name: str
    says: str
    of: Mapping[str, Change]


@dataclass(frozen=True, slots=True)
class Shape:
    """``texts``: (object, key) of every piece of text, in order; ``calls``: every call."""

    texts: Callable[[Payloads], Iterator[tuple[dict[str, Any], str]]]
    calls: Callable[[Payloads], Iterator[Call]]


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a payload stream: the payloads that tell it, and the objects that hold its id,
    name and arguments.
    """

    told: Payloads
    holder: dict[str, Any]
    id: str
    name: str
    arguments: str


# Where things are


def _texts_agent_events(payloads: Payloads) -> Iterator[tuple[dict[str, Any], str]]:
    yield from ((one, "text") for one in payloads if one["type"] == "text")


def _texts_art(payloads: Payloads) -> Iterator[tuple[dict[str, Any], str]]:
    yield from ((one, "data") for one in payloads if one["type"] == "TOKEN")


def _texts_unified(payloads: Payloads) -> Iterator[tuple[dict[str, Any], str]]:
    yield from ((one, "delta") for one in payloads if one["type"] == "TEXT_DELTA")


def _texts_anthropic(payloads: Payloads) -> Iterator[tuple[dict[str, Any], str]]:
    yield from (
        (one["delta"], "text")
        for one in payloads
        if one.get("delta", {}).get("type") == "text_delta"
    )


def _texts_mind(payloads: Payloads) -> Iterator[tuple[dict[str, Any], str]]:
    yield from (
        (one["message"]["content"][0], "text") for one in payloads if one["type"] == "assistant"
    )


def _calls_agent_events(payloads: Payloads) -> Iterator[Call]:
    yield from (
        Call([one], one, "toolId", "toolName", "input")
        for one in payloads
        if one["type"] == "tool.started"
    )


def _calls_unified(payloads: Payloads) -> Iterator[Call]:
    for at, one in enumerate(payloads):
        if one["type"] == "TOOL_CALL_END":
            started = next(
                begun for begun in reversed(payloads[:at]) if begun["type"] == "TOOL_CALL_START"
            )
            yield Call([started, one], one["tool_call"], "id", "name", "arguments")


def _calls_anthropic(payloads: Payloads) -> Iterator[Call]:
    for one in payloads:
        if one.get("content_block", {}).get("type") == "tool_use":
            told = [other for other in payloads if other.get("index") == one["index"]]
            yield Call(told, one["content_block"], "id", "name", "input")


def _calls_mind(payloads: Payloads) -> Iterator[Call]:
    yield from (
        Call([one], one, "", "name", "args") for one in payloads if one["type"] == "tool_code"
    )


def _no_calls(payloads: Payloads) -> Iterator[Call]:
    yield from ()


SHAPES: Final[Mapping[str, Shape]] = {
    "agent-events": Shape(_texts_agent_events, _calls_agent_events),
    "art": Shape(_texts_art, _no_calls),
    "unified-llm": Shape(_texts_unified, _calls_unified),
    "anthropic": Shape(_texts_anthropic, _calls_anthropic),
    "mind": Shape(_texts_mind, _calls_mind),
}
WITH_CALLS: Final = tuple(name for name, shape in SHAPES.items() if shape.calls is not _no_calls)
