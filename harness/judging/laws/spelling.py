"""Law 6: another spelling of the same answer has the same content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from harness.adapters import Output, Subject
from harness.facts import View
from harness.specs.volatile import as_read
from harness.stream.exchange import Exchange
from harness.stream.websocket import SWITCHED

from ..aspects import provider_of
from ..metamorphic.catalogue import WireVariant, spellings_of
from ..metamorphic.reads import plain
from ..metamorphic.session import SAME_EVENTS
from ..reading import Reading
from .law import Breach, Law, differing

SAME_WIRE = ("lf", "crlf", "cr", "sse")
"""Spellings that must not change the native events. The other spellings give another wire, or
change text that is itself JSON.
"""

OTHER_PIECES = ("text-split", "text-joined")
"""Spellings that split the same text in another way. If an adapter fails, the text before its error
depends on the split.
"""

OF_FACTS = (*SAME_WIRE[:2], "sse", "key-order", "compact", *OTHER_PIECES)
"""Spellings that every client of an event stream must read."""

_CONTENT: Final = (
    *("text", "thoughts", "calls", "open_call", "invalid_calls", "results", "signatures"),
    *("contents", "usage", "notices"),
    *("finish", "finish_message", "block_reason", "errors", "ended_well", "unfinished"),
)
"""The views that do not depend on the spelling."""


def spelling_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return one breach for each spelling that changes the content."""
    original = plain(exchange)
    expected = subject.output(original)
    compare = _events_breach if subject.adapter.layer == "events" else _payloads_breach
    failed = subject.adapter.by_facts and any("error" in fact for fact in expected.items)
    breaches = (
        compare(variant, respelled, expected, subject)
        for variant, respelled in _spellings(exchange, subject)
        if not (failed and variant.name in OTHER_PIECES)
    )
    return [breach for breach in breaches if breach]


def _payloads_breach(
    variant: WireVariant, respelled: Exchange, expected: Output, subject: Subject
) -> Breach | None:
    breach = differing(
        expected.items, respelled, subject, f"spelled as {variant.name}", "spelled as recorded"
    )
    return breach and replace(breach, feature=variant.feature)


def _events_breach(
    variant: WireVariant, respelled: Exchange, expected: Output, subject: Subject
) -> Breach | None:
    """Compare only the facts, because another framing has other boundaries of events."""
    output = subject.output(respelled)
    if subject.adapter.facts is None:
        return None
    findings = _differing(
        View(subject.adapter.facts(output)), View(subject.adapter.facts(expected))
    )
    if not findings:
        return None
    sentence = "; ".join(f"{variant.name}: {finding}" for finding in findings)
    return Breach(sentence, respelled, as_read(expected.items), None, variant.feature)


def _differing(got: View, expected: View) -> list[str]:
    pairs = ((name, getattr(got, name), getattr(expected, name)) for name in _CONTENT)
    return [
        f"{name} is {value!r} instead of {other!r}"[:300]
        for name, value, other in pairs
        if value != other
    ]


def _spellings(exchange: Exchange, subject: Subject) -> Iterator[tuple[WireVariant, Exchange]]:
    """Yield the spellings that the adapter must understand; none if a part of the body is not
    JSON.
    """
    original = plain(exchange)
    names: tuple[str, ...] = SAME_WIRE[:2]
    if subject.adapter.by_facts and _only_events(original.body):
        variants = Reading(original, subject.options).variants
        names = SAME_WIRE[:2] if variants else OF_FACTS
    elif original.body.startswith(b"data:") and not subject.adapter.by_facts:
        names = SAME_WIRE
    elif exchange.status == SWITCHED:
        names = SAME_EVENTS
    for variant in spellings_of(exchange, provider_of(exchange, subject)):
        if subject.adapter.layer == "events" or variant.name in names:
            respelled = variant.change(original)
            if respelled is not None:
                yield variant, respelled


def _only_events(body: bytes) -> bool:
    """Return whether every line is a data line, so that every message is inside an event."""
    lines = [line for line in re.split(rb"[\r\n]+", body) if line.strip()]
    return bool(lines) and all(line.startswith(b"data:") for line in lines)


def no_other_spelling(exchange: Exchange, subject: Subject) -> str:
    """Return the reason why the law has nothing to check, or ""."""
    spellings = _spellings(exchange, subject)
    return "" if any(spellings) else "no part of the answer has another spelling"


SPELLING = Law(
    6,
    "Spelling doesn't matter",
    "The same answer in another spelling has the same content.",
    spelling_findings,
    unasked=no_other_spelling,
    feature="spelling.snake-case",
)
