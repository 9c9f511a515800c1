"""Writes the crash journal NAME.yaml.part while a recording runs, line by line.

A line of a body is redacted, scanned and appended as soon as it is complete; an incomplete line is
never written. Compressed bodies, and exchanges that a user's hook filters, are written when they
end. If anything may be a secret, the journal is deleted and nothing more is written.

A separate thread writes the journal, so that no client waits for redaction or for the disk. After
`kill -9` only the facts of the last milliseconds are missing from the file. If the disk is full,
the file contains everything before that. Only its owner can read it, because it is not scanned as a
whole.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.cassettes.journal import (
    Answered,
    Ended,
    Fact,
    Read,
    Started,
    encode_fact,
    encode_head,
)
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from harness.cassettes.redaction.scanner import SecretFound
from harness.stream.events import End

from .part_file import PartFile, delete_left, kept

PAUSE_S: Final = 0.01
"""The time that the thread waits before it takes a fact, so that the client gets its
bytes first.
"""

TOGETHER: Final = 1000
"""The maximum number of facts that are written together."""

_OVERLAP: Final = 8192
"""Bytes of earlier lines that are scanned again with a line, because a secret may span several
lines.
"""

_LINE_END: Final = re.compile(rb"(?<=[,{}\[\]\n])[ \t]*\r?\n")
"""A line end that is not inside a JSON value or a frame. After a colon or a string, the value of a
member may still follow.
"""

_GZIP: Final = b"\x1f"

Begin = Callable[[Request | None], tuple[Origin, Guard]]
"""The first request → the origin, and the guard with the secrets."""

Reads = list[tuple[float | None, bytes]]


class JournalWriter:
    """The journal of the cassette at ``path``: `put` takes facts, a thread writes them. The file is
    created when the first answer arrives.

    ``keep`` applies vcrpy's filters to a request; None drops the exchange. The thread calls it and
    ``begin``.
    """

    def __init__(
        self,
        path: Path,
        begin: Begin,
        keep: Callable[[Request], Request | None] = lambda request: request,
    ) -> None:
        self._path: Final = path
        self._file: Final = PartFile(path)
        self._begin = begin
        self._keep = keep
        self._facts: SimpleQueue[Fact | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._answered = False
        self.put: Final[Callable[[Fact], None]] = self._facts.put

    def start(self) -> None:
        """Start the thread before the first fact, so that no client waits for the start."""
        self._thread = threading.Thread(target=self._run, name="harness-journal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the remaining facts. The file stays locked."""
        if self._thread is not None:
            self._facts.put(None)
            self._closing.set()
            self._thread.join()
            self._thread = None

    def end(self, error: BaseException | None) -> None:
        """Close and delete the journal if the cassette is saved, or if it must not be kept. After
        any other error the journal stays, and a note of the error names it. A saved cassette also
        replaces the journals of earlier recordings.
        """
        self.close()
        if error is None or isinstance(error, SecretFound):
            self._file.delete()
        self._file.close()
        if error is None and self._answered:
            delete_left(self._path)
        if error is not None and self._file.path:
            error.add_note(kept(self._file.path, self._path))

    def _run(self) -> None:
        file = self._file
        lines = _Lines(file, self._begin, self._keep)
        while True:
            facts = [self._facts.get()]
            if facts[0] is not None and self._facts.empty():
                self._closing.wait(PAUSE_S)
            # If the thread is late, all waiting facts are written together.
            while facts[-1] is not None and len(facts) < TOGETHER and not self._facts.empty():
                facts.append(self._facts.get())
            self._answered |= any(isinstance(fact, Answered) for fact in facts)
            try:
                if not file.stopped:
                    lines.add([fact for fact in facts if fact is not None])
                    if facts[-1] is None:
                        lines.close()
            except Exception:  # noqa: BLE001  # from a user's hook; saving the recording raises it again
                file.delete()
            if facts[-1] is None:
                return


@dataclass(slots=True)
class _Open:
    """An exchange that has not ended. ``reads`` are not written yet. They are added to ``body``; if
    it is None, they are written at the end.
    """

    request: Request | None
    answer: Answered | None = None
    body: LineBuffer | None = None
    reads: Reads = field(default_factory=list)
    scanned: bytes = b""


class _Lines:
    """Turns facts into lines of the journal. Raises `SecretFound` if a line contains a secret."""

    def __init__(
        self, file: PartFile, begin: Begin, keep: Callable[[Request], Request | None]
    ) -> None:
        self._file = file
        self._begin = begin
        self._keep = keep
        self._guard = Guard()
        self._head: bytes | None = None
        self._open: dict[int, _Open] = {}

    def add(self, facts: Sequence[Fact]) -> None:
        """Write the facts that can be written now."""
        for fact in facts:
            match fact:
                case Started(number, request):
                    self._ask(number, request)
                case Answered(number) if number in self._open:
                    self._answer(self._open[number], fact)
                case Read(number, at_ms, data) if number in self._open:
                    self._read(self._open[number], at_ms, data)
                case Ended(number, end) if number in self._open:
                    self._end(number, self._open.pop(number), end)
        for number, exchange in self._open.items():
            self._write_fresh(number, exchange)

    def close(self) -> None:
        """Write the rest of the unfinished bodies."""
        for number, exchange in self._open.items():
            if exchange.body:
                self._write_reads(number, exchange, exchange.body.close())

    def _ask(self, number: int, request: Request | None) -> None:
        if self._head is None:
            origin, self._guard = self._begin(request)
            self._head = encode_head(self._guard.redactor.origin(origin))
        kept = request and self._keep(request)
        if kept is not None or request is None:
            self._open[number] = _Open(kept)

    def _answer(self, exchange: _Open, answer: Answered) -> None:
        exchange.answer = answer
        head = _exchange_of(exchange, "aborted")
        if not self._guard.redactor.asks_whole and not _is_compressed(head):
            exchange.body = LineBuffer(self._guard.redactor)
            self._write_exchange(answer.number, head)

    def _read(self, exchange: _Open, at_ms: float | None, data: bytes) -> None:
        is_first = exchange.body and exchange.body.is_new and not exchange.reads
        if is_first and data[:1] == _GZIP:
            exchange.body = None  # compressed, without a header for it
        exchange.reads.append((at_ms, data))

    def _write_fresh(self, number: int, exchange: _Open) -> None:
        if exchange.body and exchange.reads:
            reads, exchange.reads = exchange.reads, []
            self._write_reads(number, exchange, exchange.body.feed(reads))

    def _end(self, number: int, exchange: _Open, end: End) -> None:
        if exchange.answer is None:
            return
        self._write_fresh(number, exchange)
        if exchange.body:
            self._write_reads(number, exchange, exchange.body.close())
        elif not self._write_exchange(number, _exchange_of(exchange, end)):
            return
        self._file.write(encode_fact(Ended(number, end)))

    def _write_exchange(self, number: int, exchange: Exchange) -> bool:
        """Write an exchange with its reads so far; False if the user's hook drops it."""
        kept = self._guard.redactor.exchange(exchange)
        if kept is None:
            return False
        if self._guard.scanner.scan_cassette(Cassette((kept,), Origin("recorded")), redacted=True):
            raise SecretFound("the exchange contains a secret")
        facts: list[Fact] = [
            Started(number, kept.request),
            Answered(number, kept.status, kept.reason_phrase, kept.headers),
            *(Read(number, at_ms, data) for at_ms, data in kept.reads),
        ]
        self._file.write((self._head or b"") + b"".join(map(encode_fact, facts)))
        self._head = b""
        return True

    def _write_reads(self, number: int, exchange: _Open, reads: Reads) -> None:
        if not reads:
            return
        seen = exchange.scanned + b"".join(data for _, data in reads)
        if self._guard.scanner.scan(seen):
            raise SecretFound("the body contains a secret")
        exchange.scanned = seen[-_OVERLAP:]
        self._file.write(b"".join(encode_fact(Read(number, at_ms, data)) for at_ms, data in reads))


def _exchange_of(exchange: _Open, end: End) -> Exchange:
    answer = exchange.answer
    assert answer is not None, "the caller has an answer"
    return Exchange(
        exchange.request,
        answer.status,
        answer.headers,
        tuple(exchange.reads),
        end,
        answer.reason_phrase,
    )


def _is_compressed(exchange: Exchange) -> bool:
    coding = exchange.header("content-encoding") or "identity"
    return coding.strip().lower() != "identity"


class LineBuffer:
    """Buffers the body of one answer, and returns its redacted reads when their lines are complete.
    The cuts between reads and the times of reads do not change.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._begun = b""  # raw bytes of a line, of which the first reads were already returned
        self._held: Reads = []
        self._tail = b""

    @property
    def is_new(self) -> bool:
        """Whether no read was added yet."""
        return not self._tail

    def feed(self, reads: Reads) -> Reads:
        """Add reads; returns the reads that may be written now."""
        self._held += reads
        seen = self._tail + b"".join(data for _, data in reads)
        self._tail = seen[-_OVERLAP:]
        if not _LINE_END.search(seen):
            return []
        text = self._text()
        whole = text[: _last_line_end(text)]
        return self._release(text, self._redactor.unfinished(whole))

    def close(self) -> Reads:
        """End the body; returns the remaining reads."""
        text = self._text()
        return self._release(text, len(text))

    def _text(self) -> bytes:
        return self._begun + b"".join(data for _, data in self._held)

    def _release(self, text: bytes, end: int) -> Reads:
        """The redacted reads that end in ``text`` at ``end`` or before."""
        ends = list(accumulate((len(data) for _, data in self._held), initial=len(self._begun)))
        count = sum(place <= end for place in ends[1:])
        if not count:
            return []
        # The redactor drops empty reads, so reads are numbered; number 0 was already returned.
        numbered = enumerate([self._begun, *(data for _, data in self._held)])
        redacted = dict(self._redactor.reads(tuple((float(n), data) for n, data in numbered)))
        released = [
            (at_ms, redacted[number])
            for number, (at_ms, _) in enumerate(self._held[:count], 1)
            if number in redacted
        ]
        given = text[: ends[count]]
        self._begun = given[min(_last_line_end(given), self._redactor.unfinished(given)) :]
        self._held = self._held[count:]
        return released


def _last_line_end(text: bytes) -> int:
    """The end of the last complete line of ``text``; 0 if there is none."""
    stop = text.rfind(b"\n")
    while stop >= 0:  # from the end, because most lines of a stream are complete
        start = text.rfind(b"\n", 0, stop)
        if _LINE_END.search(text, start + 1, stop + 1):
            return stop + 1
        stop = start
    return 0
