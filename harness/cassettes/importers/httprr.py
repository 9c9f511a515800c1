"""Reads httprr logs of Go projects: for each exchange the lengths of request and response, then
both as HTTP messages.

https://pkg.go.dev/golang.org/x/oscar/internal/httprr
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from harness.stream.exchange import CassetteError, Exchange

from .build import build_exchange, build_request, read_with
from .content import Content, Format

_FIRST_LINE: Final = b"httprr trace v1"
_LENGTHS: Final = re.compile(rb"(\d{1,12}) (\d{1,12})\r?\n")
_REQUEST: Final = re.compile(r"(\S+) (\S+) HTTP/[\d.]+")
_STATUS: Final = re.compile(r"HTTP/[\d.]+ (\d{3})(?: (.*))?")
# RFC 9112, section 7.1: chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF.
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[^\r\n]*\r\n")


def _recognises(content: Content) -> bool:
    return content.data.startswith(_FIRST_LINE)


def _exchanges(content: Content) -> Iterator[Exchange]:
    data = content.data
    position = data.find(b"\n") + 1 or len(data)
    while position < len(data):
        lengths = _LENGTHS.match(data, position)
        if lengths is None:
            raise _broken(data, position, "expected two lengths")
        middle = lengths.end() + int(lengths[1])
        end = middle + int(lengths[2])
        if end > len(data):
            raise _broken(
                data, position, f"the exchange ends at byte {end}, the file at {len(data)}"
            )
        yield _exchange(data, lengths.end(), middle, end)
        position = end


def _exchange(data: bytes, start: int, middle: int, end: int) -> Exchange:
    first, headers, body = _message(data, start, middle)
    sent = _REQUEST.fullmatch(first)
    if sent is None:
        raise _broken(data, start, f"not a request line: {first[:60]!r}")
    request = build_request(sent[1], sent[2], headers, body)
    first, headers, body = _message(data, middle, end)
    status = _STATUS.fullmatch(first)
    if status is None:
        raise _broken(data, middle, f"not a status line: {first[:60]!r}")
    if any(
        name.lower() == "transfer-encoding" and "chunked" in value.lower()
        for name, value in headers
    ):
        body = _unwrapped(data, body, end)
    return build_exchange(
        request, int(status[1]), [list(pair) for pair in headers], body, reason=status[2] or ""
    )


def _message(data: bytes, start: int, end: int) -> tuple[str, list[list[str]], bytes]:
    """Return the first line, the headers (in order) and the body of an HTTP message."""
    head_end = data.find(b"\r\n\r\n", start, end)
    if head_end < 0:
        raise _broken(data, start, "the headers of this message have no end")
    first, *lines = data[start:head_end].decode("latin-1").split("\r\n")
    headers = [
        [name.strip(), value.strip()] for name, _, value in (line.partition(":") for line in lines)
    ]
    return first, headers, data[head_end + 4 : end]


def _unwrapped(data: bytes, body: bytes, end: int) -> bytes:
    """Remove the chunked transfer coding of HTTP/1.1 (RFC 9112 §7.1): hexadecimal lengths, each
    before its bytes; a length of zero is the end.
    """
    pieces: list[bytes] = []
    position = 0
    while (size := _SIZE.match(body, position)) and (length := int(size[1], 16)):
        pieces.append(body[size.end() : size.end() + length])
        position = size.end() + length + 2
    if size is None:
        raise _broken(
            data, end - len(body) + min(position, len(body)), "expected a length in hexadecimal"
        )
    return b"".join(pieces)


def _broken(data: bytes, position: int, reason: str) -> CassetteError:
    return CassetteError(
        f"httprr log: line {data.count(bytes([10]), 0, position) + 1} (byte {position}): {reason}"
    )


HTTPRR: Final = Format("httprr", "httprr log", _recognises, read_with(_exchanges, "httprr log"))
