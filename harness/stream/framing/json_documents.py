"""Frames JSON that is not in server-sent events: documents over one or many lines, the elements of
an array, or a whole body as one message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from msgspec import MsgspecError

from ..json_codec import Brackets, decode_json
from .frame import BOM, MAX_FRAME, Frame, Pieces, make_frame

_VALUE: Final = re.compile(rb"[^\s,]")
_AFTER_SCALAR: Final = re.compile(rb"[,\]]")


def _skip_blanks(data: bytes, position: int) -> int:
    match = _VALUE.search(data, position)
    return match.start() if match else len(data)


Strict = Callable[[bytes], object]
"""A strict decoder of a provider's usual message; raises one of `REFUSED` for any other text."""
REFUSED: Final = (MsgspecError, UnicodeDecodeError)


def whole_document(
    text: bytes, at_ms: float | None, offset: int, frames: list[Frame], strict: Strict | None
) -> bool:
    """Read a text that is one whole object, as most are; returns False for any other."""
    if not text.startswith(b"{"):
        return False
    if strict is not None:
        try:
            usual = strict(text)
        except REFUSED:
            pass
        else:
            frames.append(Frame(offset, text, None, at_ms, False, usual))
            return True
    try:
        frames.append(Frame(offset, decode_json(text), None, at_ms))
    except ValueError:
        return False
    return True


class BareJson:
    """JSON documents over one or many lines. Other text between them becomes raw frames, one for
    each line.
    """

    def __init__(self, max_frame: int, strict: Strict | None = None) -> None:
        self.pieces = Pieces(max_frame)
        self.brackets = Brackets()
        self.strict = strict

    def feed(self, line: bytes, at_ms: float | None, offset: int, frames: list[Frame]) -> None:
        position = 0
        if not self.pieces.held and whole_document(line, at_ms, offset, frames, self.strict):
            return
        while position < len(line):
            if not self.pieces.held:
                position = _skip_blanks(line, position)
                if line[position : position + 1] not in (b"{", b"["):
                    text = line[position:].rstrip()
                    if text:
                        frames.append(
                            make_frame(
                                text,
                                offset + position,
                                at_ms,
                                partial=not line.endswith((b"\n", b"\r")),
                            )
                        )
                    return
            end = self.brackets.find_end(line, position)
            self.pieces.add(line[position:] if end < 0 else line[position:end], offset + position)
            if end < 0:
                return
            frames.append(make_frame(self.pieces.take(), self.pieces.started, at_ms))
            position = end

    def close(self, frames: list[Frame], partial: bool = False) -> None:
        """Emit the open document as a frame."""
        if self.pieces.held:
            self.brackets = Brackets()
            frames.append(
                make_frame(self.pieces.take().rstrip(), self.pieces.started, None, partial)
            )


class JsonArrayFramer:
    """The elements of one JSON array, each as soon as it is complete. The body must begin with the
    array.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.offset = 0
        self.pieces = Pieces(max_frame)
        self.brackets = Brackets()
        # before the array, between elements, inside a nested element, inside a scalar one, after
        # the array
        self.place = "before"

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
        return (
            [make_frame(text, self.pieces.started, None, partial=self.place != "after")]
            if text
            else []
        )

    def _step(self, data: bytes, position: int, at_ms: float | None, frames: list[Frame]) -> int:
        if self.place == "before":
            start = data.find(b"[", position)
            self.place = "before" if start < 0 else "between"
            return len(data) if start < 0 else start + 1
        if self.place == "between":
            position = _skip_blanks(data, position)
            mark = data[position : position + 1]
            if mark == b"]":
                self.place = "after"
                return position + 1
            self.place = "nested" if mark in (b"{", b"[") else "scalar" if mark else "between"
            return position
        if self.place == "after":
            if not self.pieces.held:
                position = _skip_blanks(data, position)
            if position == len(data):
                return position
            self.pieces.add(data[position:], self.offset + position)
            return len(data)
        if self.place == "nested":
            end = self.brackets.find_end(data, position)
        else:
            match = _AFTER_SCALAR.search(data, position)
            end = match.start() if match else -1
        self.pieces.add(data[position:] if end < 0 else data[position:end], self.offset + position)
        if end < 0:
            return len(data)
        self.place = "between"
        frames.append(Frame(self.pieces.started, self.pieces.take().strip(), None, at_ms))
        return end


class DocumentFramer:
    """The whole body as one message, for HTTP errors: their text must stay in one piece, even if it
    is not JSON.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        self.pieces = Pieces(max_frame)

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        if data:
            self.pieces.add(data, 0)
        return []

    def close(self) -> list[Frame]:
        text = self.pieces.take().removeprefix(BOM).strip() if self.pieces.held else b""
        return [make_frame(text, 0, None, partial=False)] if text else []
