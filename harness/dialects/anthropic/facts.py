"""Reads the facts in events of the Anthropic Messages stream.

The stream carries text, thoughts, calls, signatures, counts under its own names, a stop reason that
follows from the finish reason, and errors. Signatures of calls are in the session. An answer
without a good end is an error, which names the finish reason and its message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from harness.facts import Call, Error, Fact, Finish, Raw, Text, Thought, arguments_of
from harness.facts.detail import Counts, GoodEnd, OpenCall, StatedTwice, signatures_of
from harness.stream.json_codec import Json
from harness.stream.session import Session

PAUSES = ("pause_turn", "compaction")
"""The stop reasons of an answer that is to be continued."""


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session) -> Iterator[Fact]:
    """Yield the facts in the events; ``session`` remembers the signatures of calls."""
    block: dict[str, Json] = {}
    number = -1
    finish = None
    for payload in payloads:
        number += payload["type"] == "content_block_start"
        if payload.get("index", number) != number:
            yield StatedTwice("text", f"index {number}", f"index {payload['index']}")
        match payload["type"]:
            case "message_start":
                yield from _counts(payload["message"].get("usage"))
            case "content_block_start":
                block = {**payload["content_block"], "json": ""}
                if block["type"] == "redacted_thinking":
                    yield from signatures_of("part", block["data"])
            case "content_block_delta":
                yield from _delta(block, payload["delta"])
            case "content_block_stop":
                if block.get("type") == "tool_use":
                    yield Call(None, block["name"], arguments_of(block["json"]))
                    yield from _remembered(block, session)
                block = {}
            case "message_delta":
                finish = payload["delta"].get("stop_reason")
                yield from _counts(payload.get("usage"))
            case "message_stop" if finish not in PAUSES:
                yield GoodEnd()
            case "error":
                yield Error(None, payload["error"]["message"])
            case "unknown":
                yield Raw(payload.get("raw"))
    yield from [Finish(finish)] if finish else []
    if block.get("type") == "tool_use":
        yield OpenCall(block["name"], arguments_of(block["json"]))
        yield from _remembered(block, session)


def _delta(block: dict[str, Json], delta: Mapping[str, Json]) -> Iterator[Fact]:
    match delta["type"]:
        case "text_delta":
            yield Text(delta["text"])
        case "thinking_delta":
            yield Thought(delta["thinking"])
        case "signature_delta":
            yield from signatures_of("part", delta["signature"])
        case "input_json_delta":
            block["json"] += delta["partial_json"]


def _remembered(block: Mapping[str, Json], session: Session) -> Iterator[Fact]:
    """Yield the signature of a call."""
    remembered = session.calls.get(block["id"])
    yield from signatures_of("call", remembered.signature if remembered else None)


def _counts(usage: Mapping[str, Json] | None) -> Iterator[Fact]:
    """Yield the counts under the event model's own names, because they are sums and differences of
    the wire's counts.
    """
    yield Counts({name: n for name, n in (usage or {}).items() if isinstance(n, int)})
