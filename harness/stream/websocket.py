"""The messages of a WebSocket as the body of an exchange: a log with a record for each message.

A connection is one exchange. Its request is the one that opened the connection, its status is 101,
and its body has the messages of both sides in one order. Each record is one read, so it has a time:

    > {"setup": {"model": "models/gemini-3.8-live"}}
    < {"setupComplete": {}}
    <close 1011 "Internal error encountered."

``>`` begins a record of the client, ``<`` one of the server. A letter after it tells the kind:
nothing for a text message, ``b`` for a binary one, ``close`` for the end of a side with its code
(``-`` for none) and its text as a JSON string. A record ends before the line of the next one, so a
message that is JSON may have several lines. A message that is not UTF-8, or that has several lines
and is not JSON, is base64: ``64``, ``b64``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from .exchange import CassetteError
from .framing.frame import MAX_FRAME, Frame, as_text, make_frame, too_long
from .json_codec import Json, decode_json

Side = Literal["client", "server"]
Kind = Literal["text", "binary", "close"]

SWITCHED: Final = 101
"""The status of an exchange that is a connection."""
NORMAL: Final = 1000
"""The code of a normal close."""
NO_CODE: Final = 1005
"""The code of a close without a code (RFC 6455, section 7.1.5)."""

SIDES: Final[dict[bytes, Side]] = {b">": "client", b"<": "server"}
"""The mark of a record → the side that sent its message."""
_HEAD: Final = rb"([<>])(?:(close)|(b?)(64)?) "
_RECORD: Final = re.compile(_HEAD)
_NEXT: Final = re.compile(rb"\n(?=[<>](?:close|b?(?:64)?) )")
_ENDS: Final = (re.compile(rb"\n"), re.compile(rb"\n(?:\}\n|(?=[<>](?:close|b?(?:64)?) ))"), _NEXT)
_LONGEST_HEAD: Final = len(b"\n<close ")
_CLOSE: Final = re.compile(rb"(-|[0-9]{1,5}) (\".*\")", re.DOTALL)


class Message(Struct, frozen=True):
    """One message of a connection."""

    side: Side
    """Who sent it."""
    data: bytes
    """The bytes of the message; for a close its text."""
    kind: Kind = "text"
    code: int | None = None
    """The code of a close; None for other messages and for a close without a code."""


def is_log(body: bytes | bytearray) -> bool:
    """Return whether a body begins like a log of messages."""
    return _RECORD.match(body) is not None


def write_message(message: Message) -> bytes:
    """Return the record of a message."""
    mark = b">" if message.side == "client" else b"<"
    if message.kind == "close":
        text = json.dumps(message.data.decode("utf-8", "backslashreplace"), ensure_ascii=False)
        code = "-" if message.code is None else str(message.code)
        return b"%bclose %b %b\n" % (mark, code.encode(), text.encode())
    kind = b"b" if message.kind == "binary" else b""
    if _is_plain(message.data):
        return b"%b%b %b\n" % (mark, kind, message.data)
    return b"%b%b64 %b\n" % (mark, kind, base64.b64encode(message.data))


def _is_plain(data: bytes) -> bool:
    """Return whether a message can stand in a log as it is: UTF-8 on one line, or JSON."""
    try:
        data.decode()
        if b"\n" in data:
            decode_json(data)
    except ValueError:
        return False
    return True


def read_messages(body: bytes, *, cut: bool = False) -> list[Message]:
    """Return the messages of a log. ``cut``: without the last one, if the log ends inside it.
    Raises `CassetteError` with the byte of a record that can't be read.
    """
    if not body:
        return []
    places = [0, *(match.end() for match in _NEXT.finditer(body)), len(body)]
    if cut and not body.endswith(b"\n"):
        places.pop()
    return [_read_record(body[start:stop], start) for start, stop in pairwise(places)]


def _read_record(record: bytes, start: int) -> Message:
    head = _RECORD.match(record)
    if head is None or not record.endswith(b"\n"):
        fact = "is cut before its end" if head else "begins with neither `>` nor `<`"
        raise CassetteError(f"the message at byte {start} of the session {fact}")
    side, data = SIDES[head[1]], record[head.end() : -1]
    if head[2]:
        close = _CLOSE.fullmatch(data)
        text = _json_text(close[2]) if close else None
        if close is None or text is None:
            raise CassetteError(
                f"the close at byte {start} of the session needs a code and a text, such as"
                ' `<close 1011 "Internal error"`'
            )
        return Message(
            side,
            text.encode("utf-8", "replace"),
            "close",
            None if close[1] == b"-" else int(close[1]),
        )
    if head[4]:
        try:
            data = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise CassetteError(
                f"the message at byte {start} of the session is not base64: {error}"
            ) from None
    return Message(side, data, "binary" if head[3] else "text")


def _json_text(text: bytes) -> str | None:
    try:
        value = decode_json(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


class MessageFramer:
    """Makes a frame of each record. Its JSON is an object with ``from`` (``client`` or ``server``)
    and one of ``message`` (the JSON of the message), ``text`` (a message that is not JSON) and
    ``close`` (code and text). Text that is no record is a raw frame.

    A record is complete when its JSON object is, else when the next record begins. The last record
    without JSON is a partial frame with its text, and with the object if it ends with a line end.
    Two places are tried as the end of the object: the end of the first line, and the first line
    that is ``}``.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self._max_frame = max_frame
        self._held = bytearray()
        self._offset = 0
        """The place of the held bytes in the body."""
        self._ends = list(_ENDS)
        """The patterns of the places at which the held record may be complete, in their order."""
        self._searched = 0
        """The number of held bytes in which the first of these does not begin."""

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        self._held += data
        frames: list[Frame] = []
        while match := self._ends[0].search(self._held, self._searched):
            record = bytes(self._held[: match.end()])
            frame = _frame(record, self._offset, at_ms)
            begins_next = match[0] == b"\n" and len(self._ends) < len(_ENDS)
            if not begins_next and not _has_json(frame):
                self._searched = match.start()
                del self._ends[0]
                continue
            if record.strip():
                frames.append(frame)
            self._begin(match.end())
        self._searched = max(self._searched, len(self._held) - _LONGEST_HEAD)
        if len(self._held) > self._max_frame:
            raise too_long(self._offset, self._max_frame)
        return frames

    def _begin(self, size: int) -> None:
        """Begin the record after these bytes."""
        del self._held[:size]
        self._offset += size
        self._ends, self._searched = list(_ENDS), 0

    def close(self) -> list[Frame]:
        held, self._held = bytes(self._held), bytearray()
        if not held.strip():
            return []
        last = Frame(self._offset, None, as_text(held), None, partial=True)
        if held.endswith(b"\n"):
            whole = _frame(held, self._offset, None)
            if _has_json(whole):
                return [whole]
            # The end of the stream tells whether this is a text, or the first lines of JSON.
            last.message, last.text = whole.json, whole.raw or last.text
        return [last]


def _frame(record: bytes, offset: int, at_ms: float | None) -> Frame:
    try:
        message = _read_record(record, offset)
    except CassetteError:
        return Frame(offset, None, as_text(record.rstrip(b"\n")), at_ms)
    content: dict[str, Json] = {"from": message.side}
    if message.kind == "close":
        content["close"] = {"code": message.code, "reason": message.data.decode()}
    else:
        frame = make_frame(message.data, 0, None)
        content |= {"message": frame.json} if frame.raw is None else {"text": frame.raw}
    return Frame(offset, content, None, at_ms)


def _has_json(frame: Frame) -> bool:
    return isinstance(frame.json, dict) and "text" not in frame.json
