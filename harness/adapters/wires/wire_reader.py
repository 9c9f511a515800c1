"""The common part of the strict readers: server-sent events, the types of fields, and the facts of
each message.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from harness.facts import Error, Fact, Facts
from harness.providers.oracle.reader import note_error
from harness.stream.json_codec import Json, decode_json
from harness.stream.printable import short_json, shorten

# All three line ends of the WHATWG standard; the longest first, so that CR LF is one.
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_FIELDS: Final = ("data", "event", "id", "retry", "")
"""The fields of an event. A comment is a line with the empty field."""

_LONGEST_BARE: Final = 65_536
"""The characters of a bare error document. Longer ones are not read."""


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

    def _add_error(self, error: Json) -> None:
        self._add(error_of(error))
        self._over = True


def error_of(error: Json) -> Error:
    """Return an error of the wire as a fact, with its number or else its first word."""
    noted = Facts()
    note_error(noted, error)
    ((code, message),) = noted.errors
    words = [word for word in noted.error_words if word != message]
    return Error(code if code is not None else next(iter(words), None), message)


def messages_of(items: Sequence[Json], framing: Framing) -> Iterator[WireMessage]:
    """Yield the messages in native events: objects, texts that are one object, and pieces of
    server-sent events, cut anywhere. Raises `Unreadable`.
    """
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) == len(items) and (whole := _object_of("".join(texts))) is not None:
        yield WireMessage(whole, len(items) - 1)
        return
    lines = _Lines(framing)
    for at, item in enumerate(items):
        if not isinstance(item, str):
            lines.check_empty()
            yield WireMessage(item, at)
        elif lines.is_empty and (whole := _object_of(item)) is not None:
            yield WireMessage(whole, at)
        else:
            yield from lines.feed(item, at)
    yield from lines.close(len(items) - 1)


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


class _Lines:
    """Reads server-sent events as the standard says; a line or piece of text that a client ignores
    is an error.
    """

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self._text = b""
        """The open line."""
        self._data: list[str] = []
        """The data lines of the open event."""
        self._bare = ""
        """The lines of a bare document that is open."""
        self._event: str | None = None
        self._is_done = False

    @property
    def is_empty(self) -> bool:
        """Whether no line and no event is open."""
        return not (self._text or self._data or self._bare or self._event)

    def check_empty(self) -> None:
        """Raise `Unreadable` if an event is open, or if the stream said that it is over."""
        if not self.is_empty:
            raise Unreadable("an object follows an event that has no blank line at its end")
        if self._is_done:
            raise Unreadable(f"no client reads what follows {self._framing.done}")

    def feed(self, text: str, at: int) -> Iterator[WireMessage]:
        """Yield the messages that this text completes."""
        if self._framing.line_feeds and "\r" in text:
            raise Unreadable("a line ends with CR; the official client knows only LF")
        # `text_of_bytes` keeps the bytes of a cut character as surrogates.
        self._text += text.encode("utf-8", "surrogateescape")
        end = len(self._text) - self._text.endswith(b"\r")  # LF may follow
        cut = max(self._text.rfind(b"\n", 0, end), self._text.rfind(b"\r", 0, end)) + 1
        whole, self._text = self._text[:cut], self._text[cut:]
        try:
            lines = _LINE_END.split(whole.decode())
        except UnicodeDecodeError:
            raise Unreadable("it is not UTF-8") from None
        for line in lines[:-1]:
            yield from self._line(line, at)

    def close(self, at: int) -> Iterator[WireMessage]:
        """Yield the last message. Raises `Unreadable` for one that is not complete."""
        if self._text:
            yield from self.feed("\n", at)
        if self._framing.closes_last:
            yield from self._line("", at)
        if self._data:
            raise Unreadable("its last event has no blank line at the end, so no client reads it")
        if self._bare:
            raise self._no_data(self._bare.partition("\n")[0])

    def _line(self, line: str, at: int) -> Iterator[WireMessage]:
        if self._framing.data_only and (self._bare or line.startswith("{")):
            yield from self._bare_line(line, at)
            return
        if not line:
            yield from self._dispatch(at)
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name not in _FIELDS or (self._framing.data_only and not line.startswith("data: ")):
            raise self._no_data(line)
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value or None

    def _bare_line(self, line: str, at: int) -> Iterator[WireMessage]:
        """Yield the error document whose last line this is. Only such a document has no
        ``data: ``.
        """
        self._bare += f"{line}\n"
        first = self._bare.partition("\n")[0]
        if len(self._bare) > _LONGEST_BARE:
            raise self._no_data(first)
        if line.startswith(("}", "{")) and (document := _object_of(self._bare)) is not None:
            if "error" not in document:
                raise self._no_data(first)
            self._bare = ""
            yield WireMessage(document, at)

    def _no_data(self, line: str) -> Unreadable:
        kind = "data: " if self._framing.data_only else "a field of a server-sent event"
        return Unreadable(f"the line {shorten(line, 80)!r} is not {kind}")

    def _dispatch(self, at: int) -> Iterator[WireMessage]:
        data, event = "\n".join(self._data), self._event
        is_open = bool(self._data)
        self._data, self._event = [], None
        if not is_open:
            return
        if self._framing.done and data == self._framing.done:
            self._is_done = True
            return
        if self._is_done:
            raise Unreadable(f"no client reads what follows {self._framing.done}")
        try:
            native = decode_json(data.encode())
        except ValueError:
            raise Unreadable(f"its data {shorten(data, 80)!r} is not JSON") from None
        if self._framing.event_lines and event is None:
            raise Unreadable("it has no event: line, so the official client drops it")
        yield WireMessage(native, at, framed=True)


def text_in(holder: dict[str, Json], name: str, place: str = "") -> str:
    """Return the text of a field; "" if it is missing or null. Raises `Unreadable` for another
    type.
    """
    value = holder.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Unreadable(f"{place}{name} is {short_json(value)}; expected a string")
    return value


def object_in(holder: dict[str, Json], name: str, place: str = "") -> dict[str, Json]:
    """Return the object of a field. Raises `Unreadable` if it is anything else."""
    value = holder.get(name)
    if not isinstance(value, dict):
        raise Unreadable(f"{place}{name} is {short_json(value)}; expected an object")
    return value


def objects_in(
    holder: dict[str, Json], name: str, place: str = "", *, required: bool = False
) -> list[dict[str, Json]]:
    """Return the objects of a list. A list that is missing or null is empty, unless it is
    ``required``. Raises `Unreadable` for anything else.
    """
    value = holder.get(name)
    if value is None and not required:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Unreadable(f"{place}{name} is {short_json(value)}; expected a list of objects")
    return value


def index_in(holder: dict[str, Json], place: str, known: int) -> int:
    """Return the ``index`` of an item, which is one of the ``known`` first or the next one. Raises
    `Unreadable` for anything else.
    """
    index = holder.get("index")
    if type(index) is not int:
        raise Unreadable(
            f"{place}index is {short_json(index)}; expected a number, by which the official client"
            " joins the pieces"
        )
    if not 0 <= index <= known:
        raise Unreadable(
            f"{place}index is {index}; expected at most {known}, because the official client keeps"
            " the items in a list"
        )
    return index
