"""Staging: what arrives stands in NAME.yaml.part at once; only a whole recording is moved over
NAME.yaml.

The unfinished file is written by a thread of its own, line by line (`writing`), so that no read
waits for a disk and a killed process leaves all but what came in its last moment. It is readable by
its owner alone, since it has not been scanned as a whole.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from tempfile import mkstemp
from types import TracebackType
from typing import Final, Self

from harness.cassettes import CassetteError, Origin, Request
from harness.cassettes.redaction.guard import Guard
from harness.stream.events import End

from .journal_writer import Writer

PAUSE_S: Final = 0.01
"""So long the thread waits before it takes what has come: first the client has its answer, then it
is written down.
"""


def part_of(path: Path) -> Path:
    """Where the unfinished recording of this cassette stands."""
    return path.with_name(path.name + ".part")


def left_behind(path: Path) -> str | None:
    """What to tell of an unfinished recording that an earlier run left; None if there is none."""
    part = part_of(path)
    if not part.exists():
        return None
    return (
        f"{part} is what an earlier recording left when it stopped; `harness import` keeps what is"
        " in it, recording anew replaces it"
    )


def save(path: Path, text: str) -> None:
    """Move a whole text to ``path``, on disk before it is there: whatever happens, a good file
    stays or a good one takes its place.
    """
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
    """The unfinished file of one cassette: told of facts, it writes them; the file is made when the
    first answer comes.

    ``begin`` gives, from the first request, the origin and who knows what is secret; ``keep`` what
    of a request vcrpy's filters let stand, None for one that is not recorded. Both are called by
    the thread, as is all that takes time: who tells a fact stands between a client and its answer.
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
        self._facts: SimpleQueue[Callable[[Writer], None] | None] = SimpleQueue()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the thread wait for facts, before there are any: starting one takes longer than a
        first answer may wait.
        """
        self._thread = threading.Thread(target=self._write, name="harness-unfinished", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def asked(self, take: int, request: Request | None) -> None:
        self._facts.put(lambda writer: writer.asked(take, request))

    def answered(
        self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]
    ) -> None:
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
        writer = Writer(self.part, self._begin, self._keep)
        try:
            while (tell := self._facts.get()) is not None:
                if self._facts.empty():
                    self._closing.wait(PAUSE_S)
                if writer.doubted:
                    continue
                try:
                    tell(writer)
                except (CassetteError, OSError):
                    # nobody knows what is secret, or the disk is full: whoever saves the recording
                    # is told
                    writer.doubt()
        finally:
            writer.close()


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
