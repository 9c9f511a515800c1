"""The law about bad input (7): a body is damaged in seeded ways, and whatever comes of it must be
an answer.
"""

from __future__ import annotations

import random  # noqa: TID251  # only the type; the seeded instance comes in
from collections.abc import Iterator

from harness.cassettes import Exchange
from harness.facts import Facts
from harness.providers.oracle import gather_body

from .replayer import Replayer, plain, seeded, shown, with_reads

DAMAGED = 8
"""So many damages are tried for an exchange and an event model, other ones for each model: the
events see all of them.
"""

_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
_GARBAGE = (
    b"\x00\xff\xfe garbage\r\n",
    b"<html>502</html>\n",
    b"data: {\r\n\r\n",
    b"data: null\n\n",
    b'{"candidates": 7}\n',
    b"]]}}\n",
)


def bad_input_is_answered(exchange: Exchange, how: Replayer) -> list[str]:
    """Law 7: bytes flipped, cut off, doubled, mixed with garbage: no exception, and no silence
    about something that is there.
    """
    broken = breaking_damage(exchange, how)
    return [broken[1]] if broken else []


def breaking_damage(exchange: Exchange, how: Replayer) -> tuple[Exchange, str] | None:
    """The first damaged exchange that is answered badly, and how; None where law 7 holds."""
    for name, damaged in damaged_exchanges(exchange, how.dialect, DAMAGED):
        finding = _badly_answered(damaged, how)
        if finding is not None:
            return damaged, f"{name} {finding}; body {shown(damaged.body)}"
    return None


def damaged_exchanges(exchange: Exchange, whose: str, count: int) -> Iterator[tuple[str, Exchange]]:
    """So many damaged forms of an exchange, each with the name of its damage; other ones for
    everybody.
    """
    original = plain(exchange)
    chance = seeded(original, whose)
    for _ in range(count):
        damage = chance.choice(DAMAGES)
        yield damage.__name__, with_reads(original, damage(original.body, chance))


def unheard(damaged: Exchange, items: object, what: str) -> str | None:
    """What is wrong where nothing is said about a body that says something."""
    return (
        f"gives no {what}"
        if items == [] and gather_body(damaged.body, damaged.status) != Facts()
        else None
    )


def _badly_answered(damaged: Exchange, how: Replayer) -> str | None:
    try:
        events, payloads = how.events(damaged), how.payloads(damaged)
    except _FAULTS as error:
        return f"raises {type(error).__name__}: {shown(str(error))}"
    return unheard(damaged, events, "event") or unheard(damaged, payloads, "payload")


def flipped(body: bytes, chance: random.Random) -> bytes:
    """A few bytes are others."""
    damaged = bytearray(body)
    for _ in range(min(len(body), chance.randint(1, 6))):
        damaged[chance.randrange(len(body))] = chance.randrange(256)
    return bytes(damaged)


def truncated(body: bytes, chance: random.Random) -> bytes:
    """The end is missing, and nobody says so."""
    return body[: chance.randint(0, len(body))]


def headless(body: bytes, chance: random.Random) -> bytes:
    """The beginning is missing."""
    return body[chance.randint(0, len(body)) :]


def doubled(body: bytes, chance: random.Random) -> bytes:
    """A piece comes twice."""
    start = chance.randint(0, len(body))
    end = chance.randint(start, len(body))
    return body[:end] + body[start:end] + body[end:]


def littered(body: bytes, chance: random.Random) -> bytes:
    """Garbage stands before a line, or at the end."""
    lines = body.splitlines(keepends=True)
    lines.insert(chance.randint(0, len(lines)), chance.choice(_GARBAGE))
    return b"".join(lines)


def emptied(body: bytes, chance: random.Random) -> bytes:
    """A string of the JSON turns into another kind of value."""
    return body.replace(
        b'"' + chance.choice((b"text", b"parts", b"candidates", b"args", b"name")) + b'": "',
        b'"text": [], "x": "',
    )


DAMAGES = (flipped, truncated, headless, doubled, littered, emptied)
