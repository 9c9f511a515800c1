"""Chooses the cell of a finding that is shown: the one that a reader understands first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from harness.judging.rows import Row
from harness.providers import PROVIDERS

_BROKEN: Final = frozenset({"blocked", "error", "unfinished"})
"""The aspects of an answer that does not end as its model wanted."""
_ORDER: Final = {name: place for place, name in enumerate(PROVIDERS)}


def plainest_at(cells: Sequence[Row], *, typical: bool = False) -> int:
    """Return the place of the cell whose answer is complete, is of the first wire of the table of
    providers, is a stream, and has the fewest aspects and fields. Of equal ones the first. There
    is at least one cell. ``typical``: it is of the cassette with most of such cells.
    """
    ranks = [_rank(cell) for cell in cells]
    often = Counter((rank, cell.cassette) for rank, cell in zip(ranks, cells, strict=True))

    def how_plain(place: int) -> tuple[object, ...]:
        cell = cells[place]
        number = often[ranks[place], cell.cassette] if typical else 0
        return *ranks[place], -number, len(cell.aspects), len(cell.properties)

    return min(range(len(cells)), key=how_plain)


def plainest_first(cells: Sequence[Row]) -> list[Row]:
    """Return the cells with the plainest one first, and the others in their order."""
    at = plainest_at(cells)
    return [cells[at], *cells[:at], *cells[at + 1 :]]


def _rank(cell: Row) -> tuple[bool, int, bool]:
    return (
        not _BROKEN.isdisjoint(cell.aspects),
        _ORDER.get(cell.provider, len(_ORDER)),
        cell.unary,
    )
