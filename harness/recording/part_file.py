"""Handles the file of a crash journal, in the folder ``.harness`` of the project, outside the
cassettes that are committed. It is created with the first lines, locked by the process that writes
it, and kept if the disk is full.

Each recording has its own file, NAME.yaml.RANDOM.part. A lock ends with its process, so a file
without a lock is from an earlier recording. On systems without locks, every file counts as one from
an earlier recording.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from .locks import lock

FOLDER: Final = ".harness"
_PROJECT: Final = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", ".git")
"""A folder with one of these is a project."""


def journal_folder(cassette: Path) -> Path:
    """Return the folder of the journals of a cassette."""
    return state_folder(cassette, "journals")


def state_folder(file: Path, name: str) -> Path:
    """Return the folder ``name`` for what the harness keeps about a file and nobody commits: in the
    nearest project that contains the file, or else beside it, with the folders between as in the
    project.
    """
    folder = file.absolute().parent
    for root in (folder, *folder.parents):
        if any((root / known).exists() for known in _PROJECT):
            return root / FOLDER / name / folder.relative_to(root)
    return folder / FOLDER / name


def make_state_folder(folder: Path) -> None:
    """Create a folder of `state_folder`, which git ignores. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    root = _root(folder)
    if root.is_symlink():
        raise OSError(f"{root} is a link, and is not followed")
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


class PartFile:
    """The journal of one cassette."""

    def __init__(self, cassette: Path) -> None:
        self.path: Path | None = None
        """None until lines are written."""
        self.stopped = False
        """Whether nothing more is written, because the disk is full or the journal was deleted."""
        self._cassette = cassette
        self._handle: int | None = None
        self._size = 0

    def write(self, lines: bytes) -> None:
        """Append whole lines. If the disk is full, the lines that fit stay."""
        if self.stopped:
            return
        done = 0
        try:
            if self._handle is None:
                self._open()
            assert self._handle is not None, "the file is open now"
            while done < len(lines):
                done += os.write(self._handle, lines[done:])
            self._size += done
        except OSError:
            self.stopped = True
            if not self._size:
                self.delete()
            elif self._handle is not None:
                self._size += lines.rfind(b"\n", 0, done) + 1
                with suppress(OSError):  # the reader ignores an incomplete line
                    os.ftruncate(self._handle, self._size)

    def _open(self) -> None:
        folder = journal_folder(self._cassette)
        make_state_folder(folder)
        handle, name = mkstemp(dir=folder, prefix=f"{self._cassette.name}.", suffix=".part")
        lock(handle)
        self.path, self._handle = Path(name), handle

    def delete(self) -> None:
        """Delete the file; nothing more is written."""
        self.stopped = True
        if self.path is not None and self._handle is not None:
            os.ftruncate(self._handle, 0)
            self.path.unlink(missing_ok=True)
            self.path = None

    def close(self) -> None:
        """Release the lock; the file then counts as one from an earlier recording."""
        self.stopped = True
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def left_behind(path: Path) -> str | None:
    """Return a message about the journals of earlier recordings; None if there are none."""
    parts = list(_left(path))
    if not parts:
        return None
    return (
        f"{', '.join(map(str, parts))} was left by an earlier recording that stopped; `harness"
        " import` keeps its exchanges, a new recording replaces it"
    )


def kept(part: Path, path: Path) -> str:
    """Return the message about the journal of a recording that has just failed."""
    target = path.with_name(f"NEW-{path.name}") if path.exists() else path
    return (
        f"the reads so far are kept in {part}; `harness import {part} -o {target}` makes a cassette"
        " from it"
    )


def delete_left(path: Path) -> None:
    """Delete the journals of earlier recordings, because the cassette is complete."""
    for part in _left(path):
        _delete_if_left(part)


def _root(folder: Path) -> Path:
    return next(place for place in folder.parents if place.name == FOLDER)


def _left(path: Path) -> Iterator[Path]:
    """Return the journals that no process is writing. An empty file has just been created."""
    pattern = re.compile(re.escape(path.name) + r"\.[a-z0-9_]+\.part")
    folder = journal_folder(path)
    parts = sorted(folder.iterdir()) if folder.is_dir() else ()
    return (
        part
        for part in parts
        if pattern.fullmatch(part.name) and not _is_in_use(part) and part.lstat().st_size
    )


def _is_in_use(path: Path) -> bool:
    """Return whether a process is writing a journal."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return not lock(file.fileno(), shared=True)


def _delete_if_left(path: Path) -> bool:
    """Delete a journal; False if a process is writing it."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return True
    except OSError:  # a link, which is not followed
        path.unlink()
        return True
    try:
        if not lock(handle) or not os.path.samestat(os.fstat(handle), path.lstat()):
            return False
        path.unlink()  # only the owner of its lock deletes a journal
        return True
    except FileNotFoundError:
        return True
    finally:
        os.close(handle)
