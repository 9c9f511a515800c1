"""Writes down what happens while a recording runs: each fact is a line, redacted, and looked at
before it is written.

What a line shows is scanned together with the end of what came before it; at the first doubt all
that is written goes. A user's hook judges whole exchanges, so with one an exchange is written when
it has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, journal
from harness.cassettes.redaction.guard import Guard
from harness.stream.events import End

from .arriving import Arriving, Written

OVERLAP: Final = 1024
"""So many bytes of an earlier read are looked at again with the next one: a secret may come in two
reads.
"""
WINDOW: Final = 8192
"""So many bytes are looked at in one go, since nobody else runs meanwhile."""

_NOWHERE: Final = Origin("recorded")  # of what is only looked at


class Writer:
    """Facts into lines of ``part``; a request that has no answer yet waits for it, since no
    exchange could be read of it.

    ``begin`` and ``keep`` are those of `staging.Unfinished`. ``doubted``: nothing may be written
    any more.
    """

    def __init__(
        self,
        part: Path,
        begin: Callable[[Request | None], tuple[Origin, Guard]],
        keep: Callable[[Request], Request | None],
    ) -> None:
        self.doubted = False
        self._part = part
        self._begin = begin
        self._keep = keep
        self._left_out: set[int] = set()
        self._whole: dict[
            int, tuple[Exchange, list[tuple[float | None, bytes]]]
        ] = {}  # those that the hook waits for, and their reads
        self._bodies: dict[int, Arriving] = {}
        self._file: int | None = None
        self._guard: Guard | None = None
        self._waiting: list[bytes] = []
        self._tails: dict[int, bytes] = {}

    def asked(self, take: int, request: Request | None) -> None:
        if self._guard is None:
            origin, self._guard = self._begin(request)
            self._waiting.append(journal.head_line(self._guard.redactor.origin(origin)))
        kept = request and self._keep(request)
        if request and not kept:
            self._left_out.add(take)
        elif self._guard.redactor.asks_whole:
            self._whole[take] = Exchange(kept, 0, {}, (), "aborted"), []
        else:
            self._write_asked(take, kept and self._guard.redactor.request(kept))

    def answered(
        self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]
    ) -> None:
        assert self._guard is not None, "what is answered was asked"
        if take in self._left_out:
            return
        if take in self._whole:
            begun, reads = self._whole[take]
            self._whole[take] = (
                replace(begun, status=status, headers=headers, reason_phrase=reason_phrase),
                reads,
            )
            return
        coding = next(
            (
                values[0]
                for name, values in headers.items()
                if name.lower() == "content-encoding" and values
            ),
            None,
        )
        self._bodies[take] = Arriving(self._guard.redactor, coding)
        kept = self._guard.redactor.request(Request("", "", headers)).headers
        self._write_answered(take, status, self._guard.redactor.text(reason_phrase), kept)

    def read(self, take: int, at: float, data: bytes) -> None:
        if take in self._left_out:
            return
        if take in self._whole:
            self._whole[take][1].append((at, data))
            return
        self._write_reads(take, self._bodies[take].feed(at, data))

    def ended(self, take: int, end: End) -> None:
        if take in self._left_out:
            return
        if take in self._whole:
            begun, reads = self._whole.pop(take)
            self._write_ended(take, replace(begun, reads=tuple(reads), end=end))
        elif body := self._bodies.pop(take, None):
            self._write_reads(take, body.close())
        if take not in self._left_out:
            self._append(journal.ended_line(take, end), b"")

    def close(self) -> None:
        """Write what has waited, and close the file; it goes if there was a doubt."""
        try:
            for take, body in self._bodies.items() if not self.doubted else ():
                self._write_reads(take, body.close())
        except (CassetteError, OSError):
            self.doubt()
        if self._file is None:
            return
        os.close(self._file)
        if self.doubted:
            self._part.unlink(missing_ok=True)

    def doubt(self) -> None:
        """Nothing more is written, and what is written goes."""
        self.doubted = True
        if self._file is not None:
            os.ftruncate(self._file, 0)

    def _write_ended(self, take: int, exchange: Exchange) -> None:
        """A whole exchange, as the user's hook lets it be."""
        assert self._guard is not None, "what has ended was asked"
        try:
            kept = self._guard.redactor.exchange(exchange) if exchange.status else None
        # the hook is the user's; who saves the recording is told what it raises
        except Exception as error:  # noqa: BLE001
            raise CassetteError(f"before_record raised {type(error).__name__}") from None
        if kept is None:
            self._left_out.add(take)
            return
        if self._guard.scanner.scan_cassette(Cassette((kept,), _NOWHERE), redacted=True):
            raise CassetteError("what the hook has left shows a secret")
        self._write_asked(take, kept.request)
        self._write_answered(take, kept.status, kept.reason_phrase, kept.headers)
        self._write_reads(take, [Written(at or 0.0, data, data) for at, data in kept.reads])

    def _write_asked(self, take: int, request: Request | None) -> None:
        assert self._guard is not None, "what is written was asked"
        if request and any(name.lower() == "content-encoding" for name in request.headers):
            packed = Cassette((Exchange(request, 0, {}, (), "aborted"),), _NOWHERE)
            if self._guard.scanner.scan_cassette(packed, redacted=True):
                raise CassetteError("a packed request shows a secret")
        line = journal.asked_line(take, request)
        self._append(line, line)

    def _write_answered(
        self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]
    ) -> None:
        line = journal.answered_line(take, status, reason_phrase, headers)
        if self._file is None:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._part.unlink(missing_ok=True)  # an old one may have other rights
            self._file = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._append(line, line)

    def _write_reads(self, take: int, reads: Iterable[Written]) -> None:
        for one in reads:
            seen = self._tails.get(take, b"") + one.plain
            self._tails[take] = seen[-OVERLAP:]
            self._append(journal.read_line(take, one.at, one.data), seen)

    def _append(self, line: bytes, shown: bytes) -> None:
        """Write the line, if what it shows gives no doubt; at a doubt all that is written goes."""
        assert self._guard is not None, "what is written was asked"
        for start in range(0, len(shown), WINDOW - OVERLAP):
            if self._guard.scanner.scan(shown[start : start + WINDOW]):
                self.doubt()
            time.sleep(0)  # let a read pass
        if self.doubted:
            return
        self._waiting.append(line)
        if self._file is not None:
            os.write(self._file, b"".join(self._waiting))
            self._waiting.clear()
