"""The one way to run a plan: each item gives its row, one after the other or in several threads.

What a run says about all of its rows is read from them: `unused` finds the declarations that no row
shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Protocol, TypeVar

from harness.adapters import Adapter

from .rows import Row

Made = TypeVar("Made", bound=Row, covariant=True)


class Item(Protocol[Made]):
    """What is planned for one row."""

    def judge(self, adapter: Adapter) -> Made:
        """Return the row of an adapter."""


def run_plan(items: Iterable[Item[Made]], adapters: Sequence[Adapter]) -> Iterator[Made]:
    """Yield the row of each item, in order. ``adapters`` is the same adapter several times. Each of
    them has its own thread.
    """
    if len(adapters) == 1:
        yield from (item.judge(adapters[0]) for item in items)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    free: SimpleQueue[Adapter] = SimpleQueue()
    for adapter in adapters:
        free.put(adapter)

    def judged(item: Item[Made]) -> Made:
        adapter = free.get()
        try:
            return item.judge(adapter)
        finally:
            free.put(adapter)

    with ThreadPoolExecutor(len(adapters)) as pool:
        try:
            yield from pool.map(judged, items)
        finally:
            pool.shutdown(cancel_futures=True)


def unused(uses: Iterable[tuple[str, Mapping[str, bool]]]) -> list[tuple[str, str, int]]:
    """Return the adapter, the text and the number of rows of each declaration that concerns some
    rows, but that none of them shows. ``uses``: the adapter of each row and its declarations.
    """
    shown: dict[tuple[str, str], list[bool]] = {}
    for adapter, use in uses:
        for declaration, is_shown in use.items():
            shown.setdefault((adapter, declaration), []).append(is_shown)
    return [(*key, len(rows)) for key, rows in shown.items() if not any(rows)]


def shown_only(use: Mapping[str, bool]) -> dict[str, bool]:
    """Return only the declarations that a row shows. A selection of questions may have none that
    shows a loss.
    """
    return {declaration: True for declaration, is_shown in use.items() if is_shown}
