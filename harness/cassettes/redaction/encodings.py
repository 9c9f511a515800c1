"""The other ways in which the same bytes may be read: what a secret hides behind without being
changed.

Each spelling is made of the one before by one pattern: lines joined (YAML and base64 are wrapped),
then escapes undone (JSON, YAML, URL; four times, since JSON stands in JSON), and, apart from these,
the texts of a stream put one behind the other. An offset in a spelling is led back to the bytes
themselves only when something was found there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

Back = Callable[[int], int]
"""Leads an offset in a spelling back to one in the bytes that it is a spelling of."""

ROUNDS: Final = 4

_LINE_END: Final = re.compile(rb"\\?\r?\n[ \t]*+(?:#[ \t]*+)?")
_ESCAPE: Final = re.compile(
    rb"((?:\\u[0-9a-fA-F]{4})++)|\\x([0-9a-fA-F]{2})|\\U([0-9a-fA-F]{8})|\\([0abefnrtvNLP_])|\\(.)|%([0-9a-fA-F]{2})",
    re.DOTALL,
)
_TEXT: Final = re.compile(
    rb'"(?:text|stringValue|string_value|delta)"\s*+:\s*+"((?:[^"\\]++|\\.)*+)"', re.DOTALL
)


def spellings(data: bytes) -> Iterator[tuple[bytes, Back]]:
    """The bytes themselves, then what else they may be read as, each with the way back."""
    yield data, _stay
    text, back = _respelled(data, _stay, _LINE_END, _join)
    if text != data:
        yield text, back
    yield from _unescaped(text, back)
    pieces = list(_TEXT.finditer(data))
    if len(pieces) > 1:
        told = b"".join(piece[1] for piece in pieces)
        yield told, lambda offset: _in_piece(pieces, offset)
        yield from _unescaped(told, lambda offset: _in_piece(pieces, offset))


def _unescaped(text: bytes, back: Back) -> Iterator[tuple[bytes, Back]]:
    for _ in range(ROUNDS):
        if b"\\" not in text and b"%" not in text:
            return
        read, back = _respelled(text, back, _ESCAPE, _unescape)
        if read == text:
            return
        text = read
        yield text, back


def _respelled(
    data: bytes, back: Back, pattern: re.Pattern[bytes], by: Callable[[re.Match[bytes]], bytes]
) -> tuple[bytes, Back]:
    def lead_back(offset: int) -> int:
        removed = 0
        for found in pattern.finditer(data):
            start = found.start() - removed
            if start > offset:
                break
            length = len(by(found))
            if start + length > offset:
                return back(found.start())
            removed += found.end() - found.start() - length
        return back(offset + removed)

    return pattern.sub(by, data), lead_back


def _stay(offset: int) -> int:
    return offset


def _join(_: re.Match[bytes]) -> bytes:
    return b""


def _unescape(found: re.Match[bytes]) -> bytes:
    units, short, long, control, other, percent = found.groups()
    if units:
        return (
            bytes.fromhex(units.replace(b"\\u", b"").decode())
            .decode("utf-16-be", "replace")
            .encode()
        )
    if control:
        return b"\n"  # whichever it is: what follows it begins anew
    if other:
        return bytes(other)
    if percent:
        return bytes.fromhex(percent.decode())
    number = int(short or long, 16)
    return chr(number).encode("utf-8", "replace") if number < 0x110000 else b""


def _in_piece(pieces: list[re.Match[bytes]], offset: int) -> int:
    for piece in pieces:
        if offset < len(piece[1]):
            return piece.start(1) + offset
        offset -= len(piece[1])
    return pieces[-1].end(1)
