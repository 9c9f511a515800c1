"""The properties of an answer's bytes that a whole group of red cells may share: its framing, the
line ends between its messages, and the fields of its messages.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from harness.stream.decompression import unpack_before_fault
from harness.stream.exchange import Exchange
from harness.stream.websocket import SWITCHED

from .reading import Reading
from .rows import PropertyKind, WireProperty
from .wire_variants import field_names

MAX_FIELDS: Final = 200
"""The maximum number of fields of one answer."""
_CHOSEN: Final = frozenset({"args", "arguments", "response", "willContinue"})
"""Fields below which the names are chosen by the user."""
_LINE_ENDS: Final = ((b"\r\n\r\n", "CRLF"), (b"\n\n", "LF"), (b"\r\r", "CR"))


def properties_of(reading: Reading) -> tuple[WireProperty, ...]:
    """Return the properties of an answer. The line ends are those of the blank lines between the
    messages of a stream; a stream of one message has the last line end. An answer whose coding
    can't be decoded has none.
    """
    exchange = reading.exchange
    if exchange.coding_fault or exchange.size_fault:
        return ()
    frames = reading.frames
    body, framing = b"", SESSION
    if exchange.status != SWITCHED:
        body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
        framing = _framing(exchange, body, len(frames))
    properties = [WireProperty("framing", framing)]
    if framing == EVENTS and frames:
        between = body[frames[0].offset : frames[-1].offset] or body[frames[0].offset :]
        ends = " and ".join(name for end, name in _LINE_ENDS if end in between)
        kind: PropertyKind = "line ends" if len(frames) > 1 else "last line end"
        properties += [WireProperty(kind, ends)] if ends else []
    names: dict[str, None] = {}
    for frame in frames:
        names |= dict.fromkeys(field_names(frame.json, _CHOSEN))
    properties += [WireProperty("field", name) for name in islice(names, MAX_FIELDS)]
    return tuple(properties)


EVENTS: Final = "server-sent events"
DOCUMENT: Final = "one document"
SESSION: Final = "the messages of a session"


def _framing(exchange: Exchange, body: bytes, number: int) -> str:
    """Return the framing of a body with this number of messages."""
    if exchange.streamed is False:
        return DOCUMENT
    start = body.lstrip()
    if start.startswith((b"data:", b"event:", b"id:", b"retry:", b":")):
        return EVENTS
    if start.startswith(b"{"):
        return "JSON lines" if number > 1 else DOCUMENT
    return "a JSON array" if start.startswith(b"[") else "other text"
