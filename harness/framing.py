"""Bytes of an answer into frames: each one message of the provider, with its place in the body.

Framers are incremental: bytes may be cut anywhere, each byte is looked at a fixed number of times, and what is not complete is held as
the pieces it came in. Nothing is thrown away: what is no message comes out as a frame with ``raw`` text. `frame_by_content` chooses by
the first byte: ``[`` is a JSON array, anything else server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)
with two liberties that Gemini's wire needs. A JSON document may stand bare: an error in mid-stream comes so, a unary reply is nothing
else, and JSON lines are many of them. And ``data:`` lines of one event that are only valid JSON one by one are one message each.
"""

from __future__ import annotations

import re
from typing import Any, Final, Protocol

import msgspec

from .json_text import Brackets, decode_json

MAX_FRAME: Final = 64 * 1024 * 1024

_BOM: Final = b"\xef\xbb\xbf"


class FramingError(ValueError):
    """The peer sent a message that is longer than the limit."""


class Frame(msgspec.Struct, gc=False):
    """One message: ``json`` if it was valid JSON (then ``raw`` is None), else its text.

    ``offset`` is the byte where the message begins, ``at_ms`` the time of the read that completed it. ``partial``: the stream ended
    inside it.
    """

    offset: int
    json: Any = None
    raw: str | None = None
    at_ms: float | None = None
    partial: bool = False


class Framer(Protocol):
    """Bytes in, frames out; one instance a body."""

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        """The frames that these bytes complete."""

    def close(self) -> list[Frame]:
        """What is left when the body has ended."""


def frame_by_content(max_frame: int = MAX_FRAME) -> Framer:
    """A framer that chooses how to read by the first byte that is not blank."""
    return _ByContent(max_frame)


def make_frame(data: bytes | memoryview, offset: int, at_ms: float | None, partial: bool = False) -> Frame:
    """A frame of these bytes: decoded, or as text where they are no JSON."""
    try:
        value = decode_json(data)
    except ValueError:
        return Frame(offset, None, _as_text(data), at_ms, partial)
    return Frame(offset, value, None, at_ms)


def _too_long(start: int, limit: int) -> FramingError:
    return FramingError(f"the message at byte {start} is longer than {limit} bytes; raise the limit to read it")


def _as_text(data: bytes | memoryview) -> str:
    return bytes(data).decode("utf-8", "backslashreplace")


class _Pieces:
    """Bytes that are held until a message is complete: appending costs the same whatever is held already."""

    def __init__(self, max_frame: int) -> None:
        self.max_frame = max_frame
        self.held: list[bytes] = []
        self.size = 0
        self.started = 0

    def add(self, data: bytes, offset: int) -> None:
        if not self.held:
            self.started = offset
        self.size += len(data)
        if self.size > self.max_frame:
            raise _too_long(self.started, self.max_frame)
        self.held.append(data)

    def take(self) -> bytes:
        data = self.held[0] if len(self.held) == 1 else b"".join(self.held)
        self.held.clear()
        self.size = 0
        return data


class SseFramer:
    """Server-sent events, and JSON documents between them. Comments and the fields event, id and retry carry no message."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.max_frame = max_frame
        self.usual_size = min(max_frame, _LONG)
        self.offset = 0  # of the first byte that is in no finished line
        self.line = _Pieces(max_frame)
        self.after_cr = False  # an LF that comes next belongs to the CR before it
        self.data: list[bytes] = []  # the data lines of the open event, whole
        self.starts: list[int] = []  # and where each begins
        self.data_size = 0
        self.bare = _BareJson(max_frame)

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        frames: list[Frame] = []
        if data[:5] == b"data:" and self._take_whole(data, at_ms, frames):
            return frames
        if self.after_cr and data:
            self.after_cr = False
            if data[0] == 10:
                if self.bare.pieces.held:
                    self.bare.feed(b"\n", at_ms, self.offset, frames)
                data = data[1:]
                self.offset += 1
        if not data:
            return frames
        self.after_cr = data[-1] == 13
        lines = data.splitlines(keepends=True)
        rest = b"" if lines[-1][-1] in b"\r\n" else lines.pop()
        if lines and self.line.held:
            self.line.add(lines[0], self.offset + self.line.size)
            lines[0] = self.line.take()
        offset = self.offset
        for line in lines:  # the two usual lines here, all others in a method: this is the hot path
            if line in _BLANK_LINES and not self.bare.pieces.held:
                if self.data:
                    self._end_event(at_ms, frames)
            elif line.startswith(b"data:"):
                self._take_data(line, offset, frames)
            else:
                self._take_other(line, at_ms, offset, frames)
            offset += len(line)
        self.offset = offset
        if rest:
            self.line.add(rest, offset + self.line.size)
        return frames

    def close(self) -> list[Frame]:
        frames: list[Frame] = []
        if self.line.held:
            line = self.line.take()
            if self.bare.pieces.held or not _is_field(line):
                self._end_event(None, frames, partial=True)
                self.bare.feed(line, None, self.offset, frames)
            else:
                self._close_field(line, frames)
        self._end_event(None, frames, partial=True)
        self.bare.close(frames, partial=True)
        return frames

    def _take_whole(self, data: bytes, at_ms: float | None, frames: list[Frame]) -> bool:
        """The usual read, which is one event of one line and nothing else; whether it was that, and its line valid JSON."""
        size = len(data)
        if size > self.usual_size or self.line.held or self.data or self.bare.pieces.held:
            return False
        line_end = data.find(b"\n")
        if line_end == size - 3 and data.find(b"\r") == size - 4 and data[-4:] == b"\r\n\r\n":
            line_end -= 1
        elif line_end != size - 2 or data[-1] != 10 or data.find(b"\r") >= 0:
            return False
        try:
            frames.append(Frame(self.offset, decode_json(data[5:line_end]), None, at_ms))
        except ValueError:
            return False
        self.after_cr = False
        self.offset += size
        return True

    def _take_data(self, line: bytes, offset: int, frames: list[Frame]) -> None:
        if self.bare.pieces.held:
            self.bare.close(frames)
        self.data.append(line)
        self.starts.append(offset)
        self.data_size += len(line)
        if self.data_size > self.max_frame:
            raise _too_long(self.starts[0], self.max_frame)

    def _take_other(self, line: bytes, at_ms: float | None, offset: int, frames: list[Frame]) -> None:
        if self.bare.pieces.held or not _is_field(line):
            self._end_event(at_ms, frames)
            self.bare.feed(line, at_ms, offset, frames)

    def _close_field(self, line: bytes, frames: list[Frame]) -> None:
        """The last line has no line end: its message counts only if it is whole."""
        value = _field_value(line)
        if line.startswith(b"data:") and value.endswith((b"}", b"]")):
            whole = make_frame(value, self.offset, None)
            if whole.raw is None:
                self._take_data(line, self.offset, frames)
                return
        self._end_event(None, frames, partial=True)
        if not line.startswith(b":"):
            frames.append(Frame(self.offset, None, _as_text(line), None, partial=True))

    def _end_event(self, at_ms: float | None, frames: list[Frame], partial: bool = False) -> None:
        """The data lines so far are one message; or one a line, where only that is JSON."""
        if not self.data:
            return
        start, self.data_size = self.starts[0], 0
        if len(self.data) == 1:
            line = self.data.pop()
            self.starts.clear()
            # The decoder minds neither the blank before a message nor the line end behind it; text keeps what is its own.
            frame = make_frame(line[5:] if len(line) < _LONG else memoryview(line)[5:], start, at_ms, partial)
            if frame.raw is not None:
                frame.raw = _as_text(_field_value(line))
            frames.append(frame)
            return
        values = [_field_value(line) for line in self.data]
        starts, self.starts = self.starts, []
        self.data.clear()
        whole = make_frame(b"\n".join(values), start, at_ms, partial)
        if whole.raw is None:
            frames.append(whole)
            return
        each: list[Frame] = []
        for value, place in zip(values, starts, strict=True):
            each.append(make_frame(value, place, at_ms))
            if each[-1].raw is not None:
                each = [whole]
                break
        frames += each


_BLANK_LINES: Final = frozenset({b"\r\n", b"\n", b"\r"})
_FIELDS: Final = (b"data:", b":", b"event:", b"id:", b"retry:")
_BARE_FIELDS: Final = frozenset({b"data", b"event", b"id", b"retry", b""})


def _is_field(line: bytes) -> bool:
    return line.startswith(_FIELDS) or (len(line) < 8 and line.rstrip(b"\r\n") in _BARE_FIELDS)


_LONG: Final = 1 << 20
"""Lines from here on are looked at through a view: a copy would take as much memory again."""


def _field_value(line: bytes) -> bytes:
    """What stands after ``data:``, without line end and without the one space that the standard allows there."""
    return line[6 if line[5:6] == b" " else 5 :].removesuffix(b"\n").removesuffix(b"\r")


class _BareJson:
    """JSON documents that stand by themselves, over one or many lines; what else stands there is raw, a line at a time."""

    def __init__(self, max_frame: int) -> None:
        self.pieces = _Pieces(max_frame)
        self.brackets = Brackets()

    def feed(self, line: bytes, at_ms: float | None, offset: int, frames: list[Frame]) -> None:
        position = 0
        while position < len(line):
            if not self.pieces.held:
                position = _BLANKS.match(line, position).end()  # type: ignore[union-attr]  # matches everywhere
                if line[position : position + 1] not in (b"{", b"["):
                    text = line[position:].rstrip()
                    if text:
                        frames.append(make_frame(text, offset + position, at_ms, partial=not line.endswith((b"\n", b"\r"))))
                    return
            end = self.brackets.find_end(line, position)
            self.pieces.add(line[position:] if end < 0 else line[position:end], offset + position)
            if end < 0:
                return
            frames.append(make_frame(self.pieces.take(), self.pieces.started, at_ms))
            position = end

    def close(self, frames: list[Frame], partial: bool = False) -> None:
        """End a document that was left open."""
        if self.pieces.held:
            self.brackets = Brackets()
            frames.append(make_frame(self.pieces.take().rstrip(), self.pieces.started, None, partial))


_BLANKS: Final = re.compile(rb"[\s,]*")
_SCALAR: Final = re.compile(rb"[^,\]]*")


class JsonArrayFramer:
    """The elements of one JSON array, each as soon as it is complete; ``feed`` expects the array to begin the body."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.offset = 0
        self.pieces = _Pieces(max_frame)
        self.brackets = Brackets()
        self.place = "before"  # before the array, between elements, inside a nested element, inside a scalar one, after the array

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        frames: list[Frame] = []
        position = 0
        while position < len(data):
            position = self._step(data, position, at_ms, frames)
        self.offset += len(data)
        return frames

    def close(self) -> list[Frame]:
        if not self.pieces.held:
            return []
        text = self.pieces.take().strip()
        return [make_frame(text, self.pieces.started, None, partial=self.place != "after")] if text else []

    def _step(self, data: bytes, position: int, at_ms: float | None, frames: list[Frame]) -> int:
        if self.place == "before":
            start = data.find(b"[", position)
            self.place = "before" if start < 0 else "between"
            return len(data) if start < 0 else start + 1
        if self.place == "between":
            position = _BLANKS.match(data, position).end()  # type: ignore[union-attr]  # matches everywhere
            mark = data[position : position + 1]
            if mark == b"]":
                self.place = "after"
                return position + 1
            self.place = "nested" if mark in (b"{", b"[") else "scalar" if mark else "between"
            return position
        if self.place == "after":
            if not self.pieces.held:
                position = _BLANKS.match(data, position).end()  # type: ignore[union-attr]  # matches everywhere
            if position == len(data):
                return position
            self.pieces.add(data[position:], self.offset + position)
            return len(data)
        if self.place == "nested":
            end = self.brackets.find_end(data, position)
        else:
            end = _SCALAR.match(data, position).end()  # type: ignore[union-attr]  # matches everywhere
            end = -1 if end == len(data) else end
        self.pieces.add(data[position:] if end < 0 else data[position:end], self.offset + position)
        if end < 0:
            return len(data)
        self.place = "between"
        frames.append(make_frame(self.pieces.take().strip(), self.pieces.started, at_ms))
        return end


class DocumentFramer:
    """The whole body as one message: for answers that are errors, whose text must stay in one piece whatever it is."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.pieces = _Pieces(max_frame)

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        if data:
            self.pieces.add(data, 0)
        return []

    def close(self) -> list[Frame]:
        text = self.pieces.take().removeprefix(_BOM).strip() if self.pieces.held else b""
        return [make_frame(text, 0, None, partial=False)] if text else []


class _ByContent:
    """Skips a byte order mark and blanks; the first other byte tells the framing."""

    def __init__(self, max_frame: int) -> None:
        self.max_frame = max_frame
        self.skipped = 0
        self.mark = b""  # what could be the beginning of a byte order mark
        self.chosen: SseFramer | JsonArrayFramer | None = None

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        if self.chosen is None:
            data = self._skip(data)
            if not data:
                return []
            self.chosen = JsonArrayFramer(self.max_frame) if data[0] == 0x5B else SseFramer(self.max_frame)
            self.chosen.offset = self.skipped
        return self.chosen.feed(data, at_ms)

    def _skip(self, data: bytes) -> bytes:
        if self.skipped == 0:
            data = self.mark + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self.mark = data
                return b""
            if data.startswith(_BOM):
                self.skipped = len(_BOM)
                data = data[len(_BOM) :]
        rest = data.lstrip()
        self.skipped += len(data) - len(rest)
        return rest

    def close(self) -> list[Frame]:
        if self.chosen is None and self.mark:
            return [make_frame(self.mark, 0, None, partial=True)]
        return self.chosen.close() if self.chosen else []
