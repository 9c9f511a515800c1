"""Runs a Python program many times and imports its modules once: a process forks for each run.

On a system without fork, each run starts a process of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from . import warm_server
from .adapter import AdapterError
from .process import MARK, end_session, gather, new_mark, run_process

_LOCK: Final = threading.Lock()
CAN_FORK: Final = hasattr(os, "fork") and hasattr(socket, "send_fds")


def run_program(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    timeout: float,
) -> tuple[bytes, int]:
    """Run a program and give its stdout and its exit code; raises `AdapterError` if it hangs or
    floods. Its module has the functions ``main(arguments)``, which returns the exit code, and
    ``warm_up()``, which does what every run would do first.
    """
    if CAN_FORK:
        try:
            with _LOCK:  # a warm process does one run at a time
                return _warm(module).run(arguments, environment, folder, timeout)
        except _Gone:
            pass
    code = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    out, _, status = run_process(command, environment, Path(folder), timeout)
    return out, status


class _Gone(Exception):
    """The warm process has ended, or could not begin."""


@cache
def _warm(module: str) -> _Warm:
    return _Warm(module)


class _Warm:
    """The process of one program."""

    def __init__(self, module: str) -> None:
        self._peer, theirs = socket.socketpair()
        self._mark = new_mark()
        order = json.dumps([sys.path, module])
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603  # our own script
                [sys.executable, "-P", str(warm_server.__file__), order],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, MARK: self._mark},
                start_new_session=True,
            )
        atexit.register(self.end)

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        timeout: float,
    ) -> tuple[bytes, int]:
        """One run; `_Gone` before it if there is no process."""
        deadline = time.monotonic() + timeout
        order = json.dumps([[*arguments], {**environment}, folder]).encode()
        pipes = [os.pipe(), os.pipe()]
        try:
            with os.fdopen(pipes[0][0], "rb") as out, os.fdopen(pipes[1][0], "rb") as errors:
                try:
                    length = warm_server.LENGTH.pack(len(order))
                    socket.send_fds(self._peer, [length], [write for _, write in pipes])
                    self._peer.sendall(order)
                finally:
                    for _, write in pipes:
                        os.close(write)
                printed, _ = gather(out, errors, deadline, timeout)
            self._peer.settimeout(max(0.1, deadline - time.monotonic()))
            status = self._peer.recv(warm_server.STATUS.size)
        except TimeoutError:
            self.end()
            raise AdapterError(
                f"the program closed its output and did not end within {timeout:g} s"
            ) from None
        except AdapterError:
            self.end()
            raise
        except OSError:
            status = b""
        if not status:
            self.end()
            raise _Gone
        return printed, warm_server.STATUS.unpack(status)[0]

    def end(self) -> None:
        """End the process and all that it started."""
        atexit.unregister(self.end)
        _warm.cache_clear()
        self._peer.close()
        end_session(self._process.pid, self._mark)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
