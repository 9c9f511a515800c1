"""Staging: what arrives stands in NAME.yaml.part at once; only a whole recording is moved over NAME.yaml.

The unfinished file is written by a thread of its own, line by line, so that no read waits for a disk and a killed process leaves all but
what came in its last moment. It is readable by its owner alone, since it has not been scanned as a whole; what each line shows is looked
at before it is written, together with the end of what came before, and at the first doubt the file is gone.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from tempfile import mkstemp
from types import TracebackType
from typing import Final, Self

from .. import unfinished
from ..cassette import CassetteError, Origin, Request
from ..events import End
from ..vcr_format import Guard

OVERLAP: Final = 1024
"""So many bytes of an earlier read are looked at again with the next one: a secret may come in two reads."""
WINDOW: Final = 8192
"""So many bytes are looked at in one go, since nobody else runs meanwhile."""
PAUSE_S: Final = 0.01
"""So long the thread waits before it takes what has come: first the client has its answer, then it is written down."""


def part_of(path: Path) -> Path:
    """Where the unfinished recording of this cassette stands."""
    return path.with_name(path.name + ".part")


def left_behind(path: Path) -> str | None:
    """What to tell of an unfinished recording that an earlier run left; None if there is none."""
    part = part_of(path)
    if not part.exists():
        return None
    return f"{part} is what an earlier recording left when it stopped; `harness import` keeps what is in it, recording anew replaces it"


def save(path: Path, text: str) -> None:
    """Move a whole text to ``path``, on disk before it is there: whatever happens, a good file stays or a good one takes its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    whole = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        whole.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        whole.replace(path)
    except BaseException:
        whole.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


class Unfinished:
    """The unfinished file of one cassette: told of facts, it writes them; the file is made when the first answer comes.

    ``begin`` gives, from the first request, the origin and who knows what is secret; ``keep`` what of a request vcrpy's filters let
    stand, None for one that is not recorded. Both are called by the thread, as is all that takes time: who tells a fact stands between
    a client and its answer.
    """

    def __init__(
        self,
        path: Path,
        begin: Callable[[Request | None], tuple[Origin, Guard]],
        keep: Callable[[Request], Request | None] = lambda request: request,
    ) -> None:
        self.part: Final = part_of(path)
        self._begin = begin
        self._keep = keep
        self._facts: SimpleQueue[Callable[[_Writer], None] | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the thread wait for facts, before there are any: starting one takes longer than a first answer may wait."""
        self._thread = threading.Thread(target=self._write, name="harness-unfinished", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def asked(self, take: int, request: Request | None) -> None:
        self._facts.put(lambda writer: writer.asked(take, request))

    def answered(self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]) -> None:
        self._facts.put(lambda writer: writer.answered(take, status, reason_phrase, headers))

    def read(self, take: int, at: float, data: bytes) -> None:
        self._facts.put(lambda writer: writer.read(take, at, data))

    def ended(self, take: int, end: End) -> None:
        self._facts.put(lambda writer: writer.ended(take, end))

    def close(self) -> None:
        """Write what is still to be written; the file stays."""
        if self._thread is not None:
            self._facts.put(None)
            self._closing.set()
            self._thread.join()
            self._thread = None

    def discard(self) -> None:
        """The recording is whole and in its place: the unfinished one goes."""
        self.close()
        self.part.unlink(missing_ok=True)

    def _write(self) -> None:
        """The thread."""
        writer = _Writer(self.part, self._begin, self._keep)
        try:
            while (tell := self._facts.get()) is not None:
                if self._facts.empty():
                    self._closing.wait(PAUSE_S)
                if writer.doubted:
                    continue
                try:
                    tell(writer)
                except (CassetteError, OSError):
                    writer.doubted = True  # nobody knows what is secret, or the disk is full: whoever saves the recording is told
        finally:
            writer.close()


class _Writer:
    """Facts into lines that may be written; a request that has no answer yet waits for it, since no exchange could be read of it."""

    def __init__(
        self, part: Path, begin: Callable[[Request | None], tuple[Origin, Guard]], keep: Callable[[Request], Request | None]
    ) -> None:
        self.doubted = False
        self._part = part
        self._begin = begin
        self._keep = keep
        self._left_out: set[int] = set()
        self._file: int | None = None
        self._guard: Guard | None = None
        self._waiting: list[bytes] = []
        self._tails: dict[int, bytes] = {}

    def asked(self, take: int, request: Request | None) -> None:
        if self._guard is None:
            origin, self._guard = self._begin(request)
            self._waiting.append(unfinished.head_line(origin))
        kept = request and self._keep(request)
        if request and not kept:
            self._left_out.add(take)
            return
        line = unfinished.asked_line(take, kept and self._guard.scrubber.request(kept))
        self._append(line, line)

    def answered(self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]) -> None:
        assert self._guard is not None, "what is answered was asked"
        if take in self._left_out:
            return
        line = unfinished.answered_line(take, status, reason_phrase, self._guard.scrubber.request(Request("", "", headers)).headers)
        if self._file is None:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._part.unlink(missing_ok=True)  # an old one may have other rights
            self._file = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._append(line, line)

    def read(self, take: int, at: float, data: bytes) -> None:
        assert self._guard is not None, "what is read was asked"
        if take in self._left_out:
            return
        kept = self._guard.scrubber.body(data)
        seen = self._tails.get(take, b"") + kept
        self._tails[take] = seen[-OVERLAP:]
        self._append(unfinished.read_line(take, at, kept), seen)

    def ended(self, take: int, end: End) -> None:
        if take not in self._left_out:
            self._append(unfinished.ended_line(take, end), b"")

    def close(self) -> None:
        if self._file is None:
            return
        os.close(self._file)
        if self.doubted:
            self._part.unlink(missing_ok=True)

    def _append(self, line: bytes, shown: bytes) -> None:
        """Write the line, if what it shows gives no doubt; at a doubt all that is written goes."""
        assert self._guard is not None, "what is written was asked"
        for start in range(0, len(shown), WINDOW - OVERLAP):
            if self._guard.scanner.scan(shown[start : start + WINDOW]):
                self.doubted = True
                if self._file is not None:
                    os.ftruncate(self._file, 0)
                return
            time.sleep(0)  # let a read pass
        self._waiting.append(line)
        if self._file is not None:
            os.write(self._file, b"".join(self._waiting))
            self._waiting.clear()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """A rename is on disk when its folder is; not every system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
