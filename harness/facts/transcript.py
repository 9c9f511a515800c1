"""The transcript of one run of an adapter: native events, each with the facts that it states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from msgspec import Struct

from harness.stream.json_codec import Json

from .fact import Fact


class Skipped(BaseException):
    """An adapter can't read an exchange, or can't ask for it. Not an `Exception`, so that no client
    retries.
    """


def skip(reason: str) -> NoReturn:
    """Stop the run of an adapter that can't read this exchange or can't send its request. The
    exchange is then *not asked*.
    """
    raise Skipped(reason)


class Entry(Struct, frozen=True):
    """One native event as JSON data, and the facts that it states."""

    native: Json
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """The exception that ended a run."""

    type: str
    """The name of its class."""
    message: str
    code: int | str | None = None
    """Its status code or status word, if it has one."""
    traceback: str = ""
    """The lines of the adapter's own frames and of the causes, for a reader."""
    place: str = ""
    """The last of these frames that is not in a library, such as ``shim.py:12``."""
    crash: bool = False
    """Whether the adapter did not raise it on purpose, so it is no report about the answer."""
    in_shim: bool = False
    """Whether it was raised in the shim: the file of the function that the harness calls."""

    @property
    def sentence(self) -> str:
        """Its type, its place if that is known, and its message."""
        place = f" at {self.place}" if self.place else ""
        return f"{self.type}{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """The entries of a run in their order, and how it ended."""

    entries: tuple[Entry, ...] = ()
    raised: Raised | None = None
    """None if the run ended without an exception."""
    skipped: str = ""
    """The reason why the adapter can't read this exchange or ask for it, or ""."""
    asked_again: int = 0
    """The number of requests that got no answer of the recording."""
    attempts: int = 1
    """The number of recorded answers to the same request; an adapter that asks again after a failed
    one may get the next.
    """
    entries_of_first_request: int | None = None
    """The number of entries before the second request; None if there was no second request."""
    path: str = ""
    """The path of the first request; "" for an adapter that asks no server."""
    notes: tuple[str, ...] = ()
    """Sentences about unusual requests that the server accepted."""
    doubles: bool = False
    """Whether all numbers of the adapter's language are doubles, which can't hold every integer."""
    asks_thoughts: bool = True
    """Whether the adapter can ask for thoughts."""
    is_complete: bool = False
    """Whether the facts are all that the native events have, because their event model is known."""
    log: str = ""
    """The end of the text that the adapter wrote to stderr."""

    @property
    def request_notes(self) -> tuple[str, ...]:
        """The server's notes about the requests, and the number of refused requests."""
        again = (f"asked again {self.asked_again}×",) if self.asked_again else ()
        return (*again, *self.notes)

    def facts(self) -> Iterator[Fact]:
        """Return every fact, in order."""
        return (fact for entry in self.entries for fact in entry.facts)
