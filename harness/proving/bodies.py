"""Changes of the messages of an answer: other values, another order, and growth."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random  # noqa: TID251  # the caller seeds it
from typing import Any

from harness.stream.framing import Framer, frame_by_content

Json = Any
LONG = "A line with words.\r\n \t" * 300
TEXTS = ("", " ", "\n", "é 😀 \u2028", "<b>&amp;</b>", '{"a": [1]}', LONG)
COUNTS = (0, 1, 99_999, 100_000, 12_345_678_901, "7", "123456")
INDEXES = ("index", "output_index", "content_index", "summary_index", "command_index")
MOST = 9


def messages_of(body: bytes, framer: Framer | None = None) -> list[Json] | None:
    """Return the JSON objects of a body; None if there are no such, or something else."""
    framer = framer or frame_by_content()
    frames = framer.feed(body) + framer.close()
    messages = [frame.json for frame in frames if frame.raw != "[DONE]"]
    return messages if messages and all(type(message) is dict for message in messages) else None


def body_of_messages(messages: list[Json], *, streamed: bool, lines: bool = False) -> bytes:
    """Return a body with these messages, as JSON lines or as server-sent events."""
    if lines:
        return b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    if not streamed:
        return json.dumps(messages[0]).encode() if messages else b""
    return b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)


def changed(messages: list[Json], random: Random) -> list[Json]:
    """Return the messages with one to three changes."""
    messages = copy.deepcopy(messages)
    for _ in range(random.randint(1, 3)):
        messages = random.choice(CHANGES)(messages, random)
    return messages


def _places(value: Json) -> Iterator[tuple[Any, Any]]:
    """Yield each dict or list inside a value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _value(messages: list[Json], random: Random) -> list[Json]:
    """Change a value to another one of its type, or a number to its text."""
    leaves = [
        (holder, key)
        for holder, key in _places(messages)
        if type(holder[key]) in (str, int, bool) and key not in ("type", *INDEXES)
    ]
    if leaves:
        holder, key = random.choice(leaves)
        match holder[key]:
            case bool():
                holder[key] = not holder[key]
            case int():
                holder[key] = random.choice(COUNTS)
            case _:
                holder[key] = random.choice(TEXTS)
    return messages


def _field(messages: list[Json], random: Random) -> list[Json]:
    """Remove a field, set it to null, or add an unknown one."""
    fields = [(holder, key) for holder, key in _places(messages) if isinstance(holder, dict)]
    if fields:
        holder, key = random.choice(fields)
        match random.randint(0, 2):
            case 0:
                del holder[key]
            case 1:
                holder[key] = None
            case _:
                holder["newField"] = {"a": [1, "x"]}
    return messages


def _order(messages: list[Json], random: Random) -> list[Json]:
    """Swap, repeat or drop a message."""
    if len(messages) > 1:
        at = random.randrange(len(messages) - 1)
        match random.randint(0, 2):
            case 0:
                messages[at : at + 2] = [messages[at + 1], messages[at]]
            case 1:
                messages.insert(at, copy.deepcopy(messages[at]))
            case _:
                del messages[at]
    return messages


def _cut(messages: list[Json], random: Random) -> list[Json]:
    """Drop the last messages."""
    return messages[: random.randint(1, len(messages))] if messages else messages


def _grow_list(messages: list[Json], random: Random) -> list[Json]:
    """Let a list have up to nine items: copies with other ids, and with the same index, another one
    or none.
    """
    lists = [
        holder[key]
        for holder, key in _places(messages)
        if isinstance(holder[key], list) and holder[key] and isinstance(holder[key][0], dict)
    ]
    if lists:
        grown = random.choice(lists)
        item = random.choice([item for item in grown if isinstance(item, dict)])
        for number in range(len(grown), random.randint(2, MOST)):
            copied = _named_anew(item, number)
            if "index" in copied:
                match random.randint(0, 2):
                    case 0:
                        copied["index"] = number
                    case 1:
                        del copied["index"]
            grown.append(copied)
    return messages


def _grow_index(messages: list[Json], random: Random) -> list[Json]:
    """Repeat the messages of one index with the next ones, up to nine."""
    kinds = sorted({kind for message in messages for kind, _, _ in _indexes(message)})
    if not kinds:
        return messages
    kind = random.choice(kinds)
    found = [(_index(message, kind), at) for at, message in enumerate(messages)]
    indexes = sorted({index for index, _ in found if index is not None})
    chosen = random.choice(indexes)
    places = [at for index, at in found if index == chosen]
    indexed = {
        index: [_with_index(messages[at], kind, index) for at in places]
        for index in range(indexes[-1] + 1, random.randint(2, MOST))
    }
    if random.random() < 0.5:  # one after another
        fresh = [message for group in indexed.values() for message in group]
    else:  # side by side
        fresh = [message for group in zip(*indexed.values(), strict=True) for message in group]
    messages[places[-1] + 1 : places[-1] + 1] = fresh
    return messages


def _indexes(value: Json, inside: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield each index in a message: its kind, which is its name and that of the list around it,
    its holder, and its name.
    """
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if key in INDEXES and type(inner) is int:
            yield f"{inside}.{key}", value, key
        elif isinstance(inner, dict | list):
            yield from _indexes(inner, str(key) if isinstance(inner, list) else inside)


def _index(message: Json, kind: str) -> int | None:
    return next((holder[key] for named, holder, key in _indexes(message) if named == kind), None)


def _with_index(message: Json, kind: str, index: int) -> Json:
    """Return a copy with other ids and another index."""
    message = _named_anew(message, index)
    for named, holder, key in list(_indexes(message)):
        if named == kind:
            holder[key] = index
    return message


def _named_anew(item: Json, number: int) -> Json:
    """Return a copy whose ids have a number."""
    item = copy.deepcopy(item)
    for holder, key in list(_places(item)):
        if isinstance(key, str) and key.endswith("id") and isinstance(holder[key], str):
            holder[key] += f"_{number}"
    return item


CHANGES = (_value, _value, _field, _order, _cut, _grow_list, _grow_index, _grow_index)
