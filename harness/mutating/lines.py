"""Mutations below the messages: where reads and lines end, what stands between events, what comes instead of an answer or behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Final

from ..exchanges import Exchange
from .messages import as_stream, messages_of, parts, with_body

ERROR: Final = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}


def cut_at(places: Callable[[bytes], list[int]]) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        body = exchange.body
        cuts = [0, *sorted({at for at in places(body) if 0 < at < len(body)}), len(body)]
        return with_body(exchange, *(body[start:stop] for start, stop in pairwise(cuts))) if len(cuts) > 2 else None

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
        return with_body(exchange, b"".join(before + as_stream(exchange, [one], "\n").body + between for one in messages))

    return change


def truncated(exchange: Exchange) -> Exchange | None:
    half = len(exchange.body) // 2
    messages = messages_of(exchange)
    said = "".join(str(listed[at].get("text") or "") for listed, at in parts(messages or []))
    if messages is None or "<tool_code>" in said:  # a block that is not whole is text
        return None
    return replace(with_body(exchange, exchange.body[:half]), end="cut")


def followed_by(text: bytes) -> Callable[[Exchange], Exchange | None]:
    def change(exchange: Exchange) -> Exchange | None:
        messages = messages_of(exchange)
        return with_body(exchange, as_stream(exchange, messages).body + text) if messages else None

    return change


def refused(exchange: Exchange) -> Exchange | None:
    return replace(with_body(exchange, json.dumps([ERROR]).encode()), status=503) if messages_of(exchange) else None
