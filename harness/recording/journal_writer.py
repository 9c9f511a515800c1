"""Writes the crash journal while a recording runs: a frame of an answer is appended when it ends.

A frame is redacted as a whole, scanned and appended before the client gets its last bytes, so that
after `kill -9` only the read that was arriving is missing. An incomplete frame, or a frame after
which the value of a member may follow, waits. Compressed bodies, and exchanges that a user's hook
filters, are written when they end. If anything may be a secret, the journal is deleted and nothing
more is written.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.cassettes.journal import (
    Answered,
    Arrived,
    Ended,
    JournalFact,
    Started,
    encode_fact,
    encode_head,
)
from harness.cassettes.redaction.guard import Guard, SecretFound
from harness.cassettes.redaction.redactor import Redactor
from harness.stream.events import End

from .part_file import PartFile, delete_left, kept

_GZIP: Final = b"\x1f"
# The beginning of server-sent events: a comment or a field, perhaps after a byte order mark.
_EVENT: Final = re.compile(rb"[\s\xef\xbb\xbf]*(?::|data:|event:|id:|retry:)")
# A blank line ends an event. The group is atomic, because CR LF is one line end, not two.
_EVENT_END: Final = re.compile(rb"(?>\r\n|\n|\r){2}")
_ITEM_END: Final = re.compile(rb"[}\],][^\n]*\n")
"""The last line of an item in a list of frames that is written with indents."""

Begin = Callable[[Request | None], tuple[Origin, Guard]]
"""The first request → the origin, and the guard with the secrets."""

Reads = list[tuple[float | None, bytes]]


class JournalWriter:
    """The journal of the cassette at ``path``. `put` writes facts, from any thread; the file is
    created with the first answer.

    ``keep`` applies vcrpy's filters to a request; None drops the exchange.
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
        self._guard = Guard()
        self._head: bytes | None = None
        self._open: dict[int, _Open] = {}
        self._lock: Final = threading.Lock()
        self._answered = False

    def put(self, fact: JournalFact) -> None:
        """Write a fact, and what it completes."""
        with self._lock:
            self._answered |= isinstance(fact, Answered)
            if self._file.stopped:
                return
            try:
                self._add(fact)
            except Exception:  # noqa: BLE001  # from a user's hook; saving the recording raises it again
                self._file.delete()

    def end(self, error: BaseException | None) -> None:
        """Delete the journal if the cassette is saved, or if it must not be kept. After any other
        error the journal stays, and a note of the error names it. A saved cassette also replaces
        the journals of earlier recordings.
        """
        with self._lock:
            self._write_rest()
            if error is None or isinstance(error, SecretFound):
                self._file.delete()
            self._file.close()
        if error is None and self._answered:
            delete_left(self._path)
        if error is not None and self._file.path:
            error.add_note(kept(self._file.path, self._path))

    def _write_rest(self) -> None:
        """Write the incomplete frames: nothing follows them."""
        try:
            for number, exchange in self._open.items():
                if exchange.body and not self._file.stopped:
                    self._write_reads(number, exchange.body.close())
        except Exception:  # noqa: BLE001  # a secret, or a rule that fails
            self._file.delete()
        self._open.clear()

    def _add(self, fact: JournalFact) -> None:
        match fact:
            case Started(number, request):
                self._ask(number, request)
            case Answered(number) if number in self._open:
                self._answer(self._open[number], fact)
            case Arrived(number, at_ms, data) if number in self._open:
                self._read(number, self._open[number], at_ms, data)
            case Ended(number, end) if number in self._open:
                self._end(number, self._open.pop(number), end)

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
            exchange.body = FrameBuffer(self._guard.redactor)
            self._write_exchange(answer.number, head)

    def _read(self, number: int, exchange: _Open, at_ms: float | None, data: bytes) -> None:
        if exchange.body and exchange.body.is_new and data[:1] == _GZIP:
            exchange.body = None  # compressed, without a header for it
        if exchange.body:
            self._write_reads(number, exchange.body.feed(at_ms, data))
        else:
            exchange.reads.append((at_ms, data))

    def _end(self, number: int, exchange: _Open, end: End) -> None:
        if exchange.answer is None:
            return
        if exchange.body:
            self._write_reads(number, exchange.body.close())
        elif not self._write_exchange(number, _exchange_of(exchange, end)):
            return
        self._file.write(encode_fact(Ended(number, end)))

    def _write_exchange(self, number: int, exchange: Exchange) -> bool:
        """Write an exchange with its reads so far; False if the user's hook drops it."""
        kept = self._guard.redactor.exchange(exchange)
        if kept is None:
            return False
        if self._guard.scan_cassette(Cassette((kept,), Origin("recorded")), redacted=True):
            raise SecretFound("the exchange contains a secret")
        facts: list[JournalFact] = [
            Started(number, kept.request),
            Answered(number, kept.status, kept.reason_phrase, kept.headers),
            *(Arrived(number, at_ms, data) for at_ms, data in kept.reads),
        ]
        self._file.write((self._head or b"") + b"".join(map(encode_fact, facts)))
        self._head = b""
        return True

    def _write_reads(self, number: int, pieces: Sequence[JournalPiece]) -> None:
        if not pieces:
            return
        if self._guard.scan(b"".join(piece.data for piece in pieces)):
            raise SecretFound("the body contains a secret")
        facts = (Arrived(number, piece.at_ms, piece.data, piece.continues) for piece in pieces)
        self._file.write(b"".join(map(encode_fact, facts)))


@dataclass(slots=True)
class _Open:
    """An exchange that has not ended."""

    request: Request | None
    answer: Answered | None = None
    body: FrameBuffer | None = None
    """The frames of the answer. None: the reads are written at the end."""
    reads: Reads = field(default_factory=list)


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


@dataclass(frozen=True, slots=True)
class JournalPiece:
    """A redacted read, or a part of one."""

    at_ms: float | None
    data: bytes
    continues: bool = False
    """Whether it is the rest of the read before it."""


class FrameBuffer:
    """Buffers the body of one answer, and returns its redacted reads when their frames end. A read
    in which a frame ends and another begins is divided there.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held: Reads = []
        self._text = bytearray()
        self._next = 0  # no search before the text has this size
        self._is_divided = False
        self.is_new = True
        """Whether no read was added yet."""

    def feed(self, at_ms: float | None, data: bytes) -> list[JournalPiece]:
        """Add a read; returns what may be written now."""
        self.is_new = False
        self._held.append((at_ms, data))
        self._text += data
        if len(self._text) < self._next or (b"\n" not in data and b"\r" not in data):
            return []
        end = _frames_end(self._text, len(self._text) - len(data))
        if not end:
            return []
        if self._redactor.unfinished(bytes(self._text[:end])) < end:
            self._next = 2 * len(self._text)  # so that a hostile body is searched in linear time
            return []
        return list(self._release(len(self._text) - end))

    def close(self) -> list[JournalPiece]:
        """End the body; returns the rest."""
        return list(self._release(0))

    def _release(self, size: int) -> Iterator[JournalPiece]:
        """Yield the redacted reads without the last ``size`` bytes, which are held."""
        if not self._held:
            return
        at_ms, last = self._held[-1]
        cut = len(last) - size
        reads = [*self._held[:-1], (at_ms, last[:cut])]
        # The redactor drops empty reads, so reads are numbered.
        numbered = tuple((float(number), data) for number, (_, data) in enumerate(reads))
        redacted = dict(self._redactor.reads(numbered))
        for number, (at, _) in enumerate(reads):
            if redacted.get(number):
                yield JournalPiece(at, redacted[number], self._is_divided and not number)
        self._held = [(at_ms, last[cut:])] if size else []
        self._text, self._next = bytearray(last[cut:]), 0
        self._is_divided = bool(size and redacted.get(len(reads) - 1))


def _frames_end(text: bytearray, start: int) -> int:
    """Return the last end of a frame after ``start`` in a text that begins with a frame; 0 if there
    is none.
    """
    if text.isspace():  # the second half of a line end
        return len(text)
    if _EVENT.match(text):
        # The end of an event has at most 4 bytes; 3 of them may be in the text before.
        ends = _EVENT_END.finditer(text, max(start - 3, 0))
        return max((match.end() for match in ends if match.end() > start), default=0)
    stop = text.rfind(b"\n", start) + 1
    while stop:  # from the end, because most lines of a stream are complete
        begin = text.rfind(b"\n", 0, stop - 1) + 1
        line = bytes(text[begin:stop])
        if _ITEM_END.match(line) or _is_json(line.strip(b" \t\r\n,")):
            return stop
        stop = begin if begin > start else 0
    return 0


def _is_json(line: bytes) -> bool:
    line = line.removeprefix(b"[").removesuffix(b"]")
    if line[:1] != b"{" or line[-1:] != b"}":
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True
