"""Locks files and folders between processes; a lock ends with its process, or when it is closed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks, so nothing is locked there
    fcntl = None  # type: ignore[assignment]  # on other systems it is a module


def lock(handle: int, *, shared: bool = False) -> bool:
    """Lock a file until it is closed; False if another process, or another recording of this one,
    has locked it.
    """
    if fcntl is not None:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
    return True


@contextmanager
def folder_locked(folder: Path) -> Iterator[None]:
    """Wait until the folder is not locked, and lock it if the file system has locks."""
    handle = None
    if fcntl is not None:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)
