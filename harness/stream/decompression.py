"""Undoes gzip and deflate as bytes come, in small pieces, and stops where a body can only be a
bomb.

Input goes to zlib a little at a time: what zlib has not used yet it copies, so that a body of very
many members, or one that unpacks to very much, would otherwise cost the square of its length.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final

CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
MAX_UNPACKED: Final = 256 * 1024 * 1024
"""Bytes of one body, the same as of a whole recording."""

UNSUSPICIOUS: Final = 16 * 1024 * 1024
"""Up to here a body may be packed as tightly as it likes: zlib itself reaches 1 : 1000."""

MAX_RATIO: Final = 200
"""Beyond that, so many bytes for each one that was sent; answers of models, repetitive as their
frames are, stay far below.
"""

FIRST_BYTES: Final = b"\x1f\x78"
"""What gzip and zlib begin with."""

_INPUT: Final = 16 * 1024
_OUTPUT: Final = 1024 * 1024
_WBITS: Final = 47  # gzip or zlib, told by the first bytes


class Unpacker:
    """Undoes one content coding; bytes that are not packed pass as they are (some recorders unpack
    them and keep the header).
    """

    def __init__(self, coding: str | None) -> None:
        self.sent = 0
        self.size = 0
        self._waiting = (coding or "").strip().lower() in CODINGS
        self._stream: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The plain bytes, in pieces; raises zlib.error for data that is broken, or that unpacks to
        too much.
        """
        if self._waiting and data:
            self._waiting = False
            if data[0] in FIRST_BYTES:
                self._stream = zlib.decompressobj(wbits=_WBITS)
        if self._stream is None:
            yield data
            return
        for start in range(0, len(data), _INPUT):
            rest = data[start : start + _INPUT]
            self.sent += len(rest)
            yield from self._unpack(rest)

    def _unpack(self, rest: bytes) -> Iterator[bytes]:
        more = True
        while more:
            if self._stream.eof:  # gzip may be several members in a row
                self._stream = zlib.decompressobj(wbits=_WBITS)
            piece = self._stream.decompress(rest, _OUTPUT)
            self.size += len(piece)
            limit = min(MAX_UNPACKED, max(UNSUSPICIOUS, MAX_RATIO * self.sent))
            if self.size > limit:
                raise zlib.error(f"the body is longer than {limit} bytes when unpacked")
            if piece:
                yield piece
            rest = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            more = bool(rest) or (len(piece) == _OUTPUT and not self._stream.eof)

    def close(self) -> None:
        """Raises zlib.error if the packed data stopped before its end."""
        if self._stream is not None and not self._stream.eof:
            raise zlib.error("the compressed body stops before its end")


def unpack(body: bytes, coding: str | None) -> bytes:
    """A whole body without its coding, as far as it goes if it is cut; raises zlib.error as
    `Unpacker.feed` does.
    """
    return b"".join(Unpacker(coding).feed(body))
