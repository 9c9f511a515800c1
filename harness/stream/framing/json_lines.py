"""Frames the output of a command-line agent: JSON lines, perhaps between other output of the
program.

A line is a message. If a line is not JSON, the messages inside it are cut out and the rest is text.
If the output is one JSON document over many lines (``--output-format json``), that document is the
message. Only objects that ``is_message`` accepts are messages inside other text, so that an object
inside a damaged line does not become a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import MsgspecError

from ..json_codec import Brackets, decode_json
from . import MAX_FRAME, Frame, FramingError, make_frame

MAX_GLUED: Final = 32
"""The maximum number of places in one line that are tried as the beginning of a message."""

_BOM: Final = b"\xef\xbb\xbf"
_OBJECT: Final = re.compile(rb'\{\s*"')
# The first line of a document that is written with indents, and a line that continues it.
_OPENS: Final = re.compile(rb"\{[ \t\r]*$")
_GOES_ON: Final = re.compile(rb'[ \t]+"|[ \t]*\}')


def has_type_and_time(value: dict[str, Any]) -> bool:
    """Return whether an object is an event of the Gemini CLI: it has a type and a timestamp
    (https://geminicli.com/docs/cli/headless).
    """
    return type(value.get("type")) is str and "timestamp" in value


class JsonLinesFramer:
    """Makes each line one message: see `harness.stream.framing.Framer`."""

    def __init__(
        self,
        max_frame: int = MAX_FRAME,
        is_message: Callable[[dict[str, Any]], bool] = has_type_and_time,
        usual: Callable[[bytes], object] | None = None,
    ) -> None:
        self.max_frame = max_frame
        self.is_message = is_message
        """Recognizes messages inside other text."""
        self.usual = usual
        """A strict decoder. A line that it accepts is one message of the provider; the reader of
        the frame decodes it.
        """
        self.offset = 0  # of the first byte that is in no finished line
        self.held: list[bytes] = []  # the pieces of the line that has no end yet
        self.size = 0
        self.document: list[
            tuple[int, bytes]
        ] = []  # the lines of an open document, each with its place
        self.before = b""  # the text before it on its first line
        self.brackets = Brackets()

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        frames: list[Frame] = []
        decode = self.usual
        if decode is not None and self._take_usual(decode, data, at_ms, frames):
            return frames
        *ended, rest = data.split(b"\n")
        for piece in ended:
            if decode is not None and self._take_usual(decode, piece + b"\n", at_ms, frames):
                continue
            self._hold(piece)
            line = b"".join(self.held)
            self.held.clear()
            self._line(line, self.offset, at_ms, frames)
            self.offset += len(line) + 1
            if not self.document:
                self.size = 0
        self._hold(rest)
        return frames

    def _take_usual(
        self,
        decode: Callable[[bytes], object],
        data: bytes,
        at_ms: float | None,
        frames: list[Frame],
    ) -> bool:
        """Read one line that is the usual message; returns False for any other piece."""
        if self.held or self.document or data[:1] != b"{" or data[-1:] != b"\n":
            return False
        try:
            usual = decode(data)
        except (MsgspecError, UnicodeDecodeError):
            return False
        if len(data) > self.max_frame:
            return False
        frames.append(Frame(self.offset, data, None, at_ms, False, usual))
        self.offset += len(data)
        return True

    def close(self) -> list[Frame]:
        frames: list[Frame] = []
        rest = b"".join(self.held)
        self.held.clear()
        if (
            len(self.document) == 1
            and rest
            and not _GOES_ON.match(rest)
            and self._message(rest.strip()) is None
        ):
            self.document.append(
                (self.offset, rest)
            )  # too little to decide whether the document continues
        elif self.document and rest:
            self._in_document(rest, self.offset, None, frames)
        elif self.offset == 0 and rest.startswith(_BOM):
            self._read(rest[len(_BOM) :], len(_BOM), None, frames, partial=True)
        else:
            self._read(rest, self.offset, None, frames, partial=True)
        if self.document:
            start = self.document[0][0] - len(self.before)
            text = self.before + b"\n".join(line for _, line in self.document)
            _add_text(text, start, None, frames, partial=True)
            self.document.clear()
        self.offset += len(rest)
        self.size = 0
        return frames

    def _hold(self, piece: bytes) -> None:
        if piece:
            self.held.append(piece)
            self.size += len(piece)
            if self.size > self.max_frame:
                raise FramingError(
                    f"the line at byte {self.offset} is longer than {self.max_frame} bytes; raise"
                    " the limit to read it"
                )

    def _line(self, line: bytes, offset: int, at_ms: float | None, frames: list[Frame]) -> None:
        if offset == 0 and line.startswith(_BOM):
            offset, line = len(_BOM), line[len(_BOM) :]
        if self.document:
            self._in_document(line, offset, at_ms, frames)
        else:
            self._read(line, offset, at_ms, frames)

    def _read(
        self,
        line: bytes,
        offset: int,
        at_ms: float | None,
        frames: list[Frame],
        partial: bool = False,
    ) -> None:
        """Read a line outside a document; a blank one is skipped."""
        if not line.strip():
            return
        whole = make_frame(line.strip(), offset + len(line) - len(line.lstrip()), at_ms, partial)
        if whole.raw is None:
            frames.append(whole)
            return
        start = 0
        for place, end, message in self._glued(line):
            _add_text(line[start:place], offset + start, at_ms, frames)
            frames.append(Frame(offset + place, message, None, at_ms))
            start = end
        opening = _OPENS.search(line, start)
        if opening and not partial:
            self.before = line[start : opening.start()]
            self.document.append((offset + opening.start(), line[opening.start() :]))
            self.brackets = Brackets()
            self.brackets.find_end(line, opening.start())
        elif start == 0:
            frames.append(whole)
        else:
            _add_text(line[start:], offset + start, at_ms, frames, partial)

    def _in_document(
        self, line: bytes, offset: int, at_ms: float | None, frames: list[Frame]
    ) -> None:
        """Read a line after a line that opens an object. The first such line must look like a field
        of the object, and no line may be a message itself.
        """
        if (len(self.document) == 1 and not _GOES_ON.match(line)) or self._message(
            line.strip()
        ) is not None:
            self._give_up(at_ms, frames)
            self._line(line, offset, at_ms, frames)
            return
        end = self.brackets.find_end(line, 0)
        self.document.append((offset, line if end < 0 else line[:end]))
        if end < 0:
            return
        start = self.document[0][0]
        _add_text(self.before, start - len(self.before), at_ms, frames)
        frames.append(make_frame(b"\n".join(text for _, text in self.document), start, at_ms))
        self.document.clear()
        if line[end:].strip():
            self._read(line[end:], offset + end, at_ms, frames)

    def _give_up(self, at_ms: float | None, frames: list[Frame]) -> None:
        """Emit the lines that looked like a document as text, one frame for each line."""
        (start, first), *others = self.document
        for offset, line in [(start - len(self.before), self.before + first), *others]:
            _add_text(line, offset, at_ms, frames)
        self.document.clear()

    def _glued(self, line: bytes) -> list[tuple[int, int, Any]]:
        """Return the messages inside a line that is not JSON: (start, end, message)."""
        messages: list[tuple[int, int, Any]] = []
        position = tried = 0
        while tried < MAX_GLUED and (candidate := _OBJECT.search(line, position)):
            tried += 1
            position = candidate.end()
            end = Brackets().find_end(line, candidate.start())
            message = self._message(line[candidate.start() : end]) if end > 0 else None
            if message is not None:
                messages.append((candidate.start(), end, message))
                position = end
        return messages

    def _message(self, data: bytes) -> dict[str, Any] | None:
        """Return the message that the data is; None for any other data."""
        if not data.startswith(b"{"):
            return None
        try:
            value = decode_json(data)
        except ValueError:
            return None
        return value if type(value) is dict and self.is_message(value) else None


def _add_text(
    text: bytes, offset: int, at_ms: float | None, frames: list[Frame], partial: bool = False
) -> None:
    stripped = text.strip()
    if stripped:
        raw = stripped.decode("utf-8", "backslashreplace")
        frames.append(Frame(offset + len(text) - len(text.lstrip()), None, raw, at_ms, partial))
