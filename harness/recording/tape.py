"""Records exchanges while they run, in start order, each read with its time.

All recorders write to a `Tape`: the transport of a client, the relay, the pipes of a program.
`InFlightExchange.read` runs between the network and the client. So it only reads the clock, stores
the bytes, and passes them to the journal.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.cassettes import Exchange, Request
from harness.cassettes.journal import Answered, Arrived, Ended, JournalFact, Started
from harness.stream.decompression import unpack_before_fault
from harness.stream.events import End
from harness.stream.exchange import first_value

# OpenAI's reference: the stream is "terminated by a data: [DONE] message".
_LAST_MESSAGE: Final = re.compile(rb"(?:^|\n)data: ?\[DONE\]\s*\Z")

CLIENT_LEFT: Final = "the client of the relay closed the connection"
"""The failure of an answer that the client of a relay did not read to its end."""

MAX_ANSWER_BYTES: Final = 1 << 26
"""The default limit of the bytes of an answer: 64 MB."""
MAX_ANSWER_S: Final = 3600.0
"""The default limit of the seconds for an answer. An answer may never end."""


class Tape:
    """Recorded exchanges, in start order."""

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole
        """Whether answers are read to their end even if the client stops early."""
        self.silence_s: float | None = None
        """The maximum seconds without a byte, or without a connection; None: the client's limits.
        """
        self.answer_bytes = MAX_ANSWER_BYTES
        """An answer that is longer is given up."""
        self.answer_s = MAX_ANSWER_S
        """An answer that takes more seconds is given up."""
        self.live = True
        """Whether requests go to the network."""
        self.origin: dict[str, str] = {}
        """Fields of the `Origin` that no request contains, for example for a program's output."""
        self.mask: Callable[[str], str] = lambda text: text
        """Replaces secrets in a text for a message."""
        self.in_flight: list[InFlightExchange] = []
        self.listener: Callable[[JournalFact], None] | None = None
        """Called with each fact immediately."""
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Exchange | None:
        """Return the exchange that answers a request; None if the network must answer. Raises if
        the request must not be sent.
        """
        return None

    def begin(self, request: Request | None) -> InFlightExchange:
        """Start an exchange. ``request`` is None for the output of a program."""
        with self._lock:
            exchange = InFlightExchange(len(self.in_flight) + 1, request, self)
            self.in_flight.append(exchange)
        self.tell(Started(exchange.number, request))
        return exchange

    def tell(self, fact: JournalFact) -> None:
        """Pass a fact to the listener."""
        if self.listener:
            self.listener(fact)

    def exchanges(self) -> tuple[Exchange, ...]:
        """Return the exchanges that have an answer; an unfinished exchange counts as `aborted`."""
        return tuple(exchange.exchange() for exchange in self.answered())

    def answered(self) -> list[InFlightExchange]:
        """Return the same exchanges in their recorded form."""
        return [
            pending
            for pending in self.in_flight
            if pending.status is not None and not pending.dropped
        ]


@dataclass(slots=True, eq=False)
class InFlightExchange:
    """One exchange during its recording. The methods are called in the order of their
    definition.
    """

    number: int
    request: Request | None
    _tape: Tape
    status: int | None = None
    headers: dict[str, list[str]] = field(default_factory=dict)
    asked_headers: set[str] = field(default_factory=set)
    """The response headers that the client read."""
    reason_phrase: str = ""
    reads: list[tuple[float, bytes]] = field(default_factory=list)
    size: int = 0
    end: End | None = None
    dropped: bool = False
    """Whether it is left out of the recording."""
    failure: str = ""
    """The reason why there is no answer, or only a part of it."""
    finish: Callable[[], None] = lambda: None
    started: float = field(default_factory=time.perf_counter)

    @property
    def whole(self) -> bool:
        """Whether the answer is read to its end; ``finish`` reads the rest that the client did not
        read.
        """
        return self._tape.whole

    def answered(self, status: int, headers: dict[str, list[str]], reason_phrase: str = "") -> None:
        """Note that status and headers have arrived."""
        self.status, self.headers, self.reason_phrase = status, headers, reason_phrase
        self._tape.tell(Answered(self.number, status, reason_phrase, headers))

    def read(self, data: bytes) -> None:
        """Note bytes of the body."""
        at_ms = (time.perf_counter() - self.started) * 1000
        self.reads.append((at_ms, data))
        self.size += len(data)
        self._tape.tell(Arrived(self.number, at_ms, data))

    @property
    def excess(self) -> str:
        """The reason why the rest of the answer is not read; empty within the limits of
        the tape.
        """
        tape = self._tape
        if self.size > tape.answer_bytes:
            return (
                f"the answer has more than {tape.answer_bytes} bytes; allow more with answer_bytes"
                " (--answer-bytes)"
            )
        if self.reads and self.reads[-1][0] > tape.answer_s * 1000:
            return (
                f"the answer did not end in {tape.answer_s:g} s; allow more with answer_seconds"
                " (--answer-seconds)"
            )
        return ""

    def ended(self, end: End) -> None:
        """Note that the exchange has ended. Only the first call counts, because clients also close
        ended streams.
        """
        if self.end is None:
            self.end = end
            self._tape.tell(Ended(self.number, end))

    def left(self, end: End = "aborted") -> None:
        """Note that the client has closed the connection, perhaps while it was reading. The answer
        is complete if its last message is the last of a stream, because some clients stop reading
        there.
        """
        if self.end is not None:
            return
        encoding = first_value(self.headers, "content-encoding")
        body, _ = unpack_before_fault(b"".join(data for _, data in self.reads), encoding)
        self.ended("complete" if _LAST_MESSAGE.search(body) else end)

    def exchange(self) -> Exchange:
        """Return the recorded exchange, which has an answer."""
        assert self.status is not None, f"exchange {self.number} has no answer yet"
        return Exchange(
            self.request,
            self.status,
            self.headers,
            tuple(self.reads),
            self.end or "aborted",
            self.reason_phrase,
        )
