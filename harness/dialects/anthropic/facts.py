"""Reads the facts in events of the Anthropic Messages stream, and compares them with those of the
wire.

The stream carries text, thoughts, calls, signatures, counts under its own names, a stop reason that
follows from the finish reason, and errors. Signatures of calls are in the session. An answer
without a good end is an error, which names the finish reason and its message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from harness.facts import (
    CONTINUATION,
    Facts,
    arguments_of,
    compare_answers,
    finish_class,
    message_findings,
    signature_findings,
    usage_findings,
    value_findings,
)
from harness.stream.json_codec import Json
from harness.stream.session import Session

PAUSE = "pause_turn"
"""The stop reason of an answer that is to be continued."""
_STOPS = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}


def read_facts(payloads: Iterable[Mapping[str, Json]], session: Session) -> Facts:
    """The facts in the events; ``session`` remembers the signatures of calls."""
    facts = Facts()
    block: dict[str, Json] = {}
    number = -1
    for payload in payloads:
        number += payload["type"] == "content_block_start"
        if payload.get("index", number) != number:
            facts.contradictions.append(f"a {payload['type']} has not the index {number}")
        match payload["type"]:
            case "message_start":
                _count(facts, payload["message"].get("usage"))
            case "content_block_start":
                block = {**payload["content_block"], "json": "", "has_text": False}
                if block["type"] == "redacted_thinking":
                    facts.add_signature("thought", block["data"])
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
            block["has_text"] = True
        case "signature_delta":
            facts.add_signature("thought" if block["has_text"] else "text", delta["signature"])
        case "input_json_delta":
            block["json"] += delta["partial_json"]


def _close_block(facts: Facts, block: Mapping[str, Json], session: Session) -> None:
    if block.get("type") == "tool_use":
        facts.calls.append((block["name"], arguments_of(block["json"])))
        remembered = session.calls.get(block["id"])
        facts.add_signature("call", remembered.signature if remembered else None)


def _count(facts: Facts, usage: Mapping[str, Json] | None) -> None:
    """Counts under the event model's own names, because they are sums and differences of the wire's
    counts.
    """
    facts.usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}


def differences(wire: Facts, carried: Facts, interrupted: bool) -> list[str]:
    """The facts that the events lack or invent, without the declared losses."""
    wire = wire.at_error or wire
    failed = not wire.errors and _stop_reason(wire, carried) is None
    rest = partial(_compare_rest, broken=interrupted or bool(wire.errors))
    return compare_answers(wire, carried, rest, interrupted=interrupted or failed, numbered=False)


def _stop_reason(wire: Facts, carried: Facts) -> str | None:
    """The stop reason of an answer that ended; None if it did not end well."""
    if wire.invalid_calls:
        return None
    if carried.calls:
        return "tool_use"
    if wire.block_reason is not None:
        return "refusal"
    if wire.finish in CONTINUATION:
        return PAUSE
    if not wire.ended_well:
        return None
    if wire.finish == "":  # of the Gemini CLI
        return "end_turn"
    return _STOPS.get(finish_class(wire.finish) or "", "end_turn" if wire.has_content else None)


def _compare_rest(wire: Facts, carried: Facts, broken: bool) -> list[str]:
    """Signatures of text, thoughts and other parts share one place. The event with the stop reason
    and the counts does not come after an error.
    """
    findings = signature_findings(_call_or_not(wire), _call_or_not(carried))
    stop = _stop_reason(wire, carried)
    if carried.errors:
        reasons = wire.malformed_reasons(()) or filter(None, (wire.finish, wire.finish_message))
        missing = [] if stop or broken else reasons
        return findings + message_findings("finish", missing, carried)
    counts = wire.usage
    cached = counts.get("cachedContentTokenCount", 0)
    written = counts.get("cacheWriteTokenCount", 0)
    expected = {
        "input_tokens": counts.get("promptTokenCount", cached + written) - cached - written,
        "output_tokens": counts.get("candidatesTokenCount", 0)
        + counts.get("thoughtsTokenCount", 0),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
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
