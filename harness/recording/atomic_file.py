"""Replaces a file as a whole: it is written under another name, so no reader sees a part of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from errno import EACCES
from pathlib import Path
from tempfile import mkstemp
from typing import Final

UNFINISHED: Final = ".part"
"""The suffix of a file that is not complete."""


def save(path: Path, pieces: Iterable[bytes], *, flush: bool = True) -> None:
    """Replace the file at ``path``, and ``flush`` it to disk: a recording can't be repeated, a
    report can. If anything fails, the old file is unchanged. Raises as `stage` does.
    """
    temporary = stage(path, pieces, flush=flush)
    try:
        commit(temporary, path, flush=flush)
    except BaseException:  # also an interrupt
        temporary.unlink(missing_ok=True)
        raise


def stage(path: Path, pieces: Iterable[bytes], mark: str = "", *, flush: bool = True) -> Path:
    """Write a file beside ``path`` with its permissions. If anything fails, the new file is
    deleted. ``mark`` is a part of its name. Raises `PermissionError` if ``path`` is a file that
    nobody may write.
    """
    if path.is_file() and not path.stat().st_mode & 0o222:
        raise PermissionError(EACCES, "the file is read-only", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = mkstemp(UNFINISHED, f".{path.name}.{mark}", path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
    except BaseException:  # also an interrupt
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def commit(temporary: Path, path: Path, *, flush: bool = True) -> None:
    """Move a staged file to ``path``."""
    temporary.replace(path)
    if flush:
        _sync_folder(path.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Flush a rename to disk. Some systems can't open folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
