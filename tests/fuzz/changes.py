"""Random small changes of an input: to its bytes, its lines, and its words.

Words come from the source of the readers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

LONGEST = 4096
VALUES = (
    *(
        b"null",
        b"true",
        b"false",
        b'""',
        b"[]",
        b"{}",
        b"0",
        b"-1",
        b"1.5",
        b"1e999",
        b"NaN",
        b"9223372036854775808",
    ),
    *(
        rb'"\ud800"',
        rb"\u0000",
        b"~",
        b"&a ",
        b"*a",
        b"!!x ",
        b"? ",
        b"- ",
        b": ",
        b", ",
        b"#",
        b"|",
        b"\r\n",
        b"\n\n",
        b"\r",
        b"\0",
        b"\xff",
    ),
)
"""Pieces of text on which readers of JSON, YAML and streams may fail."""

Change = Callable[[random.Random, bytearray, Sequence[bytes], Sequence[bytes]], None]


def changed(chance: random.Random, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """An input of the corpus with one to eight changes, in at most `LONGEST` bytes.

    Later inputs are more likely.
    """
    data = bytearray(corpus[max(chance.randrange(len(corpus)), chance.randrange(len(corpus)))])
    for _ in range(1 << max(0, chance.randrange(5) - 1)):
        chance.choice(CHANGES)(chance, data, corpus, words)
    return bytes(data[:LONGEST])


def _byte_replaced(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def _byte_put_in(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = bytes([chance.randrange(256)])


def _span_cut_out(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at = chance.randint(0, len(data))
    del data[at : at + (1 << chance.randrange(8))]


def _span_repeated(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at = chance.randint(0, len(data))
    data[at:at] = data[at : at + (1 << chance.randrange(8))] * (1 << chance.randrange(3))


def _span_of_another(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    other = chance.choice(corpus)
    at, start = chance.randint(0, len(data)), chance.randint(0, len(other))
    data[at : at + chance.choice((0, 0, 8, 64))] = other[start : start + (1 << chance.randrange(9))]


def _value_put_in(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at = chance.randint(0, len(data))
    data[at : at + chance.choice((0, 1, 4))] = chance.choice(VALUES)


def _word_put_in(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    if words:
        at = chance.randint(0, len(data))
        data[at:at] = chance.choice(words)


def _word_replaced(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    start = chance.randint(0, len(data))
    while start < len(data) and not _in_word(data[start]):
        start += 1
    end = start
    while end < len(data) and _in_word(data[end]):
        end += 1
    data[start:end] = (
        chance.choice(words or VALUES) if chance.randrange(3) else chance.choice(VALUES)
    )


def _line_of_another(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    other = chance.choice(corpus)
    start, end = _line(chance, other)
    at, until = _line(chance, data)
    data[at : chance.choice((at, until))] = other[start:end]


def _line_cut_out(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at, until = _line(chance, data)
    del data[at:until]


def _line_shifted(
    chance: random.Random, data: bytearray, corpus: Sequence[bytes], words: Sequence[bytes]
) -> None:
    at, _ = _line(chance, data)
    if chance.randrange(2):
        data[at:at] = b"  "
    elif data[at : at + 2] == b"  ":
        del data[at : at + 2]


def _line(chance: random.Random, data: bytes | bytearray) -> tuple[int, int]:
    at = data.rfind(b"\n", 0, chance.randint(0, len(data))) + 1
    return at, data.find(b"\n", at) + 1 or len(data)


def _in_word(byte: int) -> bool:
    return byte == 0x5F or 0x30 <= byte <= 0x39 or 0x41 <= byte & 0xDF <= 0x5A


CHANGES: tuple[Change, ...] = (
    _byte_replaced,
    _byte_put_in,
    _span_cut_out,
    _span_repeated,
    _span_of_another,
    _value_put_in,
    _word_put_in,
    _word_replaced,
    _line_of_another,
    _line_cut_out,
    _line_shifted,
)
