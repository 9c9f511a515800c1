"""Reads realtime cassettes of pydantic-ai: the messages of WebSockets, as parsed values.

The messages are serialized again. Newer cassettes have times (``at``, in seconds) and shortened
audio. A message after a close belongs to the next connection, which is an exchange of its own.
https://github.com/pydantic/pydantic-ai
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from harness.stream.exchange import CassetteError, Exchange
from harness.stream.websocket import SWITCHED, Message, Side, write_message

from .build import body_bytes, read_with
from .content import Content, Format, each

_SIDES: Final[dict[str, Side]] = {"sent": "client", "received": "server"}
_NOTE: Final = "realtime cassette of pydantic-ai, messages rebuilt"


class _Item(Struct):
    kind: Literal["message", "close"]
    direction: Literal["sent", "received"] = "received"
    data: Any = None
    at: float | None = None
    code: int | None = None
    reason: str | None = None


def _recognises(content: Content) -> bool:
    match content.mapping:
        case {"interactions": [{"kind": "message" | "close", **others}, *_]}:
            return "data" in others or "code" in others
    return False


def _exchanges(content: Content) -> Iterator[Exchange]:
    reads: list[tuple[float | None, bytes]] = []
    for place, item in each(content.mapping["interactions"], _Item, "interaction"):
        side = _SIDES[item.direction]
        if item.kind == "close":
            reason = body_bytes(item.reason)
            message = Message(side, reason, "close", item.code)
        elif item.data is None:
            raise CassetteError(f"{place}: a message without data")
        else:
            message = Message(side, body_bytes(item.data))
        reads.append((None if item.at is None else item.at * 1000, write_message(message)))
        if item.kind == "close":
            yield Exchange(None, SWITCHED, {}, tuple(reads), "complete")
            reads = []
    if reads:
        yield Exchange(None, SWITCHED, {}, tuple(reads), "unknown")


PYDANTIC_REALTIME: Final = Format(
    "pydantic-realtime",
    "realtime cassette of pydantic-ai",
    _recognises,
    read_with(_exchanges, _NOTE),
)
