"""Reads the facts in events of the Anthropic Messages stream.

The stream carries text, thoughts, calls, signatures, counts under its own names, a stop reason that
follows from the finish reason, and errors. Signatures of calls are in the session. An answer
without a good end is an error, which names the finish reason and its message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from harness.facts import Facts, arguments_of
from harness.stream.json_codec import Json
from harness.stream.session import Session

PAUSES = ("pause_turn", "compaction")
"""The stop reasons of an answer that is to be continued."""


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session) -> Facts:
    """Return the facts in the events; ``session`` remembers the signatures of calls."""
    facts = Facts()
    block: dict[str, Json] = {}
    number = -1
    for payload in payloads:
        number += payload["type"] == "content_block_start"
        if payload.get("index", number) != number:
            facts.contradictions.append(("text", f"index {number}", f"index {payload['index']}"))
        match payload["type"]:
            case "message_start":
                _count(facts, payload["message"].get("usage"))
            case "content_block_start":
                block = {**payload["content_block"], "json": ""}
                if block["type"] == "redacted_thinking":
                    facts.add_signature("part", block["data"])
            case "content_block_delta":
                _read_delta(facts, block, payload["delta"])
            case "content_block_stop":
                _close_block(facts, block, session)
                block = {}
            case "message_delta":
                facts.finish = payload["delta"].get("stop_reason")
                _count(facts, payload.get("usage"))
            case "message_stop":
                facts.ended_well = facts.finish not in PAUSES
            case "error":
                facts.add_error(None, payload["error"]["message"])
            case "unknown":
                facts.raw.append(payload.get("raw"))
    if block.get("type") == "tool_use":
        _close_block(facts, block, session)
        facts.open_call = True
    return facts


def _read_delta(facts: Facts, block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    match delta["type"]:
        case "text_delta":
            facts.add_text(delta["text"])
        case "thinking_delta":
            facts.add_thought(delta["thinking"])
        case "signature_delta":
            facts.add_signature("part", delta["signature"])
        case "input_json_delta":
            block["json"] += delta["partial_json"]


def _close_block(facts: Facts, block: Mapping[str, Json], session: Session) -> None:
    if block.get("type") == "tool_use":
        facts.calls.append((block["name"], arguments_of(block["json"])))
        remembered = session.calls.get(block["id"])
        facts.add_signature("call", remembered.signature if remembered else None)


def _count(facts: Facts, usage: Mapping[str, Json] | None) -> None:
    """Note the counts under the event model's own names, because they are sums and differences of
    the wire's counts.
    """
    facts.usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}
