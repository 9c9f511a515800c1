"""Cuts the bytes of an answer into frames: each is one message of the provider, with its offset in
the body.

Framers are incremental: bytes may be cut anywhere, each byte is read a fixed number of times, and
an incomplete message is kept in the pieces that arrived. Nothing is dropped: text that is not a
message becomes a frame with ``raw``. `frame_by_content` chooses by the first byte: ``[`` begins a
JSON array (`json_documents`), anything else server-sent events (`sse`).
"""

from __future__ import annotations

from typing import Any

from ..oddities import Oddities
from .frame import BOM, MAX_FRAME, Frame, Framer, FramingError, make_frame
from .json_documents import DocumentFramer, JsonArrayFramer, Strict
from .sse import SseFramer

__all__ = [
    "MAX_FRAME",
    "DocumentFramer",
    "Frame",
    "Framer",
    "FramingError",
    "JsonArrayFramer",
    "SseFramer",
    "frame_by_content",
    "frames_of_body",
    "json_messages",
    "make_frame",
]


def frame_by_content(max_frame: int = MAX_FRAME, strict: Strict | None = None) -> ContentFramer:
    """Return a framer that chooses the framing by the first byte that is not blank. ``strict``: the
    provider's decoder of the usual document.
    """
    return ContentFramer(max_frame, strict)


def frames_of_body(body: bytes) -> list[Frame]:
    """Return the frames of a whole body, by its content. Raises `FramingError`."""
    framer = frame_by_content()
    return framer.feed(body) + framer.close()


def json_messages(body: bytes) -> list[Any] | None:
    """Return the JSON messages of a whole body; None if a part of it is not JSON."""
    frames = frames_of_body(body)
    return [frame.json for frame in frames] if all(frame.raw is None for frame in frames) else None


class ContentFramer:
    """Skips a byte order mark and blanks; the next byte decides the framing."""

    def __init__(self, max_frame: int, strict: Strict | None) -> None:
        self.strict = strict
        self.max_frame = max_frame
        self.skipped = 0
        self.mark = b""  # bytes that may begin a byte order mark
        self.chosen: SseFramer | JsonArrayFramer | None = None

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        if self.chosen is None:
            data = self._skip(data)
            if not data:
                return []
            self.chosen = (
                JsonArrayFramer(self.max_frame)
                if data[0] == 0x5B
                else SseFramer(self.max_frame, self.strict)
            )
            self.chosen.offset = self.skipped
            self.feed = self.chosen.feed  # type: ignore[method-assign]  # this is the hot path
        return self.chosen.feed(data, at_ms)

    def _skip(self, data: bytes) -> bytes:
        if self.skipped == 0:
            data = self.mark + data
            if len(data) < len(BOM) and BOM.startswith(data):
                self.mark = data
                return b""
            if data.startswith(BOM):
                self.skipped = len(BOM)
                data = data[len(BOM) :]
        rest = data.lstrip()
        self.skipped += len(data) - len(rest)
        return rest

    @property
    def oddities(self) -> Oddities:
        """Those of a stream; an array has none."""
        return self.chosen.oddities if isinstance(self.chosen, SseFramer) else Oddities()

    def close(self) -> list[Frame]:
        if self.chosen is None and self.mark:
            return [make_frame(self.mark, 0, None, partial=True)]
        return self.chosen.close() if self.chosen else []
