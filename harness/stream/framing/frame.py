"""The base of all framers: the frame, its fault, and the buffer for an incomplete message."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from ..json_codec import Json, decode_json

MAX_FRAME: Final = 64 * 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"


class FramingError(ValueError):
    """The peer sent a message that is longer than the limit."""


class Frame(msgspec.Struct, gc=False):
    """One message: JSON, else text."""

    offset: int
    """The byte where the message begins."""
    message: Json | bytes = None
    """Bytes until ``json`` or ``raw`` is read, so that a strict decoder can read them instead; then
    the decoded value, which is never bytes.
    """
    text: str | None = None
    """The text of a message that is not JSON."""
    at_ms: float | None = None
    """The time of the read that completed the message, in milliseconds since the request."""
    partial: bool = False
    """Whether the stream ended inside the message."""
    usual: object = None
    """The result of a strict decoder for these bytes, if the framer has used one."""

    @property
    def json(self) -> Json:
        """The decoded message; None for text."""
        if type(self.message) is bytes:
            self._decode(self.message)
        return self.message

    @property
    def raw(self) -> str | None:
        """The text of a message that is not JSON; None for JSON."""
        if type(self.message) is bytes:
            self._decode(self.message)
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self._content() == other._content()

    def _content(self) -> tuple[object, ...]:
        return self.offset, self.json, self.text, self.at_ms, self.partial

    def _decode(self, data: bytes) -> None:
        try:
            self.message = decode_json(data)
        except ValueError:
            self.message, self.text = None, as_text(data)


class Framer(Protocol):
    """Turns bytes into frames; one instance for each body."""

    def feed(self, data: bytes, at_ms: float | None = None) -> list[Frame]:
        """Return the frames that these bytes complete."""

    def close(self) -> list[Frame]:
        """Return the frames that are left when the body has ended."""


def make_frame(
    data: bytes | memoryview, offset: int, at_ms: float | None, partial: bool = False
) -> Frame:
    """Return a frame of these bytes: decoded, or as text if they are not JSON."""
    try:
        value = decode_json(data)
    except ValueError:
        return Frame(offset, None, as_text(data), at_ms, partial)
    return Frame(offset, value, None, at_ms)


def too_long(start: int, limit: int) -> FramingError:
    """Return the error for a message that begins at ``start`` and exceeds the limit."""
    return FramingError(
        f"the message at byte {start} is longer than {limit} bytes; raise the limit to read it"
    )


def as_text(data: bytes | memoryview) -> str:
    """Return bytes that are not JSON as text; bytes that are not UTF-8 are escaped."""
    return bytes(data).decode("utf-8", "backslashreplace")


class Pieces:
    """The pieces of an incomplete message. The cost of appending does not depend on the size of the
    buffer.
    """

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
            raise too_long(self.started, self.max_frame)
        self.held.append(data)

    def take(self) -> bytes:
        data = self.held[0] if len(self.held) == 1 else b"".join(self.held)
        self.held.clear()
        self.size = 0
        return data
