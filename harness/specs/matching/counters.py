"""Shifts of counted numbers along two lists: after one lost block every later number is off by one.

A shift gives one finding, not one for each number. The sightings of each counter are walked in
order, with the `Course` of its numbers so far. A sighting that follows the course is correct, also
that of a number from before a shift. Any other sighting begins a shift. A shift that stays becomes
part of the course. If the numbers return to the old course, the shift is a finding of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from harness.stream.json_codec import Json

from .equality import equal
from .fingerprint import counted
from .mismatch import Course, Path
from .operators import NOTHING, Bindings, fields, matches, operator_of

MINUS: Final = "\N{MINUS SIGN}"

LOOK_AHEAD: Final = 1_000
"""How many sightings after a stretch are searched for a later number."""

FindCause = Callable[[int, int, str, bool], int | None]
"""Finds the run between two steps that may have shifted the numbers of a name, as the number of its
step. If the last argument is true, the run must have such numbers.
"""


class Sighting(Struct, frozen=True):
    """A counted number that is on both sides, at ``path``, in the pair of step ``step``.

    ``number`` is the expected number, ``by`` the difference of the actual one. ``name`` is for
    messages. ``counter`` identifies the sequence: for an id its prefix, for an index its keys.
    """

    step: int
    path: Path
    name: str
    counter: str
    number: int
    by: int
    expected: Json
    got: Json

    def follows(self, course: Course) -> bool:
        """Whether the number is off by the amount of the course."""
        return self.by == next((by for start, by in reversed(course) if start <= self.number), 0)


class Shift(Struct, frozen=True):
    """A stretch of ``count`` sightings that left the course.

    ``cause`` is the step of the run that caused it, or None. If the shift ``stays``, the numbers
    after it are off by the same amount; otherwise they follow the old course.
    """

    first: Sighting
    count: int
    cause: int | None
    stays: bool

    @property
    def amount(self) -> str:
        """``index −1``, or ``index as expected``."""
        by = self.first.by
        return f"{self.first.name} " + (
            f"{'+' if by > 0 else MINUS}{abs(by)}" if by else "as expected"
        )

    @property
    def note(self) -> str:
        """The note of a finding about this shift; ``""`` for a single number."""
        if self.stays:
            return f"{self.amount} from here"
        return f"{self.amount} here, {self.count} times, then as before" if self.count > 1 else ""

    def extend(self, course: Course) -> Course:
        """The course after this shift."""
        return (*course, (self.first.number, self.first.by)) if self.stays else course


def sightings(
    expected: Json, actual: Json, loose: Bindings, path: Path = (), step: int = 0
) -> tuple[list[Sighting], bool]:
    """The counted numbers of two items, and whether the items are equal but for them."""
    seen: list[Sighting] = []

    def look(expected: Json, actual: Json, path: Path) -> bool:
        if operator_of(expected) is not None:
            return matches(expected, actual, loose)
        alike = True
        if isinstance(expected, dict) and isinstance(actual, dict):
            for key, want, got in fields(expected, actual):
                there = want is not NOTHING and got is not NOTHING
                alike = there and look(want, got, (*path, key)) and alike
            return alike
        if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
            for place, (want, got) in enumerate(zip(expected, actual, strict=True)):
                alike = look(want, got, (*path, place)) and alike
            return alike
        last = path[-1] if path and isinstance(path[-1], str) else None
        wanted, given = counted(last, expected), counted(last, actual)
        if wanted is None or given is None or wanted[0] != given[0]:
            return equal(expected, actual)
        keys = ".".join(step for step in path if isinstance(step, str))
        name, number = wanted
        counter = name if isinstance(expected, str) else keys
        by = given[1] - number
        seen.append(Sighting(step, path, name, counter, number, by, expected, actual))
        return True

    return seen, look(expected, actual, path)


def find_shifts(
    seen: list[Sighting], courses: Mapping[str, Course], find_cause: FindCause
) -> list[Shift]:
    """The shifts to report, in the order in which they begin.

    ``courses`` has the course of each counter before the first step.
    """
    by_counter: dict[str, list[Sighting]] = {}
    for sighting in seen:
        by_counter.setdefault(sighting.counter, []).append(sighting)
    shifts = [
        shift
        for counter, items in by_counter.items()
        for shift in _shifts_of(items, courses.get(counter, ()), find_cause)
    ]
    return sorted(shifts, key=lambda shift: shift.first.step)


def _shifts_of(items: list[Sighting], course: Course, find_cause: FindCause) -> Iterator[Shift]:
    place = since = 0
    while place < len(items):
        first, stop = items[place], place + 1
        if not first.follows(course):
            while stop < len(items) and items[stop].by == first.by:
                stop += 1
            alone = stop == place + 1
            cause = find_cause(since, first.step, first.name, alone)
            # A number from before the shift says nothing about it.
            later = range(stop, min(stop + LOOK_AHEAD, len(items)))
            following = next((items[i] for i in later if items[i].number >= first.number), None)
            ends = following is not None and following.follows(course)
            if (
                ends
                and following is not None
                and find_cause(items[stop - 1].step, following.step, first.name, False) is None
            ):
                cause = None
            shift = Shift(first, stop - place, cause, cause is not None or not (ends or alone))
            course = shift.extend(course)
            yield shift
        place, since = stop, items[stop - 1].step
