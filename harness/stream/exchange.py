"""A recording in any file format: exchanges with their reads, and their origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from .decompression import unread_coding
from .events import End
from .framing import MAX_FRAME
from .printable import printable_lines

OriginKind = Literal["recorded", "loopback", "imported", "written"]


class CassetteError(ValueError):
    """A cassette or recording that cannot be read or written.

    The message has the place and the reason, and is printable.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable_lines(message))


class UnknownFormat(CassetteError):
    """The content is not in a format that the harness reads. It may not be a recording."""


class Origin(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The origin of a recording."""

    kind: OriginKind
    """``recorded`` (from a live provider), ``loopback`` (a real client, served upstream),
    ``imported`` (someone else's recording: source, commit, licence) or ``written`` (by hand, from
    the documented wire).
    """
    date: str | None = None
    """ISO 8601."""
    client: str | None = None
    model: str | None = None
    """The requested model."""
    source: str | None = None
    commit: str | None = None
    licence: str | None = None
    note: str | None = None
    redacted: tuple[str, ...] = ()
    """The bodies in which values were redacted."""
    allowed: tuple[str, ...] = ()
    """The texts that a rule of the project allows, though they look like secrets."""


def first_value(headers: dict[str, list[str]], name: str) -> str | None:
    """Return the first value of a header; its name may be in upper or lower case."""
    wanted = name.lower()
    for key, values in headers.items():
        if values and key.lower() == wanted:
            return values[0]
    return None


@dataclass(frozen=True, slots=True)
class Request:
    """A request."""

    method: str
    url: str
    headers: dict[str, list[str]] = field(default_factory=dict)
    """Name as sent → its values."""
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first value of a header; its name may be in upper or lower case."""
        return first_value(self.headers, name)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. The last four fields are detected from URL and body when a file
    is loaded.
    """

    request: Request | None
    """None if it was not recorded."""
    status: int
    headers: dict[str, list[str]]
    reads: tuple[tuple[float | None, bytes], ...]
    """The network reads in order: milliseconds since the request was sent (None if not known) and
    the bytes as they arrived, with their content encoding.
    """
    end: End = "unknown"
    reason_phrase: str = ""
    provider: str | None = None
    generates: bool = False
    """Whether the answer is one of a model."""
    streamed: bool | None = field(default=None, compare=False)
    """None until it is detected."""
    model: str | None = field(default=None, compare=False)
    """The requested model."""

    @property
    def body(self) -> bytes:
        """All bytes of the response body."""
        return b"".join([data for _, data in self.reads])

    def header(self, name: str) -> str | None:
        """Return the first value of a response header; its name may be in upper or lower case."""
        return first_value(self.headers, name)

    @property
    def is_empty(self) -> bool:
        """Whether a stream of a model with status 200 has no byte, and no end that explains it."""
        return (
            self.generates
            and self.streamed is True
            and self.status == 200
            and self.end in ("complete", "unknown")
            and not self.body
        )

    @property
    def size_fault(self) -> str:
        """Why the body can't be judged because of its size, or ""."""
        size = sum(len(data) for _, data in self.reads)
        if size <= MAX_FRAME or max(map(len, self.body.split(b"\n"))) <= MAX_FRAME:
            return ""
        return f"a line of the answer has more than {MAX_FRAME:,} bytes, the limit of a message"

    @property
    def coding_fault(self) -> str:
        """Why the body can't be read because of its content coding, or ""."""
        coding = self.header("content-encoding")
        return unread_coding(self.body, coding) if coding else ""


@dataclass(frozen=True, slots=True)
class Cassette:
    """Exchanges in the order of their requests, and their origin."""

    exchanges: tuple[Exchange, ...]
    origin: Origin

    @property
    def empty_answers(self) -> str:
        """A sentence that names the answers of models of which nothing was recorded, or "". A
        cassette written by hand has them on purpose.
        """
        places = enumerate(self.exchanges, 1)
        numbers = [str(number) for number, exchange in places if exchange.is_empty]
        if not numbers or self.origin.kind == "written":
            return ""
        noun = "exchange" if len(numbers) == 1 else "exchanges"
        return f"nothing was recorded of the answer of {noun} {', '.join(numbers)}: it has no byte"
