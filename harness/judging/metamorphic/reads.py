"""Variants of an exchange: with other cuts, cut short, in one read, without content encoding."""

from __future__ import annotations

import random  # noqa: TID251  # `seeded` seeds it with the body
import zlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from harness.stream.decompression import unpack
from harness.stream.exchange import Exchange

CutPlaces = tuple[int, ...]
"""The offsets in a body where one network read ends and the next begins."""


def with_reads(exchange: Exchange, *reads: bytes) -> Exchange:
    """Return the exchange with another body, cut into these reads. Their times are unknown."""
    return replace(exchange, reads=tuple((None, data) for data in reads if data))


def with_cuts(exchange: Exchange, cuts: Sequence[int]) -> Exchange:
    """Return the exchange with its body cut at these places."""
    body, places = exchange.body, [0, *cuts, len(exchange.body)]
    return with_reads(exchange, *(body[start:end] for start, end in pairwise(places)))


def cuts_of(exchange: Exchange) -> CutPlaces:
    """Return the places where the recorded reads cut the body."""
    return tuple(accumulate(len(data) for _, data in exchange.reads))[:-1]


def shortened(exchange: Exchange, size: int) -> Exchange:
    """Return the exchange as if the connection had been cut after ``size`` bytes."""
    return replace(with_reads(exchange, exchange.body[:size]), end="cut")


def plain(exchange: Exchange) -> Exchange:
    """Return the exchange with its body in one read and without content encoding."""
    try:
        body = unpack(exchange.body, exchange.header("content-encoding"))
    except zlib.error:  # every replay also fails here, and its output contains the error
        return with_reads(exchange, exchange.body)
    headers = {
        name: values
        for name, values in exchange.headers.items()
        if name.lower() != "content-encoding"
    }
    return replace(with_reads(exchange, body), headers=headers)


def seeded(body: bytes, name: str = "") -> random.Random:
    """Return a random generator that depends only on the body and ``name``."""
    seed = zlib.crc32(body, zlib.crc32(name.encode()))
    return random.Random(seed)  # noqa: S311  # it chooses tests and protects no secret
