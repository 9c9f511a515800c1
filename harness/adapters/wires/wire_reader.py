"""The common part of the strict readers: messages and server-sent events, and the facts of each
message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.facts import Error, Fact
from harness.providers.event_facts import error_facts
from harness.stream.framing import Frame, SseFramer, sse
from harness.stream.json_codec import Json, decode_json
from harness.stream.printable import short_json, shorten


class Unreadable(ValueError):
    """The official client of the wire can't read a message."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How a stream of the wire is framed."""

    done: str = ""
    """The data after which the client reads nothing; "" if the wire has no such data."""
    event_lines: bool = False
    """Whether the client drops a message without an ``event:`` line."""
    data_only: bool = False
    """Whether the client knows only lines that begin with ``data: ``, and the lines of a bare error
    document, as Google sends it.
    """
    closes_last: bool = False
    """Whether the client reads a last message without a blank line after it."""
    line_feeds: bool = False
    """Whether the client knows only LF as the end of a line."""

    @property
    def faults(self) -> dict[str, str]:
        """The name of an oddity of the stream → why the client can't read it."""
        faults = {
            sse.OUTSIDE: "the line {value!r} is not a field of a server-sent event",
            sse.SEVERAL: "its data is not one JSON value",
            sse.OPEN: "its last event has no blank line at the end, so no client reads it",
        }
        if self.event_lines:
            faults[sse.UNNAMED] = "it has no event: line, so the official client drops it"
        if self.data_only:
            no_data = "the line {value!r} is not data: "
            lines = sse.OUTSIDE, sse.NAMED, sse.ID, sse.COMMENT, sse.NO_SPACE
            faults |= dict.fromkeys(lines, no_data)
        if self.closes_last:
            del faults[sse.OPEN]
        return faults


@dataclass(frozen=True, slots=True)
class WireMessage:
    """One message."""

    native: Json
    """The object of the message."""
    at: int
    """The native event that completed the message."""
    framed: bool = False
    """Whether the message was in a server-sent event."""


class WireReader(ABC):
    """Reads messages into facts, as the official client does. ``facts``: those of each message."""

    framing: ClassVar[Framing] = Framing()

    def __init__(self, streamed: bool | None) -> None:
        self.facts: list[list[Fact]] = []
        self._streamed = streamed
        self._framed = False
        self._over = False

    def read(self, message: WireMessage) -> None:
        """Note the facts of one message. Raises `Unreadable`. After an error, the official client
        reads nothing.
        """
        self.facts.append([])
        if self._over:
            return
        if not isinstance(message.native, dict):
            raise Unreadable(f"{short_json(message.native)}; expected an object of the wire")
        if not message.framed and self._streamed and not message.native.get("error"):
            raise Unreadable("it is a document; expected a stream of server-sent events")
        if message.framed and self._streamed is False:
            raise Unreadable("it is a server-sent event; expected one document")
        self._framed = message.framed
        self._read(message.native)

    @abstractmethod
    def _read(self, message: dict[str, Json]) -> None:
        """Note the facts of one object. Raises `Unreadable`."""

    def close(self) -> None:  # noqa: B027  # not every wire has facts only at the end
        """Note the facts that are complete only at the end of the answer."""

    def _add(self, *facts: Fact) -> None:
        self.facts[-1] += facts


def error_of(error: Json) -> Error:
    """Return an error of the wire as a fact, with its number or else its first word."""
    said, fact = error_facts(error)
    words = (word for word in said.words if word != fact.message)
    return fact if fact.code is not None else Error(next(words, None), fact.message)


def messages_of(items: Sequence[Json], framing: Framing) -> Iterator[WireMessage]:
    """Yield the messages in native events: objects, texts that are one object, and pieces of
    server-sent events, cut anywhere. Raises `Unreadable`.
    """
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) == len(items) and (whole := _object_of("".join(texts))) is not None:
        yield WireMessage(whole, len(items) - 1)
        return
    stream = _Stream(framing)
    for at, item in enumerate(items):
        whole = item if not isinstance(item, str) else None
        if whole is None and stream.framer.between:
            whole = _object_of(str(item))
        if whole is not None or not isinstance(item, str):
            stream.check_object()
            yield WireMessage(whole, at)
            continue
        if framing.line_feeds and "\r" in item:
            raise Unreadable("a line ends with CR; the official client knows only LF")
        # `text_of_bytes` keeps the bytes of a cut character as surrogates.
        yield from stream.read(stream.framer.feed(item.encode("utf-8", "surrogateescape")), at)
    yield from stream.close(len(items) - 1)


def text_of_bytes(data: bytes) -> str:
    """Return a piece of a stream as text. `messages_of` restores the bytes, which may be cut
    anywhere.
    """
    return data.decode("utf-8", "surrogateescape")


def _object_of(text: str) -> Json:
    """Return the object that the whole text is; None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return decode_json(text.encode("utf-8", "surrogateescape"))
    except ValueError:
        return None


class _Stream:
    """Server-sent events; a line or piece of text that a client ignores is an error."""

    def __init__(self, framing: Framing) -> None:
        self.framer = SseFramer()
        self._framing = framing
        self._faults = framing.faults
        self._is_done = False

    def check_object(self) -> None:
        """Raise `Unreadable` if an event is open, or if the stream said that it is over."""
        if not self.framer.between:
            raise Unreadable("an object follows an event that has no blank line at its end")
        if self._is_done:
            raise Unreadable(f"no client reads what follows {self._framing.done}")

    def read(self, frames: list[Frame], at: int) -> Iterator[WireMessage]:
        """Yield the messages of frames. Raises `Unreadable` for the first that a client drops."""
        for frame in frames:
            message = self._unwrapped(frame.json)
            self._check(frame.offset, message)
            if frame.raw is not None and frame.raw == self._framing.done:
                self._is_done = True
            elif self._is_done:
                raise Unreadable(f"no client reads what follows {self._framing.done}")
            elif frame.raw is None:
                yield WireMessage(message, at, framed=True)
            else:
                raise Unreadable(f"its data {shorten(frame.raw, 80)!r} is not JSON")

    def close(self, at: int) -> Iterator[WireMessage]:
        """Yield the last message. Raises `Unreadable` for one that is not complete."""
        yield from self.read(self.framer.close(), at)
        self._check(self.framer.offset, None)

    def _unwrapped(self, message: Json) -> Json:
        """Return the error document in an array, as Google also sends it; else the message."""
        if self._framing.data_only:
            match message:
                case [{"error": _} as document]:
                    return document
        return message

    def _check(self, place: int, message: Json) -> None:
        """Raise `Unreadable` for an oddity up to this place. Google sends an error document between
        events.
        """
        if self._framing.data_only and isinstance(message, dict) and "error" in message:
            self.framer.oddities.first.pop(sse.OUTSIDE, None)
        for oddity in self.framer.oddities:
            if oddity.place <= place and (sentence := self._faults.get(oddity.name)):
                raise Unreadable(sentence.format(value=oddity.value))
