"""Law 7: bad input is answered.

A body is damaged in seeded ways. The adapter must not raise an exception. It must give some output
for a body that contains facts. An adapter that states its facts may raise an exception, because
that counts as an answer. It may drop data that is not an event. It must not hang, end its process
or write too much.
"""

from __future__ import annotations

import random  # noqa: TID251  # only the type of an argument
import re
from collections.abc import Iterator
from typing import Any, Final

from harness.adapters import AdapterError, Subject
from harness.stream.exchange import Exchange

from ..aspects import provider_of
from ..metamorphic.reads import plain, seeded, with_reads
from .law import Breach, Law, shown

_GARBAGE = (
    b"\x00\xff\xfe garbage\r\n",
    b"<html>502</html>\n",
    b"data: {\r\n\r\n",
    b"data: null\n\n",
    b'{"candidates": 7}\n',
    b"]]}}\n",
)


def corruption_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the first damaged form of the exchange that the adapter handles wrongly."""
    adapter = subject.adapter
    for name, damaged in damaged_exchanges(exchange, adapter.name, adapter.effort.damages):
        output = subject.attempt(damaged)
        if isinstance(output, AdapterError):
            finding = str(output)
        else:
            finding = "" if subject.adapter.by_facts else silence(damaged, output.items, subject)
        if finding:
            return [Breach(f"{name}, {finding}; body {shown(damaged.body)}", damaged)]
    return []


def damaged_exchanges(exchange: Exchange, name: str, count: int) -> Iterator[tuple[str, Exchange]]:
    """Yield ``count`` damaged forms of an exchange, each with its damage in words. The adapter's
    ``name`` is part of the seed, so each adapter gets different damage.
    """
    original = plain(exchange)
    chance = seeded(original.body, name)
    for _ in range(count):
        damage = chance.choice([*DAMAGES])
        yield DAMAGES[damage], with_reads(original, damage(original.body, chance))


def silence(damaged: Exchange, items: list[Any], subject: Subject) -> str:
    """Return the fault if an adapter gives no items for a body with facts, else ""."""
    provider = provider_of(damaged, subject)
    return "" if items or not provider.facts(damaged).facts else f"gives no {subject.adapter.noun}"


def flipped(body: bytes, chance: random.Random) -> bytes:
    """Change a few bytes."""
    damaged = bytearray(body)
    for _ in range(min(len(body), chance.randint(1, 6))):
        damaged[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(damaged)


def truncated(body: bytes, chance: random.Random) -> bytes:
    """Remove the end of the body. The exchange still ends cleanly."""
    return body[: chance.randint(0, len(body))]


def headless(body: bytes, chance: random.Random) -> bytes:
    """Remove the beginning of the body."""
    return body[chance.randint(0, len(body)) :]


def doubled(body: bytes, chance: random.Random) -> bytes:
    """Repeat a part of the body."""
    start = chance.randint(0, len(body))
    end = chance.randint(start, len(body))
    return body[:end] + body[start:end] + body[end:]


def littered(body: bytes, chance: random.Random) -> bytes:
    """Insert garbage before a line, or at the end."""
    lines = body.splitlines(keepends=True)
    lines.insert(chance.randint(0, len(lines)), chance.choice(_GARBAGE))
    return b"".join(lines)


def emptied(body: bytes, chance: random.Random) -> bytes:
    """Replace a string in the JSON by a list."""
    if b'"event_type":' in body:
        name = chance.choice((b"text", b"arguments", b"type", b"status", b"name", b"signature"))
        return body.replace(b'"' + name + b'":"', b'"' + name + b'":[],"x":"')
    if b'"output_index":' in body:
        name = chance.choice((b"delta", b"text", b"arguments", b"type", b"call_id", b"name"))
        return body.replace(b'"' + name + b'":"', b'"' + name + b'":[],"x":"')
    if b'"content_block' in body:
        name = chance.choice((b"text", b"partial_json", b"thinking", b"name", b"signature"))
        return body.replace(b'"' + name + b'":"', b'"' + name + b'":[],"x":"')
    if b'"chat.completion' in body:
        name = chance.choice((b"content", b"arguments", b"id", b"name", b"thought_signature"))
        return body.replace(b'"' + name + b'":"', b'"' + name + b'":[],"x":"')
    name = chance.choice((b"text", b"parts", b"candidates", b"args", b"name"))
    return body.replace(b'"' + name + b'": "', b'"text": [], "x": "')


def overlapped(body: bytes, chance: random.Random) -> bytes:
    """Move an event, so that steps overlap, stop twice, or do not stop."""
    events = re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", body)
    event = events.pop(chance.randrange(len(events)))
    events.insert(chance.randint(0, len(events)), event)
    return b"".join(events)


DAMAGES: Final = {
    flipped: "with changed bytes",
    truncated: "without its end",
    headless: "without its beginning",
    doubled: "with a repeated part",
    littered: "with garbage between its lines",
    emptied: "with an emptied field",
    overlapped: "with a moved event",
}
"""Each damage, and the words for it in a sentence."""

CORRUPTION = Law(
    7,
    "Bad input is answered",
    "Garbage gives an error or an unknown event, never an exception or silence.",
    corruption_findings,
    feature="unknown.frames",
)
