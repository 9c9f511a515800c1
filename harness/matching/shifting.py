"""Shifts of counted numbers along two lists: one lost block, and every later number is off by one.

The sightings of each name are grouped into stretches with the same shift. A stretch after which the numbers are right again is a finding of
its own; one that stays is told once, where it begins, and from there on it is what we go by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from .sightings import Sighting

MINUS: Final = "\N{MINUS SIGN}"


class Seen(Struct, frozen=True):
    """A sighting, and the number of the step that it was made in."""

    step: int
    sighting: Sighting


class Shift(Struct, frozen=True):
    """A stretch of sightings that is to be told: ``first`` of ``count``.

    ``cause``: the step of the run that may have caused it, None if no run lies before it. ``stays``: what follows goes by this shift;
    otherwise the numbers after the stretch are right again.
    """

    first: Seen
    count: int
    cause: int | None
    stays: bool

    def words(self) -> str:
        """``index −1``, or ``index as expected``."""
        by = self.first.sighting.by
        amount = f"{'+' if by > 0 else MINUS}{abs(by)}" if by else "as expected"
        return f"{self.first.sighting.name} {amount}"


def find_shifts(seen: Sequence[Seen], start: Mapping[str, int], find_cause: Callable[[int, int, str], int | None]) -> list[Shift]:
    """The shifts worth telling, in the order in which they begin.

    ``start``: the shift of each name before the first step, where not 0. ``find_cause`` looks for a run from one step to another.
    """
    by_name: dict[str, list[Seen]] = {}
    for item in seen:
        by_name.setdefault(item.sighting.name, []).append(item)
    shifts: list[Shift] = []
    for name, items in by_name.items():
        running, since = start.get(name, 0), 0
        stretches = [list(group) for _, group in groupby(items, key=lambda item: item.sighting.by)]
        for place, stretch in enumerate(stretches):
            by = stretch[0].sighting.by
            if by != running:
                cause = find_cause(since, stretch[0].step, name)
                is_last = place + 1 == len(stretches)
                stays = cause is not None or (len(stretch) > 1 if is_last else stretches[place + 1][0].sighting.by != running)
                shifts.append(Shift(stretch[0], len(stretch), cause, stays))
                running = by if stays else running
            since = stretch[-1].step
    return sorted(shifts, key=lambda shift: shift.first.step)
