"""Pieces of one text, joined: consecutive items that differ in one string only become one `Unit`,
so that cuts do not disturb an alignment.

Which string that is, nobody says: every string of an item is tried as the text of a piece
(`frames`), and a way to see items counts if two items of the window are different pieces of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from .fingerprint import COUNTERS, Fingerprint, Number, Tokens, frames


class Unit(Struct, frozen=True):
    """Items ``start`` to ``stop``: one item, or the pieces of a text.

    ``exact`` and ``masked`` are its keys, None for an item with operators. ``frame`` is what the
    pieces have in common, ``texts`` are the pieces.
    """

    start: int
    stop: int
    exact: Any
    masked: Any
    frame: int | None = None
    texts: tuple[str, ...] = ()


def single(place: int, item: Fingerprint | None, text: str = "") -> Unit:
    """One item, by its own keys, whatever text it is a piece of."""
    return Unit(place, place + 1, item and item.exact, item and item.masked, None, (text,))


class Joiner:
    """Makes units of both sides of a window; the sides are lists of fingerprints, None for an item
    with operators.
    """

    def __init__(self, *sides: Sequence[Fingerprint | None]) -> None:
        self._names: dict[Tokens, int] = {}
        self._sides = [[(item, self._frames(item)) for item in side] for side in sides]
        texts: dict[int, set[str]] = {}
        for _, found in (item for side in self._sides for item in side):
            for frame, text in found.items():
                texts.setdefault(frame, set()).add(text)
        self._variety = {frame: len(seen) for frame, seen in texts.items() if len(seen) > 1}

    def units(self, side: int, offset: int) -> list[Unit]:
        """The units of one side, in order; they cover it. Its first item is number ``offset``."""
        items = self._sides[side]
        units: list[Unit] = []
        start = 0
        while start < len(items):
            stop, frame = self._run(items, start)
            first = items[start][0]
            if first is None or frame is None:
                units.append(single(offset + start, first))
            else:
                texts = tuple(found[frame] for _, found in items[start:stop])
                key = (frame, "".join(texts))
                units.append(
                    Unit(offset + start, offset + stop, (*key, first.numbers), key, frame, texts)
                )
            start = stop
        return units

    def _frames(self, item: Fingerprint | None) -> dict[int, str]:
        return (
            {self._names.setdefault(frame, len(self._names)): text for frame, text in frames(item)}
            if item
            else {}
        )

    def _run(
        self, items: list[tuple[Fingerprint | None, dict[int, str]]], start: int
    ) -> tuple[int, int | None]:
        """The end of the longest run of pieces from ``start``, and its frame."""
        last, found = items[start]
        shared = found.keys() & self._variety.keys()
        stop, step = start + 1, None
        while last and stop < len(items):
            here, found = items[stop]
            narrowed = shared & found.keys()
            taken = _step(last.numbers, here.numbers) if here and narrowed else None
            if taken is None or (step is not None and step != taken):
                break
            last, shared, step, stop = here, narrowed, taken, stop + 1
        return stop, max(shared, key=lambda frame: (self._variety[frame], -frame), default=None)


def _step(before: tuple[Number, ...], after: tuple[Number, ...]) -> tuple[int, ...] | None:
    """By how much each number grows between two pieces of one text: an id may count them, an index
    must stay; None if they are not one text.
    """
    if [name for name, _ in before] != [name for name, _ in after]:
        return None
    step = tuple(later - earlier for (_, earlier), (_, later) in zip(before, after, strict=True))
    fine = all(
        by == 0 or (by == 1 and name not in COUNTERS)
        for (name, _), by in zip(before, step, strict=True)
    )
    return step if fine else None
