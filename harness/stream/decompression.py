"""Decompresses gzip, deflate, brotli and zstd incrementally, and stops at decompression bombs.

brotli and zstd need a library (extra ``codings``). A body with a coding that can't be decoded is an
error everywhere.

zlib copies the input that it has not used yet. Without small pieces of input, the cost of a body
with very many members, or of a body that expands very much, would grow with the square of its
length.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
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

LIBRARIES: Final = {"br": "brotli", "zstd": "zstandard"}
"""Codings that need a library → its module."""

_TEXT: Final = b"de:i\r\n <r\xef"
"""First bytes of bodies that a recorder has decoded: SSE, blanks, HTML, a byte order mark."""
_JSON: Final = {0x7B: b'"}\r\n\t {', 0x5B: b'{[]"\r\n\t '}
"""First bytes of JSON → the second bytes. brotli's first byte may be the same."""

_INPUT: Final = 16 * 1024
_OUTPUT: Final = 1024 * 1024
_WBITS: Final = 47  # zlib detects gzip or zlib from the first bytes


class _TooLong(zlib.error):
    """The data expands beyond a limit."""


class Unpacker:
    """Decodes one content encoding. Uncompressed bytes pass unchanged, because some recorders
    decompress them and keep the header.
    """

    def __init__(self, coding: str | None) -> None:
        self.sent = 0
        self.size = 0
        self._limit = UNSUSPICIOUS
        self._coding = (coding or "").strip().lower()
        self._waiting = self._coding not in ("", "identity")
        self._begun = b""
        self._stream: Any = None
        self._foreign: Callable[[bytes], bytes] | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes, in pieces; raises zlib.error for broken data and for data
        that expands beyond a limit.
        """
        if self._waiting and data:
            if self._coding not in CODINGS:
                data = self._begun + data
                if len(data) == 1 and data[0] in _JSON:
                    self._begun = data
                    return
            self._waiting = False
            if self._coding not in CODINGS:
                self._foreign = None if is_text(data) else _decoder(self._coding)
            elif data[0] in FIRST_BYTES:
                self._stream = zlib.decompressobj(wbits=_WBITS)
        if self._foreign is not None:
            yield from self._decode(data)
            return
        if self._stream is None:
            yield data
            return
        start = 0
        while rest := data[start : start + _INPUT - self.sent % _INPUT]:
            # The limit depends on the place in the body alone, not on the cuts between reads.
            self._limit = min(
                MAX_UNPACKED, max(UNSUSPICIOUS, MAX_RATIO * (self.sent - self.sent % _INPUT))
            )
            start += len(rest)
            self.sent += len(rest)
            before, size = self._stream.copy(), self.size
            try:
                yield from self._unpack(rest)
            except _TooLong:
                raise
            except zlib.error:
                given, self._stream, self.size = self.size - size, before, size
                yield from self._unpack_bytewise(rest, given)

    def _decode(self, data: bytes) -> Iterator[bytes]:
        """Decode byte by byte: then the output before a fault or a limit does not depend on the
        cuts between reads, and a few bytes can't expand to gigabytes at once.
        """
        assert self._foreign is not None, "the caller has a decoder"
        pieces: list[bytes] = []
        for place in range(len(data)):
            self.sent += 1
            limit = min(MAX_UNPACKED, max(UNSUSPICIOUS, MAX_RATIO * self.sent))
            try:
                piece = self._foreign(data[place : place + 1])
            except Exception as error:  # noqa: BLE001  # each library has its own class
                yield b"".join(pieces)
                raise zlib.error(f"damaged {self._coding} data: {error}") from None
            self.size += len(piece)
            if self.size > limit:
                yield b"".join(pieces)
                raise _TooLong(f"the body is longer than {limit} bytes when unpacked")
            pieces.append(piece)
        yield b"".join(pieces)

    def _unpack_bytewise(self, rest: bytes, given: int) -> Iterator[bytes]:
        """Unpack damaged data again, byte by byte, without the first ``given`` bytes of output.

        zlib does not return the output of the call that reaches the fault, and the size of that
        call depends on the cuts between reads. The output of single bytes does not depend on them.
        """
        for place in range(len(rest)):
            for piece in self._unpack(rest[place : place + 1]):
                if len(piece) > given:
                    yield piece[given:]
                given = max(0, given - len(piece))

    def _unpack(self, rest: bytes) -> Iterator[bytes]:
        more = True
        while more:
            if self._stream.eof:  # a gzip body may have several members
                self._stream = zlib.decompressobj(wbits=_WBITS)
            piece = self._stream.decompress(rest, _OUTPUT)
            self.size += len(piece)
            allowed = len(piece) - max(0, self.size - self._limit)
            if allowed > 0:
                yield piece[:allowed]
            if allowed < len(piece):
                raise _TooLong(f"the body is longer than {self._limit} bytes when unpacked")
            rest = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            more = bool(rest) or (len(piece) == _OUTPUT and not self._stream.eof)

    def close(self) -> None:
        """Raise zlib.error if the compressed data stopped before its end."""
        if self._stream is not None and not self._stream.eof:
            raise zlib.error("the compressed body stops before its end")


def is_text(data: bytes) -> bool:
    """Return whether a body begins like text. Some recorders decode a body and keep its header."""
    return data[:1] in _TEXT or (len(data) > 1 and data[1:2] in _JSON.get(data[0], b""))


def unread_coding(body: bytes, coding: str | None) -> str:
    """Return why a body can't be read because of its coding, or ""."""
    coding = (coding or "").strip().lower()
    if coding in ("", "identity", *CODINGS) or not body or is_text(body):
        return ""
    try:
        _decoder(coding)
    except zlib.error as error:
        return str(error)
    return ""


def _decoder(coding: str) -> Callable[[bytes], bytes]:
    """Return a function that decodes a body piece by piece; raises zlib.error without a library."""
    library = _library(LIBRARIES.get(coding, ""))
    if library is None:
        way_out = "; pip install 'gemini-conformance[codings]'" if coding in LIBRARIES else ""
        raise zlib.error(f"not read: coding {coding}{way_out}")
    if coding == "br":
        decode: Callable[[bytes], bytes] = library.Decompressor().process
    else:
        decode = library.ZstdDecompressor(max_window_size=1 << 27).decompressobj().decompress
    return decode


@lru_cache
def _library(name: str) -> Any:
    """Return the module of a library; None if it is not installed."""
    try:
        return import_module(name) if name else None
    except ImportError:
        return None


def unpack(body: bytes, coding: str | None) -> bytes:
    """Return a whole body, decompressed; a cut body as far as possible. Raises zlib.error as
    `Unpacker.feed` does.
    """
    return b"".join(Unpacker(coding).feed(body))


def unpack_before_fault(body: bytes, coding: str | None) -> tuple[bytes, str]:
    """Return a whole body, decompressed as far as possible, and the fault that stopped it; the
    fault is empty for a complete body.
    """
    unpacker, pieces = Unpacker(coding), []
    try:
        for piece in unpacker.feed(body):
            pieces.append(piece)  # the output before a fault is kept
        unpacker.close()
    except zlib.error as error:
        return b"".join(pieces), str(error)
    return b"".join(pieces), ""
