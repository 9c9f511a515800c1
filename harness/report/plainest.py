"""Chooses the cell of a finding that is shown: the one that a reader understands first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.judging.results import Result
from harness.providers import PROVIDERS

_BROKEN: Final = frozenset({"blocked", "error", "unfinished"})
"""The aspects of an answer that does not end as its model wanted."""
_ORDER: Final = {name: place for place, name in enumerate(PROVIDERS)}


def plainest_at(cells: Sequence[Result]) -> int:
    """Return the place of the cell whose answer is complete, is of the first wire of the table of
    providers, is a stream, and has the fewest aspects and fields. Of equal ones the first. There
    is at least one cell.
    """
    return min(range(len(cells)), key=lambda place: _how_plain(cells[place]))


def plainest_first(cells: Sequence[Result]) -> list[Result]:
    """Return the cells with the plainest one first, and the others in their order."""
    at = plainest_at(cells)
    return [cells[at], *cells[:at], *cells[at + 1 :]]


def _how_plain(cell: Result) -> tuple[bool, int, bool, int, int]:
    return (
        not _BROKEN.isdisjoint(cell.aspects),
        _ORDER.get(cell.provider, len(_ORDER)),
        cell.unary,
        len(cell.aspects),
        len(cell.properties),
    )
