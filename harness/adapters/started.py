"""Ends all processes that adapters have started. It finds them in ``/proc``.

A process that runs another program is identified by a mark in its environment, even if it left its
session or its parent has ended. A process that a function only forked is a child of the thread in
which the function ran.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

MARK: Final = "HARNESS_FUNCTION"
"""The environment variable that marks what functions start."""
ROUNDS: Final = 10
"""The maximum number of searches for remaining processes. The next search finds the processes that
were forked during the last one.
"""

LOADING_S: Final = 10.0
"""The maximum seconds in which a process loads its program."""
PROCESSES: Final = Path("/proc")

_PID_SIZE: Final = 8
_START: Final = time.monotonic_ns()
_watched: Final[set[int]] = set()
"""The ids of the processes that end their descendants: this one, unless it was forked later."""
_running: Final[set[int]] = set()
"""The ids of the threads in which functions run now."""
_children: Final[set[int]] = set()
"""The ids of the processes that were still running when their function returned."""
_lock: Final = threading.Lock()


@contextmanager
def ended_with_this_process() -> Iterator[None]:
    """Ends all processes that this thread starts in the ``with`` block, but only when this process
    ends. A function may keep a process between two exchanges.
    """
    process, thread = os.getpid(), threading.get_native_id()
    before = {*_children_of_thread(thread)}
    with _lock:
        if process not in _watched:
            from multiprocessing.util import Finalize  # a run without functions does not need it

            _watched.add(process)
            # Runs before multiprocessing waits for its children, also in the process of a pool.
            Finalize(None, _end_started, exitpriority=100)
        _running.add(thread)
        os.environ[MARK] = _mark()
    try:
        yield
    finally:
        if os.getpid() == process:
            with _lock:
                _children.update({*_children_of_thread(thread)} - before)
                _running.discard(thread)
                if not _running:
                    os.environ.pop(MARK, None)


def end_marked(name: str, mark: str, *, but: int = 0) -> None:
    """Kill all processes that have ``mark`` in the environment variable ``name``. A process that
    cleared its environment is not found.
    """
    for _ in range(ROUNDS):
        left = [pid for pid in _marked(f"{name}={mark}".encode()) if pid not in (but, os.getpid())]
        _kill(left)
        if not left:
            break


def _mark() -> str:
    """The mark of this process. A forked process has another one."""
    return f"{os.getpid()}-{_START}"


def _end_started() -> None:
    running = {pid for thread in _running for pid in _children_of_thread(thread)}
    _kill([*_with_descendants(running | (_children & {*_children_of("self")}))])
    end_marked(MARK, _mark())


def _kill(processes: Iterable[int]) -> None:
    for pid in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _with_descendants(processes: Iterable[int]) -> Iterator[int]:
    for pid in processes:
        yield pid
        yield from _with_descendants(_children_of(str(pid)))


def _children_of(process: str) -> Iterator[int]:
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        yield from _listed(path)


def _children_of_thread(thread: int) -> Iterator[int]:
    return _listed(Path(f"/proc/self/task/{thread}/children"))


def _listed(path: Path) -> Iterator[int]:
    with suppress(OSError):  # the process has ended, or belongs to another user
        yield from map(int, path.read_text(encoding="ascii").split())


def _marked(mark: bytes) -> Iterator[int]:
    for process in PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            if mark in _environment(process).split(b"\0"):
                yield int(process.name)


def _environment(process: Path) -> bytes:
    """The environment of a process. While the process loads another program, it reads as empty."""
    until = time.monotonic() + LOADING_S
    while not (environment := (process / "environ").read_bytes()):
        if _has_none(process) or time.monotonic() > until:
            break
        time.sleep(0.001)
    return environment


def _has_none(process: Path) -> bool:
    """Whether an environment is empty and stays so. ``execve`` replaces the memory of a process
    first, and sets the place of its environment last. A kernel thread and a process that has ended
    have no memory.
    """
    fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
    memory, start, end = fields[20], fields[47], fields[48]  # 23, 50, 51 in proc_pid_stat(5)
    return memory == b"0" or start == end != b"0"


class Forks:
    """Ends a forked process in which the user's function returns, because it would continue with
    the tests. The child writes its process id to a pipe, so that its parent can wait for it. The
    parent is the process that creates this object.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        weakref.finalize(self, _close, self._read, self._write)

    def end_child(self) -> None:
        """End this process if it is a child."""
        if os.getpid() != self._process:
            os.write(self._write, os.getpid().to_bytes(_PID_SIZE, "big"))
            os._exit(1)

    def reap(self) -> None:
        """Wait for the children that have ended, so that no zombies remain."""
        with suppress(BlockingIOError):
            while name := os.read(self._read, _PID_SIZE):
                with suppress(ChildProcessError):  # the function has waited for it
                    os.waitpid(int.from_bytes(name, "big"), 0)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
