"""Questions to an adapter about its request, or about a service that fails, and its reactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.facts import Transcript
from harness.stream.exchange import Exchange
from harness.stream.prompt import Prompt
from harness.stream.websocket import Message


@dataclass(frozen=True, slots=True)
class Asked:
    """One question for an adapter."""

    name: str
    """The name of the question, for a program."""
    prompt: Prompt
    provider: str
    """The provider whose wire is asked."""
    streamed: bool
    stored: bool = False
    """Whether the answer must be saved and loaded before the second request."""
    exchange: Exchange | None = None
    """The recorded answer that comes before the second request; None for one request."""

    @property
    def turns(self) -> int:
        """The number of requests."""
        return 2 if self.exchange else 1


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that an adapter sent to a served address. It has no path if none was seen."""

    path: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """What the server knows of a session with an adapter."""

    path: str
    """The path at which the adapter opened it."""
    sent: tuple[Message, ...]
    """The messages of the adapter."""
    played: bool
    """Whether the session came to its end."""
    late: str = ""
    """The kind of the message that the adapter did not send within the time limit, else ""."""
    unexpected: str = ""
    """The kind of the message that the adapter sent where another is expected, else ""."""
    opened_again: bool = False
    """Whether the adapter has opened a second session, which is not recorded."""
    left: bool = False
    """Whether the adapter has left the session before its user has ended it."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """The requests of an adapter to one question, and how its run ended."""

    requests: tuple[SentRequest, ...] = ()
    other: str = ""
    """The method and path of the first request that asks for no answer, "" if there is none."""
    answered: bool = True
    """Whether the first request got the recorded answer."""
    read: frozenset[str] | None = None
    """The values that the adapter has read, such as ``settings.seed``; None: it has read all."""
    skipped: str = ""
    raised: str = ""
    """The exception in words, "" if there was none."""
    crashed: bool = False
    """Whether the exception is a crash, and no error that the adapter raises on purpose."""
    base_url: str = ""
    """The address of the question, below which its media are served."""
    asked: Prompt | None = None
    """The prompt that reached the adapter, if its wire has no place for all of the question."""
    log: str = ""
    asks_thoughts: bool = True
    """Whether the adapter can ask for thoughts."""
    doubles: bool = False
    """Whether all numbers of the adapter's language are doubles."""


@dataclass(frozen=True, slots=True)
class FailingService:
    """A service that does not answer the first requests as recorded."""

    exchange: Exchange
    fault: str
    """As in `harness.server.serve`."""
    times: int
    """The number of requests that get the fault. Each later one gets the recorded answer."""
    cancel: bool = False
    """Whether the user cancels after the first event of the answer."""


@dataclass(frozen=True, slots=True)
class FaultReaction:
    """The requests of an adapter to a failing service, and what it gave."""

    requests: tuple[SentRequest, ...]
    transcript: Transcript
    late: str = ""
    """The reason why the adapter was stopped at the time limit, else ""."""
    cancels: bool = False
    """Whether the adapter has read ``at.cancel``."""
    left: bool = True
    """Whether the client disconnected before the end of an answer that it canceled."""
