"""Runs coroutines without an event loop, if every operation that they await blocks.

`Client` and `AsyncClient` share their coroutines. In `Client` nothing suspends: HTTP, waits and
tools block instead, so a coroutine runs from start to end in one step.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends; raises RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        result: T = finished.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine waits for an event loop; only blocking operations run here")


def iterate(items: AsyncGenerator[T]) -> Generator[T]:
    """Yield the items of an asynchronous generator that never suspends, as they are made."""
    try:
        while True:
            try:
                item = run(items.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(items.aclose())
