"""Shifts of counted numbers along two lists: one lost block, and every later number is off by one.

The sightings of each name are grouped into stretches with the same shift. A stretch after which the numbers are right again is a finding of
its own; one that stays is told once, where it begins, and from there on it is what we go by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from .sightings import Sighting

MINUS: Final = "\N{MINUS SIGN}"

FindCause = Callable[[int, int, str, bool], int | None]
"""Looks for a run between two steps that may have shifted the numbers of a name; if asked to be sure, only for one that has such numbers."""


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


def find_shifts(seen: Sequence[Seen], start: Mapping[str, int], find_cause: FindCause) -> list[Shift]:
    """The shifts worth telling, in the order in which they begin. ``start``: the shift of each counter before the first step."""
    by_counter: dict[str, list[Seen]] = {}
    for item in seen:
        by_counter.setdefault(item.sighting.counter, []).append(item)
    shifts = [shift for counter, items in by_counter.items() for shift in _of_counter(items, start.get(counter, 0), find_cause)]
    return sorted(shifts, key=lambda shift: shift.first.step)


def _of_counter(items: list[Seen], running: int, find_cause: FindCause) -> Iterator[Shift]:
    """The shifts of one counter. A number that is as expected is never told on its own: it may name something from before the shift."""
    stretches = [list(group) for _, group in groupby(items, key=lambda item: item.sighting.by)]
    since = 0
    for stretch, following in zip(stretches, [*stretches[1:], []], strict=True):
        first, name, by = stretch[0], stretch[0].sighting.name, stretch[0].sighting.by
        if by != running:
            cause = find_cause(since, first.step, name, len(stretch) == 1)
            ends = bool(following) and following[0].sighting.by == running
            if ends and find_cause(stretch[-1].step, following[0].step, name, len(following) == 1) is None:
                cause = None
            stays = cause is not None or (not ends and (len(stretch) > 1 or bool(following)))
            if by or cause is not None:
                yield Shift(first, len(stretch), cause, stays)
            running = by if stays else running
        since = stretch[-1].step
