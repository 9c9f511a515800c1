"""Compares the facts of a raw body with those that events or payloads carry, and says in one
sentence each what was lost or invented.

What a dialect declares that it does not carry, and what its protocol has no place for after an
error, is no loss here. The tables of the dialects are written down once more, from their contracts,
not taken from the code that is under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from harness.providers.oracle.partial import PARTIAL, partial_losses
from harness.stream.printable import short_json

from .account import Facts, Json
from .differences import (
    call_findings,
    error_findings,
    part_findings,
    same,
    signature_findings,
    take,
    text_findings,
    usage_findings,
    value_findings,
)

_ANTHROPIC_STOPS = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "pause_turn",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        "refusal",
    ),
    **dict.fromkeys(
        ("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"), "refusal"
    ),
}
_UNIFIED_ELSEWHERE = {"modelVersion", "responseId"}
"""Fields that the unified dialect carries in its Response, under names of its own."""


def losses(wire: Facts, carried: Facts, dialect: str, *, interrupted: bool = False) -> list[str]:
    """What ``carried`` lacks or has too much, one sentence each.

    ``dialect``: ``events`` or the name of an event model. ``interrupted``: the exchange ended
    early, which a payload says as an error that the wire does not have. In a dialect nothing
    follows an error, so only what came before the first one counts.
    """
    if dialect in PARTIAL:
        return partial_losses(wire, carried, dialect, interrupted=interrupted)
    if dialect != "events" and wire.at_error is not None:
        wire = wire.at_error
    if wire.blocks:  # a signature beside a block may be the call's or the text's
        wire, carried = (
            replace(facts, signatures=_without_kinds(facts.signatures)) for facts in (wire, carried)
        )
    compare = _DIALECTS[dialect]
    text, calls = _with_blocks(wire, carried)
    found = [
        *text_findings("text", text, carried.text),
        *text_findings("thought", wire.thoughts, carried.thoughts),
        *call_findings(calls, carried.calls, ordered=not wire.blocks),
        *error_findings(wire, carried, interrupted, numbered=dialect != "anthropic"),
        *compare(wire, carried),
        *carried.contradictions,
    ]
    if carried.open_call and not (interrupted or carried.errors):
        found.append(
            f"call end lost: {carried.calls[-1][0]} is still open when the stream has ended"
        )
    if wire.unreadable and not interrupted and not carried.unreadable and not carried.errors:
        found.append(f"unreadable lost: {short_json(wire.unreadable[0])} left no trace")
    return found


def _with_blocks(wire: Facts, carried: Facts) -> tuple[str, list[tuple[str, Json]]]:
    """Text and calls as they should be when every ``<tool_code>`` block is either the call that was
    carried or text.
    """
    text, calls, free = wire.text, list(wire.calls), list(carried.calls)
    for call in wire.calls:
        take(free, call)
    for raw, name, arguments in wire.blocks:
        taken = next(
            (call for call in free if name in (None, call[0]) and same(call[1], arguments)), None
        )
        if taken is not None:
            free.remove(taken)
            calls.append(taken)
            text = text.replace(raw, "", 1)
    return text, calls


def _events(wire: Facts, carried: Facts) -> list[str]:
    return [
        *signature_findings(wire.signatures, carried.signatures),
        *value_findings("finish", wire.finish, carried.finish),
        *value_findings("finish message", wire.finish_message, carried.finish_message),
        *value_findings("block reason", wire.block_reason, carried.block_reason),
        *usage_findings(wire.usage, carried.usage),
        *part_findings(wire, carried),
        *(f"field lost: {name}" for name in sorted(wire.others - carried.others)),
    ]


def _unified(wire: Facts, carried: Facts) -> list[str]:
    blocked = wire.block_reason is not None
    return [
        *signature_findings(wire.signatures, carried.signatures),
        *value_findings(
            "block reason" if blocked else "finish",
            wire.block_reason if blocked else wire.finish,
            carried.finish,
        ),
        *(
            []
            if blocked
            else value_findings("finish message", wire.finish_message, carried.finish_message)
        ),
        *usage_findings(wire.usage, carried.usage),
        *part_findings(wire, carried),
        *(
            f"field lost: {name}"
            for name in sorted(wire.others - carried.others - _UNIFIED_ELSEWHERE)
        ),
    ]


def _anthropic(wire: Facts, carried: Facts) -> list[str]:
    """Signatures of text, thoughts and other parts share one place; finish and usage stand in the
    payload that an error takes away.
    """
    found = signature_findings(_call_or_not(wire.signatures), _call_or_not(carried.signatures))
    if carried.errors:
        return found
    stop = _ANTHROPIC_STOPS.get(wire.finish or "", "end_turn")
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
    there = {name: count for name, count in carried.usage.items() if count}
    return (
        found
        + value_findings("finish", stop, carried.finish)
        + usage_findings({name: count for name, count in expected.items() if count}, there)
    )


_DIALECTS: dict[str, Callable[[Facts, Facts], list[str]]] = {
    "events": _events,
    "unified-llm": _unified,
    "anthropic": _anthropic,
}


def _without_kinds(signatures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("text" if kind == "call" else kind, signature) for kind, signature in signatures]


def _call_or_not(signatures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("call" if kind == "call" else "text", signature) for kind, signature in signatures]
