"""Calls functions in a separate thread, so that a function that does not return can be abandoned.

The thread and its event loop live as long as the functions return in time, so that a client which
is kept between two calls still works.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final

_TRIES: Final = 20
_TRY_S: Final = 0.05
LEFT_S: Final = 1.0
"""The time for tasks and generators that functions have left."""


class Expired(BaseException):
    """The time is over. Not an `Exception`, because some adapters retry after every `Exception`."""


class Overtime(Exception):
    """A call did not return in time. ``ended``: whether it could be interrupted."""

    def __init__(self, *, ended: bool) -> None:
        super().__init__()
        self.ended = ended


class Loop:
    """The event loop of one thread, made when a call needs it."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(coroutine)

    def wake(self) -> None:
        """Wake the loop, from another thread."""
        if self.loop is not None:
            with suppress(RuntimeError):  # it is closed
                self.loop.call_soon_threadsafe(lambda: None)

    def close(self) -> None:
        """Close the loop, unless something still runs in it. Tasks and generators that functions
        have left are ended.
        """
        loop = self.loop
        if loop is None or loop.is_running():
            return
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        left.add(loop.create_task(loop.shutdown_asyncgens()))
        loop.run_until_complete(asyncio.wait(left, timeout=LEFT_S))
        loop.close()


@dataclass(slots=True)
class _Job:
    work: Callable[[Loop], Any]
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: BaseException | None = None


class WorkerThread:
    """One thread that calls functions, one after the other."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loop = Loop()
        self._thread = threading.Thread(
            target=_work, args=(self._jobs, self._loop), name="harness-adapter", daemon=True
        )
        self._thread.start()

    def call(self, work: Callable[[Loop], Any], timeout: float) -> Any:
        """The result of ``work``; raises the exceptions of ``work``, and `Overtime`, after which
        this thread is not used again.
        """
        job = _Job(work)
        self._jobs.put(job)
        if not job.done.wait(timeout):
            raise Overtime(ended=self._interrupt(job))
        if job.error is not None:
            raise job.error
        return job.result

    def end(self, wait_s: float = 0.0) -> None:
        """End the thread after its present call, and wait up to ``wait_s`` seconds for that."""
        self._jobs.put(None)
        self._thread.join(wait_s)

    def _interrupt(self, job: _Job) -> bool:
        """Raise `Expired` in the thread until the call ends. Code that blocks outside Python does
        not notice.
        """
        ident = ctypes.c_ulong(self._thread.ident or 0)
        for _ in range(_TRIES):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Expired))
            self._loop.wake()
            if job.done.wait(_TRY_S):
                self.end()
                return True
        return False


def _work(jobs: SimpleQueue[_Job | None], loop: Loop) -> None:
    with suppress(Expired):  # it may be raised after the call has ended
        while (job := jobs.get()) is not None:
            try:
                job.result = job.work(loop)
            except BaseException as error:  # noqa: BLE001  # `call` raises it in its own thread
                job.error = error
            job.done.set()
            del job
        loop.close()
