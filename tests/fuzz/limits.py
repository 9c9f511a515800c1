"""Limits of time and memory for one input.

An exception is raised inside the reader that exceeds a limit, so it is a finding like any other.
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
"""The bytes that the process may map; the imports need about a third of them."""


class TooSlow(Exception):
    """An input took more than `SECONDS` of processor time."""


def in_time(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """``run`` with a time limit: `TooSlow` is raised inside it.

    Only code on the main thread can be stopped.
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
    """Make the system raise `MemoryError` at `MEMORY` bytes, if the system supports it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard), hard)
    )


def most_resident() -> int:
    """The peak memory of this process in KiB (on Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak(run: Callable[[bytes], None], data: bytes) -> int:
    """The peak of the bytes that Python allocates while ``run`` reads ``data``."""
    run(data)  # objects that are made once for all inputs are made now
    tracemalloc.start()
    try:
        run(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
