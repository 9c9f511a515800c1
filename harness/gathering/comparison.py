"""Compares the facts of a raw body with those that events or payloads carry, and says in one sentence each what was lost or invented.

What a dialect declares that it does not carry, and what its protocol has no place for after an error, is no loss here. The tables of the
dialects are written down once more, from their contracts, not taken from the code that is under test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable

from .facts import Facts, Json

_ANTHROPIC_STOPS = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "CONTINUATION": "pause_turn",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        "refusal",
    ),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"), "refusal"),
}
_UNIFIED_ELSEWHERE = {"modelVersion", "responseId"}
"""Fields that the unified dialect carries in its Response, under names of its own."""

_SHOWN = 60


def losses(wire: Facts, carried: Facts, dialect: str, *, interrupted: bool = False) -> list[str]:
    """What ``carried`` lacks or has too much, one sentence each.

    ``dialect``: ``events``, ``unified-llm`` or ``anthropic``. ``interrupted``: the exchange ended early, which a payload says as an error
    that the wire does not have. In a dialect nothing follows an error, so only what came before the first one counts.
    """
    if dialect != "events" and wire.at_error is not None:
        wire = wire.at_error
    compare = _DIALECTS[dialect]
    text, calls = _with_blocks(wire, carried)
    found = [
        *_text("text", text, carried.text),
        *_text("thought", wire.thoughts, carried.thoughts),
        *_calls(calls, carried.calls, ordered=not wire.blocks),
        *_errors(wire, carried, interrupted, numbered=dialect != "anthropic"),
        *compare(wire, carried),
        *carried.contradictions,
    ]
    if carried.open_call and not (interrupted or carried.errors):
        found.append(f"call end lost: {carried.calls[-1][0]} is still open when the stream has ended")
    if wire.unreadable and not interrupted and not carried.unreadable and not carried.errors:
        found.append(f"unreadable lost: {_short(wire.unreadable[0])} left no trace")
    return found


def _with_blocks(wire: Facts, carried: Facts) -> tuple[str, list[tuple[str, Json]]]:
    """Text and calls as they should be when every ``<tool_code>`` block is either the call that was carried or text."""
    text, calls, free = wire.text, list(wire.calls), list(carried.calls)
    for call in wire.calls:
        _take(free, call)
    for raw, name, arguments in wire.blocks:
        taken = next((call for call in free if name in (None, call[0]) and same(call[1], arguments)), None)
        if taken is not None:
            free.remove(taken)
            calls.append(taken)
            text = text.replace(raw, "", 1)
    return text, calls


def _take(calls: list[tuple[str, Json]], wanted: tuple[str, Json]) -> bool:
    for index, call in enumerate(calls):
        if call[0] == wanted[0] and same(call[1], wanted[1]):
            del calls[index]
            return True
    return False


def same(left: Json, right: Json) -> bool:
    """Equal as JSON: true is not 1, 1 equals 1.0."""
    return bool(_exact(left) == _exact(right))


def _exact(value: Json) -> Json:
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value


def _text(what: str, wire: str, carried: str) -> list[str]:
    if wire == carried:
        return []
    at = next((at for at, (one, other) in enumerate(zip(wire, carried, strict=False)) if one != other), min(len(wire), len(carried)))
    verb = "lost" if len(carried) < len(wire) else "invented"
    return [f"{what} {verb}: at character {at} the wire has {_short(wire[at:])}, carried is {_short(carried[at:])}"]


def _calls(wire: list[tuple[str, Json]], carried: list[tuple[str, Json]], *, ordered: bool) -> list[str]:
    extra = list(carried)
    missing = [call for call in wire if not _take(extra, call)]
    found = []
    for name, arguments in missing:
        twin = next((call for call in extra if call[0] == name), None)
        if twin is None:
            found.append(f"call lost: {name}({_short(arguments)})")
        else:
            extra.remove(twin)
            found.append(f"argument lost: {name} has {_short(arguments)}, carried is {_short(twin[1])}")
    found += [f"call invented: {name}({_short(arguments)})" for name, arguments in extra]
    if not found and ordered and [name for name, _ in wire] != [name for name, _ in carried]:
        found.append(f"call order: {_short([name for name, _ in wire])} became {_short([name for name, _ in carried])}")
    return found


def _errors(wire: Facts, carried: Facts, interrupted: bool, *, numbered: bool) -> list[str]:
    found = []
    for (code, message), (carried_code, carried_message) in zip(wire.errors, carried.errors, strict=False):
        if numbered and code != carried_code:
            found.append(f"error changed: number {code} became {carried_code}")
        if message and message not in carried_message:
            found.append(f"error lost: {_short(message)} became {_short(carried_message)}")
    found += [f"error lost: {code} {_short(message)}" for code, message in wire.errors[len(carried.errors) :]]
    if not interrupted:
        found += [f"error invented: {code} {_short(message)}" for code, message in carried.errors[len(wire.errors) :]]
    return found


def _events(wire: Facts, carried: Facts) -> list[str]:
    return [
        *_signatures(wire.signatures, carried.signatures),
        *_value("finish", wire.finish, carried.finish),
        *_value("finish message", wire.finish_message, carried.finish_message),
        *_value("block reason", wire.block_reason, carried.block_reason),
        *_usage(wire.usage, carried.usage),
        *_counts(wire, carried),
        *(f"field lost: {name}" for name in sorted(wire.others - carried.others)),
    ]


def _unified(wire: Facts, carried: Facts) -> list[str]:
    blocked = wire.block_reason is not None
    return [
        *_signatures(wire.signatures, carried.signatures),
        *_value("block reason" if blocked else "finish", wire.block_reason if blocked else wire.finish, carried.finish),
        *([] if blocked else _value("finish message", wire.finish_message, carried.finish_message)),
        *_usage(wire.usage, carried.usage),
        *_counts(wire, carried),
        *(f"field lost: {name}" for name in sorted(wire.others - carried.others - _UNIFIED_ELSEWHERE)),
    ]


def _anthropic(wire: Facts, carried: Facts) -> list[str]:
    """Signatures of text, thoughts and other parts share one place; finish and usage stand in the payload that an error takes away."""
    found = _signatures(_call_or_not(wire.signatures), _call_or_not(carried.signatures))
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
        "output_tokens": counts.get("candidatesTokenCount", 0) + counts.get("thoughtsTokenCount", 0),
        "cache_read_input_tokens": cached,
    }
    there = {name: count for name, count in carried.usage.items() if count}
    return found + _value("finish", stop, carried.finish) + _usage({name: count for name, count in expected.items() if count}, there)


_DIALECTS: dict[str, Callable[[Facts, Facts], list[str]]] = {"events": _events, "unified-llm": _unified, "anthropic": _anthropic}


def _call_or_not(signatures: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [("call" if kind == "call" else "text", signature) for kind, signature in signatures]


def _signatures(wire: Iterable[tuple[str, str]], carried: Iterable[tuple[str, str]]) -> list[str]:
    there, here = Counter(wire), Counter(carried)
    lost = [f"signature lost: {_short(signature)} of {kind}" for kind, signature in (there - here).elements()]
    return lost + [f"signature invented: {_short(signature)} of {kind}" for kind, signature in (here - there).elements()]


def _value(what: str, wire: str | None, carried: str | None) -> list[str]:
    return [] if wire == carried else [f"{what} {'invented' if wire is None else 'lost'}: {_short(wire)} became {_short(carried)}"]


def _usage(wire: dict[str, int], carried: dict[str, int]) -> list[str]:
    found = [f"usage lost: {name} is {count}, carried is {carried.get(name)}" for name, count in wire.items() if carried.get(name) != count]
    return found + [f"usage invented: {name} {count}" for name, count in carried.items() if name not in wire]


def _counts(wire: Facts, carried: Facts) -> list[str]:
    pairs = (("media", wire.media, carried.media), ("code", wire.code, carried.code))
    return [f"{what} {'lost' if there > here else 'invented'}: {there} became {here}" for what, there, here in pairs if there != here]


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
