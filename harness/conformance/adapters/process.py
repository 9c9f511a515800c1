"""Runs a program once, with limits for time and size, and ends everything that a program started.

A program runs in a session of its own. When it ends, all processes of the session are killed, and
on Linux also those that left the session: a mark in their environment identifies them.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from .adapter import AdapterError

MAX_OUTPUT: Final = 64 * 1024 * 1024
TAIL: Final = 2000
"""The bytes of stderr that are kept."""
MARK: Final = "HARNESS_PROGRAM"
"""The environment variable that marks a program and all processes that it starts."""

ROUNDS: Final = 10
"""Searches for processes that are left. A process that forks meanwhile is found by the next."""


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
) -> tuple[bytes, bytes, int]:
    """Run a program without input. Returns its stdout, the end of its stderr, and its
    status. Raises `AdapterError`.
    """
    mark = new_mark()
    try:
        process = subprocess.Popen(  # noqa: S603  # ours, or named by the user
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**environment, MARK: mark},
            start_new_session=True,
        )
    except OSError as error:
        raise AdapterError(f"{command[0]} can't be run: {error.strerror or error}") from None
    with process:
        assert process.stdout
        assert process.stderr
        try:
            deadline = time.monotonic() + timeout
            out, errors = gather(process.stdout, process.stderr, deadline, timeout)
            status = process.wait(max(0.1, timeout))
        except subprocess.TimeoutExpired:
            raise AdapterError(
                f"{command[0]} closed its output and did not end within {timeout:g} s"
            ) from None
        finally:
            end_session(process.pid, mark)
    return out, errors, status


def gather(
    stdout: IO[bytes], stderr: IO[bytes], deadline: float, timeout: float
) -> tuple[bytes, bytes]:
    """All of stdout, and the end of stderr. Raises `AdapterError` for a program that hangs or
    floods.
    """
    out, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ, out)
        selector.register(stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AdapterError(f"the program did not end within {timeout:g} s")
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                key.data.extend(data)
            del errors[:-TAIL]
            if len(out) > MAX_OUTPUT:
                raise AdapterError(
                    f"the program printed more than {MAX_OUTPUT:,} bytes for one exchange"
                )
    return bytes(out), bytes(errors)


def new_mark() -> str:
    """A value of `MARK` that no other program has."""
    return f"{os.getpid()}-{time.monotonic_ns()}"


def end_session(leader: int, mark: str) -> None:
    """Kill all processes of a session, and those that have the mark."""
    with suppress(ProcessLookupError, PermissionError):  # all processes have ended
        os.killpg(leader, signal.SIGKILL)
    for _ in range(ROUNDS):
        left = [pid for pid in _marked(f"{MARK}={mark}".encode()) if pid != leader]
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return


def _marked(mark: bytes) -> Iterator[int]:
    """The processes with this mark in their environment. Without ``/proc`` there are none; a
    process that emptied its environment is not found.
    """
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # the process has ended, or belongs to another user
            if mark in environ.read_bytes().split(b"\0"):
                yield int(environ.parent.name)
