"""Decompresses gzip and deflate incrementally, and stops at decompression bombs.

zlib copies the input that it has not used yet. Without small pieces of input, the cost of a body
with very many members, or of one that expands very much, would grow with the square of its length.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final

CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
MAX_UNPACKED: Final = 256 * 1024 * 1024
"""The limit for one body, in bytes; the same as for a whole recording."""

UNSUSPICIOUS: Final = 16 * 1024 * 1024
"""Up to this size any ratio is allowed: zlib itself reaches 1 : 1000."""

MAX_RATIO: Final = 200
"""The limit of the ratio for larger bodies; answers of models, although repetitive, stay far below.
"""

FIRST_BYTES: Final = b"\x1f\x78"
"""The first bytes of gzip and of zlib data."""

_INPUT: Final = 16 * 1024
_OUTPUT: Final = 1024 * 1024
_WBITS: Final = 47  # zlib detects gzip or zlib from the first bytes


class Unpacker:
    """Decodes one content encoding. Uncompressed bytes pass unchanged, because some recorders
    decompress them and keep the header.
    """

    def __init__(self, coding: str | None) -> None:
        self.sent = 0
        self.size = 0
        self._waiting = (coding or "").strip().lower() in CODINGS
        self._stream: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decompressed bytes, in pieces; raises zlib.error for broken data and for data that
        expands to too much.
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
        """Raise zlib.error if the compressed data stopped before its end."""
        if self._stream is not None and not self._stream.eof:
            raise zlib.error("the compressed body stops before its end")


def unpack(body: bytes, coding: str | None) -> bytes:
    """A whole body, decompressed as far as it goes if it is cut; raises zlib.error as
    `Unpacker.feed` does.
    """
    return b"".join(Unpacker(coding).feed(body))
