"""Builds the answer to one request: status, headers, reads and end, with or without a recorded
exchange.

Headers are sent as recorded, except those of one connection (RFC 9110, section 7.6.1:
https://www.rfc-editor.org/rfc/rfc9110.html#section-7.6.1) and those that contradict the body.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from harness.cassettes.redaction.names import URL_HEADERS
from harness.pipeline.replay import cut_reads
from harness.stream.events import INTERRUPTED, End
from harness.stream.exchange import Exchange

from .options import Options, ServedFault

ServedEnd = End | Literal["stall"]
"""The end of an exchange. ``stall``: the server sends nothing more, and the connection stays open.
"""

Reads = Sequence[tuple[float | None, bytes]]

MADE: Final = "X-Harness"
"""The header that marks an answer that is not a recorded one."""

HOP_BY_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)

CROSS_ORIGIN: Final = "access-control-"
"""The prefix of the headers that let a web page read an answer. They are never sent."""


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """The answer of the server to one request."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    reads: Reads
    """Pairs of milliseconds since the request (None: the time of the previous read) and bytes."""
    end: ServedEnd = "complete"
    exchange: Exchange | None = None
    """The recorded exchange that this answer is from."""
    notes: tuple[str, ...] = ()
    """How the request differs from the recorded one, or why it is refused; they are not sent."""
    left: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)
    """Set when the client disconnects before the answer has ended."""


def recorded_answer(exchange: Exchange, options: Options) -> ServedAnswer:
    """Return the answer of a recorded exchange, with the cuts and the fault of the options."""
    reads: Reads = [
        (at, data)
        for at, data in _timed(cut_reads(exchange.reads, options.cuts), exchange.reads)
        if data
    ]
    reads, end = faulty(reads, exchange.end, options)
    # RFC 9110, section 6.4.1: "All 1xx (Informational), 204 (No Content), and 304 (Not Modified)
    # responses do not include content."
    if exchange.status in (204, 304):
        reads = []
    return ServedAnswer(
        exchange.status,
        exchange.reason_phrase,
        _headers(exchange, sum(len(data) for _, data in reads), end),
        reads,
        end,
        exchange,
    )


def _timed(pieces: Reads, recorded: Reads) -> Iterator[tuple[float | None, bytes]]:
    """Give each piece the time of the recorded read that contains its last byte."""
    ends, sent = list(accumulate(len(data) for _, data in recorded)), 0
    for _, data in pieces:
        sent += len(data)
        yield recorded[bisect_left(ends, sent)][0] if data else None, data


def faulty(reads: Reads, end: ServedEnd, options: Options) -> tuple[Reads, ServedEnd]:
    """Return the reads and the end of an answer after the fault of the options is applied to it."""
    match options.fault:
        case ServedFault(("cut" | "reset" | "stall") as kind, number):
            return reads[:number], kind
    return reads, end


def _headers(exchange: Exchange, size: int, end: ServedEnd) -> list[tuple[str, str]]:
    """Return the recorded headers, without those that contradict ``size`` bytes with this end."""
    # RFC 9110, section 7.6.1: a header that `Connection` names is for this connection only.
    own = {name.strip().lower() for name in (exchange.header("connection") or "").split(",")}
    dropped = HOP_BY_HOP | own
    if not _is_length(exchange.header("content-length"), size, end):
        dropped |= {"content-length"}
    encoding = (exchange.header("content-encoding") or "").strip().lower()
    first = next((data[0] for _, data in exchange.reads if data), None)
    if encoding in ("gzip", "x-gzip", "deflate") and first not in (0x1F, 0x78):
        dropped |= {
            "content-encoding"
        }  # some recorders keep the header and store the decompressed body
    return [
        (name, value.strip())
        for name, values in exchange.headers.items()
        if name.lower() not in dropped and not name.lower().startswith(CROSS_ORIGIN)
        for value in values
    ]


def moved(
    headers: Iterable[tuple[str, str]], base_url: str, origin: str | None = None
) -> list[tuple[str, str]]:
    """Return the headers; the URLs that the client requests next are moved to ``base_url``, so a
    redirected client stays at this server. These are the URLs of ``origin`` (``https://host``), or
    all absolute URLs if it is None. A URL without a scheme gets that of ``origin``.
    """
    return [
        (name, _moved(value, base_url, origin) if name.lower() in URL_HEADERS else value)
        for name, value in headers
    ]


def _moved(url: str, base_url: str, origin: str | None) -> str:
    if url.startswith("//"):
        url = urlsplit(origin or base_url).scheme + ":" + url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    here = f"{parts.scheme}://{parts.netloc}"
    if not parts.netloc or origin not in (None, here):
        return url
    return base_url + url[len(here) :] if url.startswith(here) else url


def _is_length(value: str | None, size: int, end: ServedEnd) -> bool:
    """Return whether a Content-Length is right: equal to the size of a complete answer, or larger
    than that of an interrupted one.
    """
    if value is None or not value.strip().isdecimal():
        return False
    return int(value) > size if end == "stall" or end in INTERRUPTED else int(value) == size


def made_answer(
    status: int,
    content: Any,
    *,
    note: str = "not recorded",
    indent: int | None = 2,
) -> ServedAnswer:
    """Return an answer that the server builds: ``content`` as JSON in Google's layout; without
    ``indent``, in the layout of the other wires. ``note`` is the value of its `MADE` header.
    """
    separators = None if indent else (",", ":")
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=False)
    body = (text + "\n" * bool(indent)).encode("utf-8", "backslashreplace")
    headers = [
        ("Content-Type", "application/json; charset=UTF-8"),
        ("Content-Length", str(len(body))),
        (MADE, note),
    ]
    return ServedAnswer(status, phrase_of(status), headers, [(None, body)])


def phrase_of(status: int) -> str:
    """Return the standard reason phrase; empty for an unknown status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
