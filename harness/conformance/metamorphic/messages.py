"""Takes a streamed answer apart into its messages and puts changed ones together again, in
server-sent events as Gemini writes them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange
from harness.stream.framing import frame_by_content
from harness.stream.json_codec import Json

Messages = list[Any]
Change = Callable[[Messages], bool]
"""Changes messages in place; whether there was anything to change."""


def messages_of(exchange: Exchange) -> Messages | None:
    """The JSON messages of a whole answer; None for one that failed or is blocked, cut or empty,
    compressed, or no JSON all through.
    """
    if (
        exchange.status >= 300
        or exchange.end in INTERRUPTED
        or exchange.header("content-encoding")
        or exchange.provider == "gemini-cli"
    ):
        return None
    framer = frame_by_content()
    frames = framer.feed(exchange.body) + framer.close()
    whole = [frame.json for frame in frames if frame.raw is None and isinstance(frame.json, dict)]
    refused = any(
        one.get("error") or one.get("promptFeedback") or one.get("prompt_feedback")
        for one in (*whole, *responses(whole))
    )
    return (
        whole
        if len(whole) == len(frames) and not refused and any(True for _ in parts(whole))
        else None
    )


def as_stream(exchange: Exchange, messages: Messages, end: str = "\r\n") -> Exchange:
    """The exchange with these messages for its body, one event each, in a single read."""
    return with_body(
        exchange,
        b"".join(f"data: {json.dumps(message)}{end}{end}".encode() for message in messages),
    )


def with_body(exchange: Exchange, *reads: bytes) -> Exchange:
    """The exchange with other bytes, cut into these reads; their times are not known."""
    return replace(exchange, reads=tuple((None, data) for data in reads if data))


def changed(change: Change) -> Callable[[Exchange], Exchange | None]:
    """The mutation that a change of the messages is; None where there is nothing to change."""

    def mutate(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        if messages is None:
            return None
        messages = copy.deepcopy(messages)
        return as_stream(exchange, messages) if change(messages) else None

    return mutate


def responses(messages: Messages) -> Iterator[dict[str, Json]]:
    """Each message without its Code Assist envelope."""
    for message in messages:
        inner = message.get("response")
        yield inner if isinstance(inner, dict) else message


def answers(messages: Messages) -> Iterator[dict[str, Json]]:
    """Candidate 0 of every message that has it, in the wire's own spelling."""
    for response in responses(messages):
        for candidate in response.get("candidates") or []:
            if isinstance(candidate, dict) and not candidate.get("index"):
                yield candidate


def parts(messages: Messages) -> Iterator[tuple[list[Json], int]]:
    """(parts, index) of every part of candidate 0."""
    for candidate in answers(messages):
        content = candidate.get("content")
        listed = content.get("parts") if isinstance(content, dict) else None
        if isinstance(listed, list):
            yield from ((listed, at) for at in range(len(listed)) if isinstance(listed[at], dict))


def calls(messages: Messages) -> Iterator[tuple[list[Json], int]]:
    """(parts, index) of every whole call of candidate 0: one with a name and an object for its
    arguments, or none.
    """
    for listed, at in parts(messages):
        call = listed[at].get("functionCall")
        streamed = isinstance(call, dict) and ("partialArgs" in call or "willContinue" in call)
        if (
            isinstance(call, dict)
            and call.get("name")
            and not streamed
            and isinstance(call.get("args", {}), dict)
        ):
            yield listed, at


def holder_of(messages: Messages, candidate: dict[str, Json]) -> dict[str, Json]:
    """The message that a candidate stands in, without its envelope."""
    return next(
        one
        for one in responses(messages)
        if any(candidate is other for other in one.get("candidates") or [])
    )


def after(messages: Messages, part: Json) -> None:
    """A message more, with one part."""
    enveloped = bool(messages) and isinstance(messages[-1].get("response"), dict)
    message = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
    messages.append({"response": message} if enveloped else message)
