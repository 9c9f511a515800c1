"""Shifts of counted numbers along two lists: one lost block, and every later number is off by one.

The sightings of each counter are walked in order, with the `Course` that its numbers have taken so
far: from which number on they are off by how much. Sightings that follow the course are as they
should be, also those of a number from before a shift. Others begin a shift: one that stays is told
once and becomes part of the course; one after which the numbers follow the old course again is a
finding of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from .sightings import Sighting

MINUS: Final = "\N{MINUS SIGN}"

Course = tuple[tuple[int, int], ...]
"""``((3, -1), (7, -2))``: numbers from 3 on are off by −1, from 7 on by −2."""

FindCause = Callable[[int, int, str, bool], int | None]
"""Looks for a run between two steps that may have shifted the numbers of a name; asked to be sure,
for one that has such numbers.
"""


class Seen(Struct, frozen=True):
    """A sighting, and the number of the step that it was made in."""

    step: int
    sighting: Sighting


class Shift(Struct, frozen=True):
    """A stretch of sightings that is to be told: ``first`` of ``count``.

    ``cause``: the step of the run that may have caused it, None if no run lies before it.
    ``stays``: what follows goes by this shift; otherwise the numbers after the stretch are as
    before.
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


def extend(course: Course, shift: Shift) -> Course:
    """The course after a shift."""
    return (
        (*course, (shift.first.sighting.number, shift.first.sighting.by)) if shift.stays else course
    )


def follows(course: Course, sighting: Sighting) -> bool:
    """Whether a number is off by what it should be off by."""
    return sighting.by == next(
        (by for start, by in reversed(course) if start <= sighting.number), 0
    )


def find_shifts(
    seen: Sequence[Seen], courses: Mapping[str, Course], find_cause: FindCause
) -> list[Shift]:
    """The shifts worth telling, in the order in which they begin. ``courses``: how each counter
    stands before the first step.
    """
    by_counter: dict[str, list[Seen]] = {}
    for item in seen:
        by_counter.setdefault(item.sighting.counter, []).append(item)
    shifts = [
        shift
        for counter, items in by_counter.items()
        for shift in _of_counter(items, courses.get(counter, ()), find_cause)
    ]
    return sorted(shifts, key=lambda shift: shift.first.step)


def _of_counter(items: list[Seen], course: Course, find_cause: FindCause) -> Iterator[Shift]:
    place = since = 0
    while place < len(items):
        first, stop = items[place], place + 1
        if not follows(course, first.sighting):
            while stop < len(items) and items[stop].sighting.by == first.sighting.by:
                stop += 1
            shift = _judge(items[place:stop], items[stop:], since, course, find_cause)
            course = extend(course, shift)
            yield shift
        place, since = stop, items[stop - 1].step


def _judge(
    stretch: list[Seen], rest: list[Seen], since: int, course: Course, find_cause: FindCause
) -> Shift:
    """Whether a stretch that leaves the course stays: a run caused it, or it is no single number
    and what follows goes on with it.
    """
    first, alone = stretch[0], len(stretch) == 1
    name, number = first.sighting.name, first.sighting.number
    cause = find_cause(since, first.step, name, alone)
    # A number from before the shift says nothing about it.
    following = next((item for item in rest if item.sighting.number >= number), None)
    ends = following is not None and follows(course, following.sighting)
    if (
        following is not None
        and ends
        and find_cause(stretch[-1].step, following.step, name, False) is None
    ):
        cause = None
    return Shift(first, len(stretch), cause, stays=cause is not None or not (ends or alone))
