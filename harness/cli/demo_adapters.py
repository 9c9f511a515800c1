"""Three small adapters for ``harness demo``: one is right, and each of the others has the fault of
a public thread. Each is a complete shim, so the file is also an example of one.

An adapter here turns Google's stream into events of a chat application: ``text``, ``call`` and
``end``. The facts beside each event say what the application acts on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.facts import Call, Error, Fact, Finish, Text, Thought, Usage
from harness.stream.exchange import Exchange

VERSION_OF = "gemini-conformance"

StatedEvent = tuple[dict[str, Any], list[Fact]]
"""An event, and the facts that it has."""


def careful(exchange: Exchange) -> Iterator[StatedEvent]:
    """Keep every part of the answer."""
    for reply in _replies(exchange):
        for part in _parts(reply):
            yield _event(part)
        yield from _end(reply)


def last_call(exchange: Exchange) -> Iterator[StatedEvent]:
    """Keep one call of each message, the last one (github.com/jeremychone/rust-genai/issues/173).

    The other calls of an answer with parallel calls never run.
    """
    for reply in _replies(exchange):
        call = None
        for part in _parts(reply):
            if "functionCall" in part:
                call = part
            else:
                yield _event(part)
        if call:
            yield _event(call)
        yield from _end(reply)


def no_empty_text(exchange: Exchange) -> Iterator[StatedEvent]:
    """Drop each part with an empty text (github.com/vercel/ai/pull/12402).

    Gemini puts the signature of an answer on such a part, and it is never sent back.
    """
    for reply in _replies(exchange):
        for part in _parts(reply):
            if part.get("text") != "":
                yield _event(part)
        yield from _end(reply)


def _replies(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield the messages of a stream, or the only message of a unary answer."""
    if not exchange.streamed:
        yield json.loads(exchange.body)
        return
    for line in exchange.body.replace(b"\r\n", b"\n").split(b"\n"):
        if line.startswith(b"data:"):
            yield json.loads(line.removeprefix(b"data:"))


def _parts(reply: dict[str, Any]) -> list[dict[str, Any]]:
    candidates = reply.get("candidates") or [{}]
    parts: list[dict[str, Any]] = candidates[0].get("content", {}).get("parts", [])
    return parts


def _event(part: dict[str, Any]) -> StatedEvent:
    """Return the event of a part. It keeps the part's signature, which the next request needs."""
    event = {"type": "text", "text": part.get("text", "")}
    facts: list[Fact] = []
    if call := part.get("functionCall"):
        event = {"type": "call", **call}
        facts = [Call(call.get("id"), call["name"], call.get("args", {}))]
    elif part.get("thought"):
        event["type"] = "thought"
        facts = [Thought(part["text"])]
    elif "text" in part:
        facts = [Text(part["text"])]
    if signature := part.get("thoughtSignature"):
        event["signature"] = signature
    return event, facts


def _end(reply: dict[str, Any]) -> Iterator[StatedEvent]:
    """Yield the events for the end of an answer: its reason, its token counts, its error."""
    usage = reply.get("usageMetadata", {})
    reason = (reply.get("candidates") or [{}])[0].get("finishReason")
    reason = reason or reply.get("promptFeedback", {}).get("blockReason")
    facts: list[Fact] = []
    if usage:
        names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
        given, made, thought = (usage.get(name) for name in names)
        total = usage.get("totalTokenCount")
        facts.append(Usage(input=given, output=made, thoughts=thought, total=total))
    if reason:
        facts.append(Finish(reason))
    if error := reply.get("error"):
        facts.append(Error(error["code"], error["message"]))
    if facts:
        yield {"type": "end", "reason": reason, "usage": usage, "error": error}, facts
