"""What a recording is, whatever file it came in: exchanges, their reads, and where they are
from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .events import End
from .printable import printable_lines

OriginKind = Literal["recorded", "loopback", "imported", "written"]


class CassetteError(ValueError):
    """A cassette or recording that cannot be read or written.

    The message says where and why, and is printable.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable_lines(message))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a recording is from.

    ``recorded`` (live provider), ``loopback`` (real client, served upstream), ``imported`` (someone
    else's recording: source, commit, licence) or ``written`` (by hand, from the documented wire).
    ``date`` is ISO 8601; ``model`` the one asked for.
    """

    kind: OriginKind
    date: str | None = None
    client: str | None = None
    model: str | None = None
    source: str | None = None
    commit: str | None = None
    licence: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What the client sent. ``headers``: name as sent → values."""

    method: str
    url: str
    headers: dict[str, list[str]] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer.

    ``reads`` are the network reads in order: milliseconds since the request was sent (None if not
    known) and the bytes as they came, still compressed if they were. ``end`` says how the answer
    ended. ``provider``, ``generates``, ``streamed`` and ``model`` (the one asked for) are detected
    from URL and body when a file is loaded; ``streamed`` is None until then.
    """

    request: Request | None
    status: int
    headers: dict[str, list[str]]
    reads: tuple[tuple[float | None, bytes], ...]
    end: End = "unknown"
    reason_phrase: str = ""
    provider: str | None = None
    generates: bool = False
    streamed: bool | None = field(default=None, compare=False)
    model: str | None = field(default=None, compare=False)

    @property
    def body(self) -> bytes:
        """All bytes of the answer."""
        return b"".join(data for _, data in self.reads)

    def header(self, name: str) -> str | None:
        """The first value of a response header, in any case."""
        wanted = name.lower()
        return next(
            (values[0] for key, values in self.headers.items() if key.lower() == wanted and values),
            None,
        )


@dataclass(frozen=True, slots=True)
class Cassette:
    """Exchanges in start order, and where they are from."""

    exchanges: tuple[Exchange, ...]
    origin: Origin
