"""Reads the JSON messages from the body of a recorded answer, and writes them as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from harness.stream import framing
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json

from .reads import shortened, with_reads

Messages = list[Any]
Change = Callable[[Exchange], Exchange | None]
"""Changes an exchange; returns None if there is nothing to change."""
ReadMessages = Callable[[Exchange], Messages | None]
"""Returns the messages of an answer. The caller may change them. None for an answer without
messages.
"""


def is_whole(exchange: Exchange) -> bool:
    """Return whether an answer succeeded, is complete and is not compressed."""
    broken = exchange.status >= 300 or exchange.end in INTERRUPTED
    return not (broken or exchange.header("content-encoding"))


def object_messages(body: bytes) -> Messages | None:
    """Return the messages of a body; None if any part of the body is not a JSON object."""
    messages = framing.json_messages(body)
    return messages if messages and all(isinstance(item, dict) for item in messages) else None


def answer_messages(exchange: Exchange) -> Messages | None:
    """Return the messages of a whole answer.

    None for an answer that failed, is blocked, interrupted, empty or compressed, or that is not
    JSON from beginning to end.
    """
    messages = object_messages(exchange.body) if is_whole(exchange) else None
    if messages is None or not any(True for _ in parts(messages)):
        return None
    refusals = ("error", "promptFeedback", "prompt_feedback")
    everything = (*messages, *responses(messages))
    return None if any(item.get(name) for item in everything for name in refusals) else messages


def as_events(messages: Messages, line_end: str = "\r\n") -> bytes:
    """Return the messages as server-sent events, one event for each message."""
    return "".join(f"data: {json.dumps(item)}{line_end * 2}" for item in messages).encode()


def json_texts(messages: Messages, *, ascii_: bool, spaced: bool) -> Iterator[str]:
    """Return each message as JSON, with or without escapes and white space."""
    separators = (", ", ": ") if spaced else (",", ":")
    return (json.dumps(item, ensure_ascii=ascii_, separators=separators) for item in messages)


def rewritten(read: ReadMessages, write: Callable[[Messages], bytes]) -> Change:
    """Write the messages of an answer again, in a single read."""

    def change(exchange: Exchange) -> Exchange | None:
        messages = read(exchange)
        return None if messages is None else with_reads(exchange, write(messages))

    return change


Edit = Callable[[Messages], None]
"""Changes messages in place."""


def edited(
    edit: Edit,
    read: ReadMessages = answer_messages,
    write: Callable[[Messages], bytes] = as_events,
) -> Change:
    """Return the change that ``edit`` makes to the messages of a whole answer."""

    def change(exchange: Exchange) -> Exchange | None:
        messages = read(exchange)
        if messages is None:
            return None
        edit(messages)
        return None if messages == read(exchange) else with_reads(exchange, write(messages))

    return change


def refused(read: ReadMessages, error: str) -> Change:
    """Replace the answer by an HTTP error."""
    answer = rewritten(read, lambda _: error.encode())

    def change(exchange: Exchange) -> Exchange | None:
        refusal = answer(exchange)
        return None if refusal is None else replace(refusal, status=503)

    return change


def truncated(read: ReadMessages, place: Callable[[bytes], int | None]) -> Change:
    """Break the connection at the byte offset from ``place``, which gives None if it has none."""

    def change(exchange: Exchange) -> Exchange | None:
        end = None if read(exchange) is None else place(exchange.body)
        return None if end is None else shortened(exchange, end)

    return change


def put_in_all(holders: Iterable[dict[str, Json]], name: str, value: Json) -> None:
    """Set a field of all these objects to one value. The value None removes the field."""
    for holder in holders:
        holder.pop(name, None)
        holder |= {} if value is None else {name: value}


def without(*names: str) -> Edit:
    """Remove these fields from every message and from the objects that it contains."""

    def edit(messages: Messages) -> None:
        for message in messages:
            for holder in (message, *message.values()) if isinstance(message, dict) else ():
                for name in names if isinstance(holder, dict) else ():
                    holder.pop(name, None)

    return edit


def reversed_keys(value: Json) -> Json:
    """Return the value, with the keys of every object in reverse order."""
    if isinstance(value, dict):
        return {name: reversed_keys(item) for name, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


def responses(messages: Messages) -> Iterator[dict[str, Json]]:
    """Yield each message without its Code Assist envelope."""
    for message in messages:
        inner = message.get("response")
        yield inner if isinstance(inner, dict) else message


def answers(messages: Messages) -> Iterator[dict[str, Json]]:
    """Yield candidate 0 of every message that has one."""
    for response in responses(messages):
        for candidate in response.get("candidates") or []:
            if isinstance(candidate, dict) and not candidate.get("index"):
                yield candidate


def parts(messages: Messages) -> Iterator[tuple[list[Json], int]]:
    """Yield (list of parts, index) of every part of candidate 0."""
    for candidate in answers(messages):
        content = candidate.get("content")
        siblings = content.get("parts") if isinstance(content, dict) else None
        if isinstance(siblings, list):
            for index, part in enumerate(siblings):
                if isinstance(part, dict):
                    yield siblings, index


def calls(messages: Messages) -> Iterator[tuple[list[Json], int]]:
    """Yield (list of parts, index) of every whole call of candidate 0.

    A whole call has a name. Its arguments are an object or missing.
    """
    for siblings, index in parts(messages):
        call = siblings[index].get("functionCall")
        if not isinstance(call, dict) or "partialArgs" in call or "willContinue" in call:
            continue
        if call.get("name") and isinstance(call.get("args", {}), dict):
            yield siblings, index


def append_part(messages: Messages, part: Json) -> None:
    """Append a message with one part."""
    enveloped = bool(messages) and isinstance(messages[-1].get("response"), dict)
    message = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
    messages.append({"response": message} if enveloped else message)
