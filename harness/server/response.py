"""What is sent for one request: status, headers, reads and end, made from a recorded exchange or by
the server itself.

Headers go out as recorded, less those that belong to one connection (RFC 9110, section 7.6.1:
https://www.rfc-editor.org/rfc/rfc9110.html#section-7.6.1) and those that the recorded bytes
contradict.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import accumulate
from typing import Any, Final, Literal

from harness.pipeline.replay import cut_reads
from harness.stream.events import INTERRUPTED, End
from harness.stream.exchange import Exchange

from .options import Fault, Manner

Ending = End | Literal["stall"]
"""How an exchange ended, or ``stall``: nothing more comes and the connection stays open."""

Reads = Sequence[tuple[float | None, bytes]]

MADE: Final = "X-Harness"
"""The header that marks an answer which no cassette holds."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """``reads``: milliseconds since the request (None: no time of its own) and the bytes."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    reads: Reads
    end: Ending = "complete"


def recorded_answer(exchange: Exchange, manner: Manner) -> Answer:
    """The answer of a recorded exchange, with the cuts and the fault of this server."""
    reads: Reads = [
        (at, data)
        for at, data in _timed(cut_reads(exchange.reads, manner.cuts), exchange.reads)
        if data
    ]
    reads, end = faulty(reads, exchange.end, manner)
    if exchange.status in (204, 304):
        reads = []
    return Answer(
        exchange.status,
        exchange.reason_phrase,
        _headers(exchange, sum(len(data) for _, data in reads), end),
        reads,
        end,
    )


def _timed(pieces: Reads, recorded: Reads) -> Iterator[tuple[float | None, bytes]]:
    """The pieces of an answer, each at the time of the recorded read that brought its last byte:
    nobody could have sent it sooner.
    """
    ends, sent = list(accumulate(len(data) for _, data in recorded)), 0
    for _, data in pieces:
        sent += len(data)
        yield recorded[bisect_left(ends, sent)][0] if data else None, data


def faulty(reads: Reads, end: Ending, manner: Manner) -> tuple[Reads, Ending]:
    """What a fault leaves of an answer."""
    match manner.fault:
        case Fault(("cut" | "reset" | "stall") as kind, number):
            return reads[:number], kind
    return reads, end


def _headers(exchange: Exchange, size: int, end: Ending) -> list[tuple[str, str]]:
    """The recorded headers that are true of what is sent: ``size`` bytes, which end so."""
    own = {name.strip().lower() for name in (exchange.header("connection") or "").split(",")}
    dropped = HOP_BY_HOP | own
    if not _says_length(exchange.header("content-length"), size, end):
        dropped |= {"content-length"}
    encoding = (exchange.header("content-encoding") or "").strip().lower()
    first = next((data[0] for _, data in exchange.reads if data), None)
    if encoding in ("gzip", "x-gzip", "deflate") and first not in (0x1F, 0x78):
        dropped |= {"content-encoding"}  # some recorders keep the header and store the body decoded
    return [
        (name, value.strip())
        for name, values in exchange.headers.items()
        if name.lower() not in dropped
        for value in values
    ]


def _says_length(value: str | None, size: int, end: Ending) -> bool:
    """Whether a Content-Length is right: the size of a whole answer, more than what an interrupted
    one sends.
    """
    if value is None or not value.strip().isdecimal():
        return False
    return int(value) > size if end == "stall" or end in INTERRUPTED else int(value) == size


def made_answer(
    status: int,
    content: Any,
    *,
    headers: Sequence[tuple[str, str]] = (),
    note: str = "not recorded",
) -> Answer:
    """An answer of the server's own, printed as Google prints JSON; ``note`` says in its `MADE`
    header where it is from.
    """
    body = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )
    fixed = [
        ("Content-Type", "application/json; charset=UTF-8"),
        ("Content-Length", str(len(body))),
        (MADE, note),
    ]
    return Answer(status, phrase_of(status), [*fixed, *headers], [(None, body)])


def phrase_of(status: int) -> str:
    """The standard reason phrase, or nothing."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
