"""Reads the facts in events of the Anthropic Messages stream, and compares them with those of the
wire.

The stream carries text, thoughts, calls, signatures, counts under its own names, a stop reason that
follows from the finish reason, and errors. Signatures of calls stand in the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from harness.facts import Facts, compare_answers, signature_findings, usage_findings, value_findings
from harness.stream.json_codec import Json
from harness.stream.session import Session

_REFUSALS = (
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
_STOPS = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "pause_turn",
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
    return compare_answers(
        wire.at_error or wire, carried, _compare_rest, interrupted=interrupted, numbered=False
    )


def _compare_rest(wire: Facts, carried: Facts) -> list[str]:
    """Signatures of text, thoughts and other parts share one place; the stop reason and the counts
    stand in an event that does not come after an error.
    """
    findings = signature_findings(_call_or_not(wire), _call_or_not(carried))
    if carried.errors:
        return findings
    stop = _STOPS.get(wire.finish or "", "end_turn")
    if carried.calls:
        stop = "tool_use"
    elif wire.block_reason is not None:
        stop = "refusal"
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
