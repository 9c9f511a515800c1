"""Takes: exchanges while they are recorded, in start order, each read and its time as it comes.

A `Tape` is what every recorder of ours writes to, whatever it stands in: a client's transport, a
relay, a program's pipes. `InFlightExchange.read` runs between the network and the client, so it
does nothing but look at the clock, keep the bytes, and hand them to whoever keeps the unfinished
file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from harness.cassettes import Exchange, Request
from harness.stream.events import End

Clock = Callable[[], float]
"""Seconds that only go forward."""


class Listener(Protocol):
    """Who is told of every fact as it happens."""

    def asked(self, take: int, request: Request | None) -> None: ...
    def answered(
        self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]
    ) -> None: ...
    def read(self, take: int, at: float, data: bytes) -> None: ...
    def ended(self, take: int, end: End) -> None: ...


class Tape:
    """What is recorded, in start order.

    ``whole``: answers are read to their end, even if the client makes nothing of them and leaves.
    ``silence_s``: so many seconds an answer may be silent, and a connection be waited for; None is
    as the client says.
    """

    def __init__(
        self,
        listener: Listener | None = None,
        clock: Clock = time.perf_counter,
        *,
        whole: bool = False,
    ) -> None:
        self.whole = whole
        self.silence_s: float | None = None
        self.live = True
        self.takes: list[InFlightExchange] = []
        self.clock = clock
        self.listener = listener
        self._lock = threading.Lock()

    def begin(self, request: Request | None) -> InFlightExchange:
        """The take of an exchange that starts now; None: there is no request, only output."""
        with self._lock:
            take = InFlightExchange(len(self.takes) + 1, request, self)
            self.takes.append(take)
        if self.listener:
            self.listener.asked(take.number, request)
        return take

    def exchanges(self) -> tuple[Exchange, ...]:
        """All that had an answer; what is still open is `aborted`, for nobody listens to it any
        more.
        """
        return tuple(take.exchange() for take in self.kept())

    def kept(self) -> list[InFlightExchange]:
        """The takes of `exchanges`."""
        return [take for take in self.takes if take.status is not None and not take.dropped]


class InFlightExchange:
    """One exchange while it is recorded; the methods are called in the order in which they stand
    here.
    """

    __slots__ = (
        "_tape",
        "dropped",
        "end",
        "failure",
        "finish",
        "headers",
        "number",
        "reads",
        "reason_phrase",
        "request",
        "started",
        "status",
    )

    def __init__(self, number: int, request: Request | None, tape: Tape) -> None:
        self.number: Final = number
        self.request: Final = request
        self.status: int | None = None
        self.headers: dict[str, list[str]] = {}
        self.reason_phrase = ""
        self.reads: list[tuple[float, bytes]] = []
        self.end: End | None = None
        self.dropped = False
        self.failure = ""  # why there is no answer, or no whole one
        self.finish: Callable[[], None] = lambda: None
        self._tape: Final = tape
        self.started: Final = tape.clock()

    @property
    def whole(self) -> bool:
        """Whether the answer is read to its end; ``finish`` reads the rest of one that the client
        has left.
        """
        return self._tape.whole

    def answered(self, status: int, headers: dict[str, list[str]], reason_phrase: str = "") -> None:
        """Status and headers came."""
        self.status, self.headers, self.reason_phrase = status, headers, reason_phrase
        if self._tape.listener:
            self._tape.listener.answered(self.number, status, reason_phrase, headers)

    def read(self, data: bytes) -> None:
        """Bytes of the body came."""
        at = (self._tape.clock() - self.started) * 1000
        self.reads.append((at, data))
        if self._tape.listener:
            self._tape.listener.read(self.number, at, data)

    def ended(self, end: End) -> None:
        """It is over; only the first end counts, since a client closes what has ended as well."""
        if self.end is None:
            self.end = end
            if self._tape.listener:
                self._tape.listener.ended(self.number, end)

    def drop(self) -> None:
        """Leave this exchange out of the recording: an attempt that is made again."""
        self.dropped = True

    def exchange(self) -> Exchange:
        """The take as an exchange; its answer has come."""
        if self.status is None:
            raise ValueError(f"exchange {self.number} has no answer yet")
        return Exchange(
            self.request,
            self.status,
            self.headers,
            tuple(self.reads),
            self.end or "aborted",
            self.reason_phrase,
        )
