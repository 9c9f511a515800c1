"""The crash journal of a recording: a frame of an answer is appended when it ends.

A frame is redacted as a whole, searched and appended before the client gets its last bytes, so that
after `kill -9` only the read that was arriving is missing. An incomplete frame, or a frame after
which the value of a member may follow, waits. Compressed bodies, and exchanges that a user's hook
filters, are written when they end. If anything may be a secret, the journal is deleted and nothing
more is written.

Each recording has its own file, NAME.yaml.RANDOM.part, in the folder ``.harness`` of the project,
outside the cassettes that are committed. Its process locks it. A lock ends with its process, so a
file without a lock is from an earlier recording. On systems without locks, every file counts as one
from an earlier recording.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkstemp
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
from harness.stream.websocket import is_log

from .locks import lock
from .state_folder import make_state_folder, state_folder

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


class Journal:
    """The journal of the cassette at ``path``. `put` writes facts, from any thread; the file is
    created with the first answer. If it can't be written, or the disk is full, the lines that fit
    stay, and nothing more is written.

    ``keep`` applies vcrpy's filters to a request; None drops the exchange.
    """

    def __init__(
        self,
        path: Path,
        begin: Begin,
        keep: Callable[[Request], Request | None] = lambda request: request,
    ) -> None:
        self._path: Final = path
        self._begin = begin
        self._keep = keep
        self._guard = Guard()
        self._head: bytes | None = None
        self._open: dict[int, _Open] = {}
        self._lock: Final = threading.Lock()
        self._answered = self._stopped = False
        self._part: Path | None = None
        self._handle: int | None = None

    def put(self, fact: JournalFact) -> None:
        """Write a fact, and what it completes."""
        with self._lock:
            self._answered |= isinstance(fact, Answered)
            if self._stopped:
                return
            try:
                self._add(fact)
            except Exception:  # noqa: BLE001  # from a user's hook; saving the recording raises it again
                self._delete()

    def end(self, error: BaseException | None) -> None:
        """Delete the journal if the cassette is saved, or if it must not be kept. After any other
        error the journal stays, and a note of the error names it. A saved cassette also replaces
        the journals of earlier recordings.
        """
        with self._lock:
            self._write_rest()
            if error is None or isinstance(error, SecretFound):
                self._delete()
            self._stopped = True
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None
        if error is None and self._answered:
            for part in _left(self._path):
                part.unlink(missing_ok=True)
        if error is not None and self._part:
            error.add_note(_kept(self._part, self._path))

    def _write_rest(self) -> None:
        """Write the incomplete frames: nothing follows them."""
        try:
            for exchange in self._open.values():
                if exchange.body and not self._stopped:
                    self._write_reads(exchange.body.close())
        except Exception:  # noqa: BLE001  # a secret, or a rule that fails
            self._delete()
        self._open.clear()

    def _add(self, fact: JournalFact) -> None:
        match fact:
            case Started(number, request):
                self._ask(number, request)
            case Answered(number) if number in self._open:
                self._answer(self._open[number], fact)
            case Arrived(number, at_ms, data) if number in self._open:
                self._read(self._open[number], at_ms, data)
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
        coding = head.header("content-encoding") or "identity"
        is_plain = coding.strip().lower() == "identity"
        if is_plain and not self._guard.redactor.asks_whole:
            exchange.body = FrameBuffer(self._guard.redactor, answer.number)
            self._write_exchange(answer.number, head)

    def _read(self, exchange: _Open, at_ms: float | None, data: bytes) -> None:
        if exchange.body and exchange.body.is_new and data[:1] == _GZIP:
            exchange.body = None  # compressed, without a header for it
        if exchange.body:
            self._write_reads(exchange.body.feed(at_ms, data))
        else:
            exchange.reads.append((at_ms, data))

    def _end(self, number: int, exchange: _Open, end: End) -> None:
        if exchange.answer is None:
            return
        if exchange.body:
            self._write_reads(exchange.body.close())
        elif not self._write_exchange(number, _exchange_of(exchange, end)):
            return
        self._append(encode_fact(Ended(number, end)))

    def _write_exchange(self, number: int, exchange: Exchange) -> bool:
        """Write an exchange with its reads so far; False if the user's hook drops it."""
        kept = self._guard.redactor.exchange(exchange)
        if kept is None:
            return False
        facts: list[JournalFact] = [
            Started(number, kept.request),
            Answered(number, kept.status, kept.reason_phrase, kept.headers),
            *(Arrived(number, at_ms, data) for at_ms, data in kept.reads),
        ]
        self._write(facts, kept)
        return True

    def _write_reads(self, reads: Sequence[Arrived]) -> None:
        if reads:
            pieces = tuple((read.at_ms, read.data) for read in reads)
            self._write(reads, Exchange(None, 200, {}, pieces))

    def _write(self, facts: Sequence[JournalFact], exchange: Exchange) -> None:
        """Write the facts of a redacted exchange. Raises `SecretFound`."""
        lines = (self._head or b"") + b"".join(map(encode_fact, facts))
        cassette = Cassette((exchange,), Origin("recorded"))
        if self._guard.scan(lines) or self._guard.scan_cassette(cassette, redacted=True):
            raise SecretFound("the exchange contains a secret")
        self._append(lines)
        self._head = b""

    def _append(self, lines: bytes) -> None:
        is_new = self._handle is None
        try:
            if self._handle is None:
                folder = _folder(self._path)
                make_state_folder(folder)
                prefix = f"{self._path.name}."
                self._handle, name = mkstemp(dir=folder, prefix=prefix, suffix=".part")
                self._part = Path(name)
                lock(self._handle)
            while lines:
                lines = lines[os.write(self._handle, lines) :]
        except OSError:  # a reader ignores an incomplete line
            self._stopped = True
            if is_new:
                self._delete()

    def _delete(self) -> None:
        self._stopped = True
        if self._part is not None and self._handle is not None:
            os.ftruncate(self._handle, 0)
            self._part.unlink(missing_ok=True)
            self._part = None


def left_behind(path: Path) -> str | None:
    """Return a message about the journals of earlier recordings; None if there are none."""
    parts = _left(path)
    if not parts:
        return None
    return (
        f"{', '.join(map(str, parts))} was left by an earlier recording that stopped; `harness"
        " import` keeps its exchanges, a new recording replaces it"
    )


def _kept(part: Path, path: Path) -> str:
    """Return the message about the journal of a recording that has just failed."""
    target = path.with_name(f"NEW-{path.name}") if path.exists() else path
    return (
        f"the reads so far are kept in {part}; `harness import {part} -o {target}` makes a cassette"
        " from it"
    )


def _folder(cassette: Path) -> Path:
    return state_folder(cassette, "journals")


def _left(path: Path) -> list[Path]:
    """Return the journals that no process is writing. An empty file has just been created."""
    pattern = re.compile(re.escape(path.name) + r"\.[a-z0-9_]+\.part")
    folder = _folder(path)
    return [
        part
        for part in (sorted(folder.iterdir()) if folder.is_dir() else ())
        if pattern.fullmatch(part.name) and part.lstat().st_size and not _is_in_use(part)
    ]


def _is_in_use(path: Path) -> bool:
    """Return whether a process is writing a journal."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return not lock(file.fileno(), shared=True)


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


class FrameBuffer:
    """Buffers the body of the answer of exchange ``number``, and returns its redacted reads when
    their frames end. A read in which a frame ends and another begins is divided there.
    """

    def __init__(self, redactor: Redactor, number: int) -> None:
        self._redactor = redactor
        self._number = number
        self._held: Reads = []
        self._text = bytearray()
        self._next = 0  # no search before the text has this size
        self._is_divided = False
        self.is_new = True
        """Whether no read was added yet."""

    def feed(self, at_ms: float | None, data: bytes) -> list[Arrived]:
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

    def close(self) -> list[Arrived]:
        """End the body; returns the rest."""
        return list(self._release(0))

    def _release(self, size: int) -> Iterator[Arrived]:
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
                is_rest = self._is_divided and not number
                yield Arrived(self._number, at, redacted[number], is_rest)
        self._held = [(at_ms, last[cut:])] if size else []
        self._text, self._next = bytearray(last[cut:]), 0
        self._is_divided = bool(size and redacted.get(len(reads) - 1))


def _frames_end(text: bytearray, start: int) -> int:
    """Return the last end of a frame after ``start`` in a text that begins with a frame; 0 if there
    is none.
    """
    if text.isspace():  # the second half of a line end
        return len(text)
    if is_log(text):  # messages of a session
        return text.rfind(b"\n") + 1
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
