"""Damages JSON messages at random, for tests that compare two readers of the same bytes."""

from collections.abc import Callable
from random import Random
from typing import Final

FIELDS: Final = (b'"text":"second"', b'"index":0', b'"modelVersion":"other"', b'"role":1')


def damage(messages: list[bytes], chance: Random, times: int = 3) -> list[bytes]:
    """The messages with a few random damages."""
    damaged = list(messages)
    for _ in range(min(times, len(damaged))):
        place = chance.randrange(len(damaged))
        damaged[place] = chance.choice(DAMAGES)(damaged[place], chance)
    return damaged


def _replace(old: bytes, new: bytes) -> Callable[[bytes, Random], bytes]:
    return lambda data, chance: data.replace(old, new, chance.randint(1, 3))


def _twice(data: bytes, chance: Random) -> bytes:
    """One of the fields twice, with another value."""
    field = chance.choice(FIELDS)
    places = [at for at in range(len(data)) if data[at] == 0x7B]
    at = chance.choice(places) + 1 if places else 0
    return data[:at] + field + b"," + data[at:]


def _bit(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) or 1)
    return (
        data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :] if data else data
    )


DAMAGES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    _replace(b": 0", b": 0.0"),
    _replace(b"0,", b"0.0,"),
    _replace(b"1", b"1e3"),
    _replace(b'"index": 0', b'"index": false'),
    _replace(b'"index":0', b'"index":1'),
    _replace(b"e", rb"\ud800"),
    _replace(b"e", rb"\u0065"),
    _replace(b"e", b"\xff"),
    _replace(b":", b': null, "x":'),
    _replace(b"{", b"[{"),
    _replace(b"Count", b"_count"),
    _replace(b'"parts"', b'"Parts"'),
    _replace(b'"content":"', b'"content":"<thought>'),
    _replace(b'STOP"', b'stop"'),
    _twice,
    _bit,
)
