"""Calls functions in a separate thread, so that a function that does not return can be abandoned.

The thread and its event loop are kept as long as the functions return in time. So a client that is
kept between two calls still works.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Final

_TRIES: Final = 20
_TRY_S: Final = 0.05

Work = Callable[[asyncio.Runner], Any]
"""A call, with the event loop for its coroutines."""
_Job = tuple[Work, Future[Any]]


class Expired(BaseException):
    """The time is over. Not an `Exception`, because some adapters retry after an `Exception`."""


class Overtime(Exception):
    """A call did not return in time. ``ended``: whether it could be interrupted."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__()
        self.ended = ended


class WorkerThread:
    """One thread that calls functions, one after the other."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._thread = threading.Thread(
            target=_work, args=(self._jobs, self._runner), name="harness-adapter", daemon=True
        )
        self._thread.start()

    def call(self, work: Work, timeout: float) -> Any:
        """The result of ``work``. Raises the exceptions of ``work``. Raises `Overtime` after the
        timeout; this thread can then not be used again.
        """
        future: Future[Any] = Future()
        self._jobs.put((work, future))
        if not wait([future], timeout).done:
            raise Overtime(ended=self._interrupt(future))
        return future.result()

    def end(self, wait_s: float = 0.0) -> None:
        """End the thread after its current call. Wait up to ``wait_s`` seconds for the end."""
        self._jobs.put(None)
        self._thread.join(wait_s)

    def _interrupt(self, future: Future[Any]) -> bool:
        """Raise `Expired` in the thread until the call ends. This does not interrupt code that
        blocks outside Python.
        """
        ident = ctypes.c_ulong(self._thread.ident or 0)
        for _ in range(_TRIES):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Expired))
            with suppress(RuntimeError):  # the loop is closed
                self._runner.get_loop().call_soon_threadsafe(lambda: None)
            if wait([future], _TRY_S).done:
                self.end()
                return True
        return False


def _work(jobs: SimpleQueue[_Job | None], runner: asyncio.Runner) -> None:
    # Expired may be raised after the call has ended; a loop that still runs can't be closed
    with suppress(Expired, RuntimeError), runner:
        while (job := jobs.get()) is not None:
            work, future = job
            try:
                future.set_result(work(runner))
            except BaseException as error:  # noqa: BLE001  # `call` raises it for its caller
                future.set_exception(error)
            del job, work, future
