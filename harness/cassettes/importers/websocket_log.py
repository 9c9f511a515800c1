"""Reads WebSocket logs of Google's SDKs for JavaScript and .NET: ``>`` for the client, ``<`` for
the server, the number of bytes of the message with a line end, and the message.

The log has no URL, no times and no close. https://github.com/googleapis/js-genai
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange
from harness.stream.websocket import SIDES, SWITCHED, Message, write_message

from .build import build_cassette
from .content import Content, Format

_HEAD: Final = re.compile(rb"([<>])([0-9]{1,9}) ")
_ENDED: Final = re.compile(rb"\n(?=[<>][0-9]|\Z)")
"""The line end that a log adds to a message; its number of bytes includes it."""
_NOTE: Final = "WebSocket log of one of Google's SDKs"


def _recognises(content: Content) -> bool:
    return _HEAD.match(content.data) is not None


def _read(content: Content) -> Cassette:
    reads = tuple((None, record) for record in _records(content.data))
    end: End = "unknown" if all(record.endswith(b"\n") for _, record in reads) else "cut"
    return build_cassette([Exchange(None, SWITCHED, {}, reads, end)], note=_NOTE)


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the records of the messages; the last one has no end if the log is cut in it."""
    place = number = 0
    while place < len(data):
        number += 1
        head = _HEAD.match(data, place)
        if head is None:
            raise CassetteError(
                f"message {number} at byte {place}: expected `>` or `<`, the number of bytes and a"
                f" blank, got {data[place : place + 20]!r}"
            )
        stop = head.end() + int(head[2])
        ended = _ENDED.match(data, stop - 1) or _ENDED.match(data, stop)
        message = data[head.end() : ended.start() if ended else stop]
        record = write_message(Message(SIDES[head[1]], message))
        if ended is None and len(data) < stop:
            yield record.removesuffix(b"\n")
            return
        yield record
        place = ended.end() if ended else stop


WEBSOCKET_LOG: Final = Format("websocket-log", _NOTE, _recognises, _read)
