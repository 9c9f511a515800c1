"""How much memory a target takes for an input: the most that Python held while it ran, beside what stood there before."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def peak(target: Callable[[bytes], None], data: bytes) -> int:
    """Bytes."""
    target(data)  # what is made once for all inputs is made now
    tracemalloc.start()
    try:
        target(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
