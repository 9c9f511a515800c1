"""Finds what looks like a credential of Google's, also in base64, whoever it belongs to.

Each shape has a mark, a few bytes that it begins with; marks are searched for in C, and only at a
mark a pattern is tried. A mark inside base64 looks one of three ways, by where it falls between its
neighbours; there the text is decoded and the same pattern is tried. The patterns are strict about
length and alphabet: a thought signature is a long base64 text, and must not be taken for a key.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final, NamedTuple


class Shape(NamedTuple):
    """``what``: as it is told. ``pattern`` is tried where ``mark`` stands, and looks back at most
    one byte.
    """

    what: str
    mark: bytes
    pattern: re.Pattern[bytes]


SHAPES: Final = (
    Shape(
        "a Google API key",
        b"AIza",
        re.compile(
            rb"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])|(?<![0-9A-Za-z+/_-])AIza[0-9A-Za-z_-]{30}"
        ),
    ),
    Shape(
        "a Google API key of the new form",
        b"AQ.",
        re.compile(rb"(?<![0-9A-Za-z_.-])AQ\.[0-9A-Za-z_-]{20}"),
    ),
    Shape(
        "an OAuth access token",
        b"ya29.",
        re.compile(rb"(?<![0-9A-Za-z_.-])ya29\.[0-9A-Za-z_-]{20}"),
    ),
    Shape(
        "an OAuth refresh token", b"1//0", re.compile(rb"(?<![0-9A-Za-z+_-])1//0[0-9A-Za-z_-]{40}")
    ),
    Shape(
        "an OAuth client secret",
        b"GOCSPX-",
        re.compile(rb"(?<![0-9A-Za-z_-])GOCSPX-[0-9A-Za-z_-]{20}"),
    ),
    Shape(
        "a private key",
        b"-----BEGIN",
        re.compile(
            rb"-----BEGIN[ +](?:[A-Z]{2,12}[ +])?PRIVATE["
            rb" +]KEY-----(?:\s|\\n|\\r){0,20}[0-9A-Za-z+/]{20}"
        ),
    ),
)

_RUN: Final = re.compile(rb"[0-9A-Za-z+/_-]{8,160}")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_FIRST: Final = (0, 2, 3)


def _marks() -> Iterator[tuple[bytes, int, Shape]]:
    """What stands in base64 for a mark after 0, 1 or 2 bytes of a group of three, less what its
    neighbours have a part in.

    None of these holds a character that the two alphabets write differently.
    """
    for shape in SHAPES:
        for offset, first in enumerate(_FIRST):
            mark = b64encode(bytes(offset) + shape.mark)[
                first : (offset + len(shape.mark)) * 8 // 6
            ]
            yield mark, offset, shape


_ENCODED: Final = tuple(_marks())


def search_shapes(data: bytes) -> Iterator[tuple[int, str]]:
    """Where which shape stands: the offset and what it is; of each the first place."""
    for shape in SHAPES:
        offset = next(
            (place for place in _places(data, shape.mark) if shape.pattern.match(data, place)), None
        )
        if offset is not None:
            yield offset, shape.what
    for mark, offset, shape in _ENCODED:
        found = next(
            (place for place in _places(data, mark) if _decoded_match(data, place, offset, shape)),
            None,
        )
        if found is not None:
            yield found, f"{shape.what} in base64"


def _places(data: bytes, mark: bytes) -> Iterator[int]:
    place = data.find(mark)
    while place >= 0:
        yield place
        place = data.find(mark, place + 1)


def _decoded_match(data: bytes, place: int, offset: int, shape: Shape) -> bool:
    """Whether the base64 around a mark decodes to the shape; the group before it is decoded as
    well, to look back.
    """
    start = place - _FIRST[offset]
    before = 4 if start >= 4 and _RUN.fullmatch(data, start - 4, start + 4) else 0
    run = _RUN.match(data, start - before) if start >= 0 else None
    if run is None:
        return False
    text = run[0][: len(run[0]) // 4 * 4].translate(_STANDARD)
    try:
        return shape.pattern.match(binascii.a2b_base64(text), before // 4 * 3 + offset) is not None
    except binascii.Error:
        return False
