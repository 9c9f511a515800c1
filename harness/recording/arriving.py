"""What of an answer's body may be written while the rest of it still comes.

A value is taken out by its place, and a read may end anywhere: inside the value, or between it and
its name. So reads among which something may be taken out wait until their line is whole, or the
answer is over; all others are given on at once. A packed body is looked at unpacked, as far as it
has come; nothing can be taken out of it, so that it is refused where something should be.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from harness.cassettes import CassetteError
from harness.cassettes.redaction.redactor import Redactor
from harness.stream.decompression import CODINGS, Unpacker

_LINE_END: Final = re.compile(rb"(?<=[,{}\[\]\n])[ \t]*\r?\n")
"""Where no value of JSON and no frame goes on; the end of a line after a colon or a text is none,
for its value may follow.
"""
_OVERLAP: Final = 256
"""So many bytes before a read are looked at with it: a name may come in two reads."""


class Written(NamedTuple):
    """A read that may be written: ``data`` as it is kept, and the ``plain`` bytes that whoever
    reads it sees.
    """

    at: float
    data: bytes
    plain: bytes


class Arriving:
    """The body of one answer; ``coding`` is its Content-Encoding. Raises `CassetteError` where it
    may not be written.
    """

    def __init__(self, redactor: Redactor, coding: str | None) -> None:
        self._redactor = redactor
        self._coding = (coding or "identity").strip().lower()
        self._unpacker: Unpacker | None = None
        self._begun = False
        self._first = True  # nothing is written yet
        self._line = bytearray()  # what is written of the line that the next read goes on with
        self._tail = b""  # how that line, and what waits of it, ends
        self._waiting: list[Written] = []
        self._waits = False

    def feed(self, at: float, data: bytes) -> list[Written]:
        """A read came; the reads that may be written now."""
        plain = self._plain(data)
        seen = self._tail + plain
        self._waits |= self._redactor.may_touch(seen, first=self._first)
        self._waiting.append(Written(at, data, plain))
        self._tail = seen[-_OVERLAP:]
        if not self._waits:
            return self._pass()
        if _LINE_END.search(seen):
            text = b"".join([self._line, *(one.plain for one in self._waiting)])
            return self._settle(text, _last_end(text))
        return []

    def close(self) -> list[Written]:
        """Nothing more comes; the reads that have waited."""
        text = b"".join([self._line, *(one.plain for one in self._waiting)])
        return self._settle(text, len(text)) if self._waiting else []

    def _plain(self, data: bytes) -> bytes:
        if not self._begun:
            self._begun = True
            if self._coding == "identity" and data[:1] == b"\x1f":
                self._coding = "gzip"
            if self._coding in CODINGS:
                self._unpacker = Unpacker(self._coding)
        if self._unpacker is not None:
            try:
                return b"".join(self._unpacker.feed(data))
            except zlib.error as error:
                raise CassetteError(f"a body that can't be unpacked: {error}") from None
        if self._coding != "identity" and not data.isascii():
            raise CassetteError(f"a body that is packed as {self._coding} can't be looked into")
        return data

    def _pass(self) -> list[Written]:
        passed, self._waiting, self._first = self._waiting, [], False
        known = max(
            0, len(self._line) - _OVERLAP
        )  # a line may be as long as the answer: each byte of it is looked at once
        self._line += b"".join(one.plain for one in passed)
        del self._line[: _last_end(self._line, known)]
        self._tail = bytes(self._line[-_OVERLAP:])
        return passed

    def _settle(self, text: bytes, done: int) -> list[Written]:
        """Of all that waits, the reads that end at ``done`` or before, redacted with the line that
        they stand in.
        """
        parts = [bytes(self._line), *(one.plain for one in self._waiting)]
        ends = list(accumulate(map(len, parts)))[1:]
        count = sum(end <= done for end in ends)
        if not count:
            return []
        kept = dict(
            self._redactor.reads(tuple((float(number), part) for number, part in enumerate(parts)))
        )
        settled = list(self._redacted(self._waiting[:count], kept))
        start = _last_end(text[: ends[count - 1]])
        self._line = bytearray(text[start : ends[count - 1]])
        self._waiting, self._first = self._waiting[count:], False
        self._waits = bool(self._waiting) or self._redactor.may_touch(bytes(self._line))
        self._tail = b"".join([self._line[-_OVERLAP:], *(one.plain for one in self._waiting)])[
            -_OVERLAP:
        ]
        return settled

    @staticmethod
    def _redacted(reads: list[Written], kept: dict[float | None, bytes]) -> Iterator[Written]:
        for number, one in enumerate(reads, 1):
            data = kept.get(number, b"")
            if one.data == one.plain:
                if data:
                    yield Written(one.at, data, data)
            elif data == one.plain:
                yield one
            else:
                raise CassetteError("a packed body shows a value that must be redacted")


def _last_end(text: bytes | bytearray, start: int = 0) -> int:
    """Behind the last line that is whole and ends behind ``start``; 0 if there is none."""
    return max((found.end() for found in _LINE_END.finditer(text, start)), default=0)
