"""Decodes a file's bytes in the ways that can reveal a secret; each result is a `Reading`.

The first reading is the bytes themselves. For the others the bytes are taken line by line, with the
lines joined (YAML and base64 are wrapped), and as the joined texts of a stream. Each of these three
is read without the escapes of URLs, JSON and YAML, and then with its base64 decoded.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

_LINE_START: Final = re.compile(rb"(?<=\n)")
_LINE_BREAK: Final = re.compile(rb"\\?\r?\n[ \t]*+(?:#[ \t]*+)?")
_TEXT: Final = re.compile(
    rb'"(?:text|stringValue|string_value|delta)"\s*+:\s*+"((?:[^"\\]++|\\.)*+)"', re.DOTALL
)
_PERCENT: Final = re.compile(rb"%(?:25)*([0-9a-fA-F]{2})")
_BACKSLASH: Final = re.compile(
    rb"((?:\\++u[0-9a-fA-F]{4})++)|"
    rb"\\++(?:x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|([0abefnrtvNLP_])|(.)?)",
    re.DOTALL,
)
_BASE64: Final = re.compile(rb"[0-9A-Za-z+/]{11,}")  # 11 characters hold 8 bytes
_MAX_WORD: Final = 40
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


class Reading:
    """One reading: the joined ``pieces``, each with the offset where it comes from, in the file or
    in the ``source`` that was decoded.
    """

    def __init__(self, pieces: Iterable[tuple[int, bytes]], source: Reading | None = None) -> None:
        self._pieces: Final = list(pieces)
        self._source: Final = source
        self.text: Final = b"".join(piece for _, piece in self._pieces)

    def place(self, offset: int) -> int:
        """The offset in the file of the byte at ``offset`` here: exact in the file itself, in
        the right line or text without escapes, the beginning of the run in base64.
        """
        for start, piece in self._pieces:
            if offset < len(piece):
                return self._source.place(start) if self._source else start + offset
            offset -= len(piece)
        raise IndexError(offset)


def readings(data: bytes) -> Iterator[Reading]:
    """All readings of ``data``, itself first; a reading that equals another is left out."""
    yield Reading([(0, data)])
    escaped = b"%" in data or b"\\" in data
    texts = (match.span(1) for match in _TEXT.finditer(data))
    seen = {b""}
    for spans in (_between(_LINE_START, data), _between(_LINE_BREAK, data), texts):
        pieces = [(start, data[start:stop]) for start, stop in spans]
        if escaped:
            pieces = [(start, unescape(piece)) for start, piece in pieces]
        plain = Reading(pieces)
        if (text := plain.text.strip()) in seen:
            continue
        seen.add(text)
        if plain.text != data:
            yield plain
        yield Reading(_decoded_runs(plain.text), plain)


def unescape(text: bytes) -> bytes:
    """``text`` without escapes, however often it was escaped: a run of backslashes counts as one,
    and ``%2525`` as ``%25``.
    """
    if b"%" in text:
        text = _PERCENT.sub(lambda match: bytes.fromhex(match[1].decode()), text)
    return _BACKSLASH.sub(_character, text) if b"\\" in text else text


def _character(match: re.Match[bytes]) -> bytes:
    units, short, long, control, other = match.groups()
    if units:
        code_units = bytes.fromhex(re.sub(rb"\\+u", b"", units).decode())
        return code_units.decode("utf-16-be", "replace").encode()
    if short or long:
        number = int(short or long, 16)
        return chr(number).encode("utf-8", "replace") if number < 0x110000 else b""
    return b"\n" if control else other or b""  # any control character ends a word


def _between(separator: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    for match in separator.finditer(data):
        yield start, match.start()
        start = match.end()
    yield start, len(data)


def _decoded_runs(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The offset and the decoded bytes of each run of base64."""
    for match in _BASE64.finditer(text.translate(_STANDARD)):
        run = match[0]
        yield match.start(), _decode_word(run) if len(run) < _MAX_WORD else _decode(run)


def _decode(run: bytes) -> bytes:
    """The bytes of a run, decoded from each of its first four characters: text before the base64
    may look like base64, so its first group may begin at any of them.
    """
    padded = run + b"AAA"  # so that the last group is whole
    size = len(padded)
    groups = (padded[first : size - (size - first) % 4] for first in range(4))
    return b"".join(unescape(a2b_base64(digits)) + b"\n" for digits in groups)


_decode_word = lru_cache(4096)(_decode)  # most runs are words that a text repeats
