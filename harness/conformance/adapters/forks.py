"""Ends processes that a function forks and in which it returns, because they would continue with
the tests.

Such a child names itself in a pipe, so that its parent can wait for it.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import Final

_SIZE: Final = 8


class Forks:
    """The children of the process that creates this object."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        weakref.finalize(self, _close, self._read, self._write)

    def end_child(self) -> None:
        """End this process, if it is a child."""
        if os.getpid() != self._process:
            os.write(self._write, os.getpid().to_bytes(_SIZE, "big"))
            os._exit(1)

    def reap(self) -> None:
        """Wait for the children that have ended, so that no zombies are left."""
        with suppress(BlockingIOError):
            while name := os.read(self._read, _SIZE):
                with suppress(ChildProcessError):  # the function has waited for it
                    os.waitpid(int.from_bytes(name, "big"), 0)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
