"""Mutations below the messages: where reads and lines end, what stands between events, what comes
instead of an answer or behind it.
"""

from __future__ import annotations

import json
import random  # noqa: TID251  # seeded by the body in one place, `anywhere`
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Final

from harness.stream.exchange import Exchange

from .messages import as_stream, messages_of, parts, with_body

ANYWHERE: Final = 20
ERROR: Final = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}


def cut_at(places: Callable[[bytes], list[int]]) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        body = exchange.body
        cuts = [0, *sorted({at for at in places(body) if 0 < at < len(body)}), len(body)]
        return (
            with_body(exchange, *(body[start:stop] for start, stop in pairwise(cuts)))
            if len(cuts) > 2
            else None
        )

    return change


def inside_characters(body: bytes) -> list[int]:
    return [at for at in range(1, len(body)) if body[at] & 0xC0 == 0x80]


def line_ends(end: bytes) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        return as_stream(exchange, messages, end.decode()) if messages else None

    return change


def around(before: bytes, between: bytes) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        if messages is None:
            return None
        return with_body(
            exchange,
            b"".join(before + as_stream(exchange, [one], "\n").body + between for one in messages),
        )

    return change


def uncut(exchange: Exchange) -> Exchange | None:
    """All of it in one read."""
    return with_body(exchange, exchange.body) if len(exchange.reads) > 1 else None


def anywhere(body: bytes) -> list[int]:
    """Places that look random, and are the same every time."""
    chance = random.Random(zlib.crc32(body))  # noqa: S311  # no secret, the same on every machine
    return [chance.randrange(1, len(body)) for _ in range(ANYWHERE)] if len(body) > 1 else []


def truncated(place: Callable[[bytes], int | None]) -> Callable[[Exchange], Exchange | None]:
    """The connection breaks after so many bytes; None: not in this body."""

    def change(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        said = "".join(str(listed[at].get("text") or "") for listed, at in parts(messages or []))
        if messages is None or "<tool_code>" in said:  # a block that is not whole is text
            return None
        at = place(exchange.body)
        return (
            replace(with_body(exchange, exchange.body[:at]), end="cut") if at is not None else None
        )

    return change


def behind_an_event(body: bytes) -> int | None:
    """Where the first event is whole and another follows."""
    found = re.search(rb"\r\n\r\n|\n\n|\r\r", body)
    return found.end() if found and found.end() < len(body) else None


def inside_a_character(body: bytes) -> int | None:
    return next(iter(inside_characters(body)), None)


def followed_by(text: bytes) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        return with_body(exchange, as_stream(exchange, messages).body + text) if messages else None

    return change


def refused(exchange: Exchange) -> Exchange | None:
    return (
        replace(with_body(exchange, json.dumps([ERROR]).encode()), status=503)
        if messages_of(exchange)
        else None
    )
