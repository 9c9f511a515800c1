"""Frames server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), with
two extensions for Gemini's wire.

A JSON document may be outside an event: an error in mid-stream, a unary reply, or JSON lines. If
the ``data:`` lines of an event are valid JSON only one by one, each line is a message. So a stream
without blank lines is read, also with ``[DONE]`` at its end.
"""

from __future__ import annotations

from typing import Final

from ..oddities import Oddities, Oddity
from .frame import MAX_FRAME, Frame, Pieces, as_text, make_frame, too_long
from .json_documents import BareJson, Strict, whole_document

OUTSIDE: Final = "text outside an event"
UNNAMED: Final = "an event without its name"
NAMED: Final = "an event with a name"
ID: Final = "an id or a retry"
COMMENT: Final = "a comment"
NO_SPACE: Final = "no space after data:"
LINES: Final = "several data lines"
SEVERAL: Final = "several messages in one event"
LONE_CR: Final = "a lone CR"
OPEN: Final = "no blank line at the end"
_SHOWN: Final = 200
"""The bytes of a line in an oddity."""


class SseFramer:
    """Server-sent events, and JSON documents between them. Comments and the fields event, id and
    retry carry no message. A document that the decoder ``strict`` accepts is not decoded a second
    time by the reader of the frame.
    """

    def __init__(self, max_frame: int = MAX_FRAME, strict: Strict | None = None) -> None:
        self.max_frame = max_frame
        self.usual_size = min(max_frame, _LONG)
        self.offset = 0  # of the first byte that is in no finished line
        self.line = Pieces(max_frame)
        self.after_cr = False  # an LF that comes next belongs to the CR before it
        self.data: list[bytes] = []  # the data lines of the open event, whole
        self.starts: list[int] = []  # and where each begins
        self.data_size = 0
        self.bare = BareJson(max_frame, strict)
        self.between = True  # no event, document or line is open
        self.named = False  # the open event has its name
        self.oddities = Oddities()

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        if self.between and (frames := self._take_whole(data, at_ms)):
            return frames
        frames = []
        self._take_any(data, at_ms, frames)
        self.between = not (self.line.held or self.data or self.bare.pieces.held)
        return frames

    def _take_whole(self, data: bytes, at_ms: float | None) -> list[Frame]:
        """Return the frames of whole events, each with one line of data and at most a name before
        it, all with the same line end; or the frame of a document over whole lines. Empty for any
        other read. Nearly every read is one of these: this is the hot path. The reader of the
        frames decodes the messages.
        """
        frames: list[Frame] = []
        end = b"\r\n\r\n" if data[-4:] == b"\r\n\r\n" else b"\n\n"
        size, offset = len(end), self.offset
        if len(data) > self.usual_size:
            return frames
        if data[:1] == b"{" and data[-1:] == b"\n" and b"\n{" not in data:  # not JSON lines
            if whole_document(data, at_ms, offset, frames, self.bare.strict):
                self.offset = offset + len(data)
                self._note(OUTSIDE, data, offset)
            return frames
        if data[-size:] != end:
            return frames
        unnamed = named = -1
        for event in data[:-size].split(end):
            if event[:6] == b"data: ":
                start, unnamed = 6, offset if unnamed < 0 else unnamed
            else:
                start = _data_after_name(event, end[: size // 2])
                named = offset if named < 0 else named
            message = event[start:]
            if not start or 10 in message or 13 in message:
                return []
            frames.append(Frame(offset + start - 6, message, None, at_ms))
            offset += len(event) + size
        if unnamed >= 0:
            self._note(UNNAMED, b"", unnamed)
        if named >= 0:
            self._note(NAMED, data.partition(end[: size // 2])[0], named)
        self.offset, self.after_cr = offset, False
        return frames

    def _take_any(self, data: bytes, at_ms: float | None, frames: list[Frame]) -> None:
        """Read any piece, line by line."""
        if self.after_cr and data:
            self.after_cr = False
            if data[0] == 10:
                if self.bare.pieces.held:
                    self.bare.feed(b"\n", at_ms, self.offset, frames)
                data = data[1:]
                self.offset += 1
            else:
                self._note(LONE_CR, b"", self.offset - 1)
        if not data:
            return
        # The LF of a CR LF may come with the next read.
        self.after_cr = data[-1] == 13
        lines = data.splitlines(keepends=True)
        rest = b"" if lines[-1][-1] in b"\r\n" else lines.pop()
        if len(lines) > data.count(b"\n") + self.after_cr:
            start = self.offset + self.line.size
            at = data.replace(b"\r\n", b"\n\n").find(b"\r")
            self._note(LONE_CR, b"", start + at)
        if lines and self.line.held:
            lines[0] = self.line.take() + lines[0]
        offset = self.offset
        for line in lines:  # the two usual lines here, all others in a method: this is the hot path
            if line in _BLANK_LINES and not self.bare.pieces.held:
                if self.data:
                    self._end_event(at_ms, frames)
                else:
                    self.named = False
            elif line.startswith(b"data:"):
                self._take_data(line, offset, frames)
            else:
                self._take_other(line, at_ms, offset, frames)
            offset += len(line)
        self.offset = offset
        if rest:
            self.line.add(rest, offset + self.line.size)

    def _note(self, name: str, line: bytes, offset: int) -> None:
        first = self.oddities.first
        if name not in first:
            text = line[:_SHOWN].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
            first[name] = Oddity(name, offset, text)

    def close(self) -> list[Frame]:
        frames: list[Frame] = []
        if self.after_cr:
            self._note(LONE_CR, b"", self.offset - 1)
        if self.data:
            self._note(OPEN, b"", self.starts[0])
        if self.line.held:
            line = self.line.take()
            if self.bare.pieces.held or not _is_field(line):
                self._end_event(None, frames, partial=True)
                self._note(OUTSIDE, line, self.offset)
                self.bare.feed(line, None, self.offset, frames)
            else:
                self._close_field(line, frames)
        self._end_event(None, frames, partial=True)
        self.bare.close(frames, partial=True)
        return frames

    def _take_data(self, line: bytes, offset: int, frames: list[Frame]) -> None:
        if self.bare.pieces.held:
            self.bare.close(frames)
        if line[5:6] != b" " and line[5:6] not in b"\r\n":
            self._note(NO_SPACE, line, offset)
        self.data.append(line)
        self.starts.append(offset)
        self.data_size += _length(line)
        if self.data_size > self.max_frame:
            raise too_long(self.starts[0], self.max_frame)

    def _take_other(
        self, line: bytes, at_ms: float | None, offset: int, frames: list[Frame]
    ) -> None:
        if _length(line) > self.max_frame:  # a buffered line is refused earlier
            raise too_long(offset, self.max_frame)
        if self.bare.pieces.held or not _is_field(line):
            self._note(OUTSIDE, line, offset)
            self._end_event(at_ms, frames)
            self.bare.feed(line, at_ms, offset, frames)
        else:
            if line.startswith(b"event:"):
                self._note(NAMED, line, offset)
                self.named = bool(line[6:].strip())
            else:
                self._note(COMMENT if line[:1] == b":" else ID, line, offset)

    def _close_field(self, line: bytes, frames: list[Frame]) -> None:
        """Read a last line without a line end: its message is used only if it is whole."""
        value = _field_value(line)
        if line.startswith(b"data:"):
            self._note(OPEN, b"", self.offset)
        if line.startswith(b"data:") and value.endswith((b"}", b"]")):
            whole = make_frame(value, self.offset, None)
            if whole.raw is None:
                self._take_data(line, self.offset, frames)
                return
        self._end_event(None, frames, partial=True)
        if not line.startswith(b":"):
            frames.append(Frame(self.offset, None, as_text(line), None, partial=True))

    def _end_event(self, at_ms: float | None, frames: list[Frame], partial: bool = False) -> None:
        """End the event: its data lines are one message together or, if only the single lines are
        JSON, one message each.
        """
        named, self.named = self.named, False
        if not self.data:
            return
        start, self.data_size = self.starts[0], 0
        if not named:
            self._note(UNNAMED, b"", start)
        if len(self.data) == 1:
            line = self.data.pop()
            self.starts.clear()
            if len(line) < _LONG and not partial:
                frames.append(Frame(start, _field_value(line), None, at_ms))
                return
            # The decoder ignores the blank before a message and the line end after it. In text that
            # is not JSON, blanks of its own are kept.
            frame = make_frame(memoryview(line)[5:], start, at_ms, partial)
            if frame.text is not None:
                frame.text = as_text(_field_value(line))
            frames.append(frame)
            return
        self._note(LINES, b"", start)
        values = [_field_value(line) for line in self.data]
        starts, self.starts = self.starts, []
        self.data.clear()
        # WHATWG: "Append the field value to the data buffer, then append a single U+000A LINE FEED
        # (LF) character to the data buffer."
        whole = make_frame(b"\n".join(values), start, at_ms, partial)
        if whole.raw is None:
            frames.append(whole)
            return
        each: list[Frame] = []
        for value, place in zip(values, starts, strict=True):
            each.append(make_frame(value, place, at_ms))
            if each[-1].raw not in (None, "[DONE]"):
                each = [whole]
                break
        else:
            self._note(SEVERAL, b"", start)
        frames += each


# WHATWG: "Lines must be separated by either a U+000D CARRIAGE RETURN U+000A LINE FEED (CRLF)
# character pair, a single U+000A LINE FEED (LF) character, or a single U+000D CARRIAGE RETURN (CR)
# character."
_BLANK_LINES: Final = frozenset({b"\r\n", b"\n", b"\r"})
_FIELDS: Final = (b"data:", b":", b"event:", b"id:", b"retry:")
# WHATWG: without a colon, "using the whole line as the field name, and the empty string as the
# field value".
_BARE_FIELDS: Final = frozenset({b"data", b"event", b"id", b"retry", b""})


def _is_field(line: bytes) -> bool:
    return line.startswith(_FIELDS) or (len(line) < 8 and line.rstrip(b"\r\n") in _BARE_FIELDS)


def _length(line: bytes) -> int:
    """Return the length without the line end, which may be split over two reads."""
    return len(line) - line.endswith((b"\n", b"\r")) - line.endswith(b"\r\n")


def _data_after_name(event: bytes, end: bytes) -> int:
    """Return the start of the data of an event with one line before it, its name; 0 for any
    other.
    """
    name, _, _ = event.partition(end)
    start = len(name) + len(end)
    is_named = event.startswith(b"event:") and len(name) > 7 and event.startswith(b"data: ", start)
    return start + 6 if is_named and 10 not in name and 13 not in name else 0


_LONG: Final = 1 << 20
"""Longer lines are read through a view, because a copy would take as much memory again."""


def _field_value(line: bytes) -> bytes:
    """Return the text after ``data:``, without its line end and without the one space that the
    standard allows.
    """
    # WHATWG: "If value starts with a U+0020 SPACE character, remove it from value."
    return line[6 if line[5:6] == b" " else 5 :].removesuffix(b"\n").removesuffix(b"\r")
