"""Staging: what arrives stands in NAME.yaml.part at once; only a whole recording is moved over NAME.yaml.

The unfinished file is written by a thread of its own, line by line, so that no read waits for a disk and a killed process leaves all but
what came in its last moment. It is readable by its owner alone, since it has not been scanned as a whole; what each line shows is looked
at before it is written, together with the end of what came before, and at the first doubt the file is gone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from tempfile import mkstemp
from typing import Final

from .. import unfinished
from ..cassette import Cassette, CassetteError, Exchange, Origin, Request
from ..events import End
from ..scanning import refuse_secrets
from ..scrubbing import scrub

OVERLAP: Final = 4096
"""So many bytes of an earlier read are looked at again with the next one: a secret may come in two reads."""


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
    """The unfinished file of one cassette: told of facts, it writes them; made with the first of them.

    ``head`` gives the origin from the first request.
    """

    def __init__(self, path: Path, head: Callable[[Request | None], Origin], check: Callable[[str, str], str] = refuse_secrets) -> None:
        self.part: Final = part_of(path)
        self.doubt: str | None = None
        self._head = head
        self._check = check
        self._tails: dict[int, bytes] = {}
        self._lines: SimpleQueue[tuple[int, Callable[[], bytes], bytes] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._file: int | None = None

    def asked(self, take: int, request: Request | None) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, args=(self._head(request),), name="harness-unfinished", daemon=True)
            self._thread.start()
        self._tell(take, lambda: unfinished.asked_line(take, _scrubbed(Exchange(request, 0, {}, ())).request))

    def answered(self, take: int, status: int, reason_phrase: str, headers: dict[str, list[str]]) -> None:
        kept = Exchange(None, status, headers, ())
        self._tell(take, lambda: unfinished.answered_line(take, status, reason_phrase, _scrubbed(kept).headers))

    def read(self, take: int, at: float, data: bytes) -> None:
        self._tell(take, lambda: unfinished.read_line(take, at, data), data)

    def ended(self, take: int, end: End) -> None:
        self._tell(take, lambda: unfinished.ended_line(take, end))

    def close(self) -> None:
        """Write what is still to be written; the file stays."""
        if self._thread is not None:
            self._lines.put(None)
            self._thread.join()
            self._thread = None

    def discard(self) -> None:
        """The recording is whole and in its place, or holds what no file may hold: the unfinished one goes."""
        self.close()
        self.part.unlink(missing_ok=True)

    def _tell(self, take: int, line: Callable[[], bytes], data: bytes = b"") -> None:
        self._lines.put((take, line, data))

    def _write(self, origin: Origin) -> None:
        """The thread: opens the file, writes line after line, and drops it all at the first doubt."""
        self.part.parent.mkdir(parents=True, exist_ok=True)
        self.part.unlink(missing_ok=True)  # an old one may have other rights
        file = os.open(self.part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(file, unfinished.head_line(origin))
            while (told := self._lines.get()) is not None:
                take, line, data = told
                if self.doubt is None:
                    self._write_line(file, take, line(), data)
        finally:
            os.close(file)
        if self.doubt is not None:
            self.part.unlink(missing_ok=True)

    def _write_line(self, file: int, take: int, line: bytes, data: bytes) -> None:
        tail = self._tails.get(take, b"") + data
        self._tails[take] = tail[-OVERLAP:]
        try:
            self._check((line + tail).decode("utf-8", "replace"), str(self.part))
        except CassetteError as error:
            self.doubt = str(error)
            os.ftruncate(file, 0)
            return
        os.write(file, line)


def _scrubbed(exchange: Exchange) -> Exchange:
    return scrub(Cassette((exchange,), Origin("recorded"))).exchanges[0]


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
