"""With a value of an odd type anywhere in an answer, no reader raises, a dialect has a good end
only if the oracle has one, and events and dialects have the oracle's facts.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

import harness
from harness import Exchange
from harness.adapters import ADAPTERS, RunOptions
from harness.adapters.own import EVENTS
from harness.judging.aspects import compare_output
from harness.judging.judge import NormalizedOnce
from harness.judging.reading import Reading
from harness.providers import PROVIDERS
from tests.judging.laws.test_success_of_bad_bodies import CASSETTES, GOOD, body_of, good_ends

BODIES = [
    *GOOD.items(),
    ("interactions", body_of("interactions/whole", 3)),
    ("interactions", body_of("interactions/removed-schema", 2)),
    ("openai-compat", body_of("openai-compat/calls")),
    ("gemini-cli", body_of("gemini-cli/document")),
]
VALUES: tuple[object, ...] = (
    5,
    True,
    "x",
    None,
    [],
    {},
    ["x"],
    [5, "x"],
    {"a": 1},
    {"a": [{}]},
    [[]],
    1.5,
    -1,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*place, key))


def with_value(message: Any, place: tuple[Any, ...], value: object) -> Any:
    if not place:
        return value
    changed = holder = copy.deepcopy(message)
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return changed


def messages_of(body: bytes) -> tuple[list[bytes], list[tuple[int, bytes, Any]]]:
    """The lines of a body, and its messages: line number, the text before the message, and the
    message. A message is a line, or an event of one line.
    """
    lines = body.splitlines(keepends=True)
    if not body.startswith((b"data:", b"event:")):
        with suppress(ValueError):  # the body is JSON lines
            lines = [json.dumps(json.loads(body)).encode()]
    messages = []
    for number, line in enumerate(lines):
        start = line.find(b"{")
        with suppress(ValueError):
            messages.append((number, line[:start], json.loads(line[start:])))
    return lines, messages


def with_line(lines: list[bytes], number: int, before: bytes, message: object) -> bytes:
    line = before + json.dumps(message).encode() + b"\n"
    return b"".join([*lines[:number], line, *lines[number + 1 :]])


def odd_bodies(body: bytes) -> Iterator[bytes]:
    """Bodies in which one value of the first or the last two messages is replaced."""
    lines, messages = messages_of(body)
    for number, before, message in [*messages[:1], *messages[1:][-2:]]:
        for place in places(message):
            for value in VALUES:
                yield with_line(lines, number, before, with_value(message, place, value))


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "body"), BODIES, ids=[wire for wire, _ in BODIES])
def test_an_odd_value_is_read_and_makes_no_good_end(wire: str, body: bytes) -> None:
    for odd in odd_bodies(body):
        good = good_ends(wire, odd)
        assert not good or "oracle" in good, odd[-1000:]


ANSWERS: dict[str, tuple[str, ...]] = {
    "gemini-api": (
        *("text", "thoughts", "tool-calls", "signatures-calls", "blocked-prompts", "finishes"),
        *("stream-errors", "server-tools-apart", "code-execution", "legacy-calls", "media"),
    ),
    "vertex-ai": ("text", "streamed-arguments", "errors"),
    "code-assist": ("text", "calls", "leaked-calls", "envelope"),
    "interactions": ("text", "calls", "ends", "errors", "whole", "server-tools"),
    "openai-compat": ("text", "calls", "unary", "errors", "ends"),
    "gemini-cli": ("runs", "document", "errors", "todos", "unknown"),
}
"""The cassettes whose values are replaced; those of another wire are all used."""
OTHER_TYPES: tuple[object, ...] = (5, True, [5], {"a": []})
NAMES_OF_PARTS = {"id", "tool_id", "tool_use_id", "call_id", "role"}
"""Fields that name the part to which another part belongs."""


def spelled(message: Any, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """The names on the path to a place, each with the type of the object that has it."""
    names: list[Any] = []
    for key in place:
        if isinstance(key, str):
            kind = message.get("type", message.get("event_type", message.get("event")))
            names.append((key, kind if isinstance(kind, str) else ""))
        message = message[key]
    return tuple(names)


def odd_exchanges(wire: str) -> Iterator[Exchange]:
    """Answers of a wire in which one value of each kind is replaced. Counts that several messages
    have are skipped, since the earlier ones stay.
    """
    seen = set()
    every = (path.stem for path in sorted((CASSETTES / wire).glob("*.yaml")))
    for name in ANSWERS.get(wire, every):
        for exchange in harness.load(CASSETTES / wire / f"{name}.yaml").exchanges:
            lines, messages = messages_of(exchange.body)
            repeats = sum("sage" in json.dumps(message) for _, _, message in messages) > 1
            for number, before, message in messages:
                for place in places(message):
                    names = spelled(message, place)
                    left_out = any(
                        name in NAMES_OF_PARTS or (repeats and "sage" in name) for name, _ in names
                    )
                    if names in seen or left_out:
                        continue
                    seen.add(names)
                    for value in OTHER_TYPES:
                        odd = with_line(lines, number, before, with_value(message, place, value))
                        yield replace(exchange, reads=((None, odd),), end="complete", provider=wire)


def losses(exchange: Exchange) -> dict[str, list[str]]:
    """Adapter → the facts of the exchange that it loses or invents, as law 3 says. The exchange is
    normalized once, and its wire is read once.
    """
    options, normalize = RunOptions(provider=exchange.provider), NormalizedOnce()
    reading = Reading(exchange, options)
    found = {}
    for adapter in (EVENTS, *ADAPTERS.values()):
        output = adapter.output(exchange, options, normalize)
        judged = compare_output(reading, adapter, output)
        if judged.error or judged.red:
            found[adapter.name] = [judged.error, *map(judged.sentence, judged.red)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("wire", PROVIDERS)
def test_events_and_dialects_have_the_facts_of_the_oracle(wire: str) -> None:
    for exchange in odd_exchanges(wire):
        assert losses(exchange) == {}, exchange.body[-1000:]


ERRORS: tuple[object, ...] = (5, True, [5], [], "", 0, {}, False, "x", {"message": [5]})


@pytest.mark.parametrize("error", ERRORS, ids=json.dumps)
@pytest.mark.parametrize("wire", ["gemini-api", "code-assist", "interactions", "openai-compat"])
def test_an_error_beside_content_is_read_after_it(wire: str, error: object) -> None:
    lines, messages = messages_of(GOOD[wire])
    number, before, message = messages[-1]
    body = with_line(lines, number, before, {**message, "error": error})
    exchange = Exchange(None, 200, {}, ((None, body),), "complete", provider=wire)
    assert losses(exchange) == {}


ITEMS: tuple[object, ...] = (5, None, "x", [], [5, "x"], {"a": 1}, [[]], 1.5, True)


@pytest.mark.parametrize("item", ITEMS, ids=json.dumps)
@pytest.mark.parametrize("wire", ["gemini-api", "interactions", "openai-compat"])
def test_an_odd_item_of_an_array_hides_no_message(wire: str, item: object) -> None:
    _, messages = messages_of(GOOD[wire])
    for start in (0, 1, len(messages)):
        items = [message for _, _, message in messages]
        items.insert(start, item)
        text = json.dumps(items).encode()
        for body in text, b"data: " + text + b"\n\n", text.replace(b"}, ", b"}\n,\r\n"):
            assert good_ends(wire, body) == ["oracle", *ADAPTERS]
