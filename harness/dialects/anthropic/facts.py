"""Reads the facts in events of the Anthropic Messages stream, and compares them with those of the
wire.

The stream carries text, thoughts, calls, signatures, counts under its own names, a stop reason that
follows from the finish reason, and errors. Signatures of calls stand in the session. An answer
without a good end is an error, which names the finish reason and the message beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from harness.facts import (
    CONTINUATION,
    Facts,
    compare_answers,
    message_findings,
    signature_findings,
    usage_findings,
    value_findings,
)
from harness.stream.json_codec import Json
from harness.stream.session import Session

PAUSE = "pause_turn"
"""The stop reason of an answer that goes on."""
_REFUSALS = (
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_STOPS = {
    **dict.fromkeys(("success", ""), "end_turn"),  # of the Gemini CLI
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    **dict.fromkeys(_REFUSALS, "refusal"),
}


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session) -> Facts:
    """The facts in the events; ``session`` remembers the signatures of calls."""
    facts = Facts()
    block: dict[str, Json] = {}
    for payload in payloads:
        match payload["type"]:
            case "message_start":
                _count(facts, payload["message"].get("usage"))
            case "content_block_start":
                block = {**payload["content_block"], "json": "", "has_text": False}
            case "content_block_delta":
                _read_delta(facts, block, payload["delta"])
            case "content_block_stop":
                _close_block(facts, block, session)
                block = {}
            case "message_delta":
                facts.finish = payload["delta"].get("stop_reason")
                _count(facts, payload.get("usage"))
            case "message_stop":
                facts.ended_well = facts.finish != PAUSE
            case "error":
                facts.add_error(None, payload["error"]["message"])
            case "unknown":
                facts.raw.append(payload.get("raw"))
            case _:
                pass
    if block.get("type") == "tool_use":
        _close_block(facts, block, session)
        facts.open_call = True
    return facts


def _read_delta(facts: Facts, block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    match delta["type"]:
        case "text_delta":
            facts.text += delta["text"]
        case "thinking_delta":
            facts.thoughts += delta["thinking"]
            block["has_text"] = True
        case "signature_delta":
            facts.add_signature("thought" if block["has_text"] else "text", delta["signature"])
        case "input_json_delta":
            block["json"] += delta["partial_json"]
        case _:
            pass


def _close_block(facts: Facts, block: Mapping[str, Json], session: Session) -> None:
    if block.get("type") == "tool_use":
        facts.calls.append((block["name"], json.loads(block["json"] or "{}")))
        remembered = session.calls.get(block["id"])
        facts.add_signature("call", remembered.signature if remembered else None)


def _count(facts: Facts, usage: Mapping[str, Json] | None) -> None:
    """Counts under the event model's own names, since it adds and subtracts those of the wire."""
    facts.usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def differences(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    """The facts that the events lack or invent, without the declared losses."""
    wire = wire.at_error or wire
    failed = not wire.errors and _stop_reason(wire, carried) is None
    return compare_answers(
        wire, carried, _compare_rest, interrupted=interrupted or failed, numbered=False
    )


def _stop_reason(wire: Facts, carried: Facts) -> str | None:
    """The stop reason of an answer that ended; None where it has no good end."""
    if carried.calls:
        return "tool_use"
    if wire.block_reason is not None:
        return "refusal"
    if wire.finish == CONTINUATION:
        return PAUSE
    if not wire.ended_well:
        return None
    return _STOPS.get(wire.finish or "", "end_turn" if wire.has_content else None)


def _compare_rest(wire: Facts, carried: Facts) -> list[str]:
    """Signatures of text, thoughts and other parts share one place; the stop reason and the counts
    stand in an event that does not come after an error.
    """
    findings = signature_findings(_call_or_not(wire), _call_or_not(carried))
    stop = _stop_reason(wire, carried)
    if carried.errors:
        reasons = [] if stop or wire.errors else (wire.finish, wire.finish_message)
        return findings + message_findings("finish", filter(None, reasons), carried)
    counts = wire.usage
    cached = counts.get("cachedContentTokenCount", 0)
    expected = {
        "input_tokens": counts.get("promptTokenCount", cached) - cached,
        "output_tokens": counts.get("candidatesTokenCount", 0)
        + counts.get("thoughtsTokenCount", 0),
        "cache_read_input_tokens": cached,
    }
    return [
        *findings,
        *value_findings("finish", stop, carried.finish),
        *usage_findings(_not_zero(expected), _not_zero(carried.usage)),
    ]


def _not_zero(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _call_or_not(facts: Facts) -> list[tuple[str, str]]:
    return [
        ("call" if kind == "call" else "text", signature) for kind, signature in facts.signatures
    ]
