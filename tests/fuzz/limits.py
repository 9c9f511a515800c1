"""What an input may take of time and memory: more is raised inside of what reads it, and so is a
finding like any other.
"""

from __future__ import annotations

import resource
import signal
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Never

SECONDS = 5.0
MEMORY = 1 << 30
"""Bytes that the whole process may map; with all that is imported it needs about a third of
that.
"""


class TooSlow(Exception):
    """An input took more than `SECONDS` of processor time."""


def in_time(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The same, but `TooSlow` is raised inside when it takes too long. Only what runs on the main
    thread can be stopped.
    """

    def stop(number: int, frame: FrameType | None) -> Never:
        raise TooSlow(f"more than {SECONDS:g} s of processor time")

    def limited(data: bytes) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            run(data)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    signal.signal(signal.SIGVTALRM, stop)
    return limited


def bound_memory() -> None:
    """From now on, `MemoryError` is raised at `MEMORY`, where the system can do that."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard), hard)
    )


def most_resident() -> int:
    """The most memory that this process has held so far, in KiB on Linux."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak(run: Callable[[bytes], None], data: bytes) -> int:
    """The most bytes that Python holds while it reads this, beside what stood there before."""
    run(data)  # what is made once for all inputs is made now
    tracemalloc.start()
    try:
        run(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
