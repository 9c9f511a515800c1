"""Shifts of counted numbers along two lists: after one lost block every later number is off by one.

A shift gives one finding, not one for each number. The sightings of each counter are walked in
order, with the `Course` of its numbers so far. A sighting that follows the course is correct, even
if the number is from before a shift. Any other sighting begins a shift. A shift that stays becomes
part of the course. If the numbers return to the old course, the shift is a finding of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Final

from msgspec import Struct

from harness.stream.json_codec import Json, same_json

from .fingerprint import counted
from .mismatch import ItemSteps
from .operators import NOTHING, Bindings, fields, matches, operator_of

MINUS: Final = "\N{MINUS SIGN}"

LOOK_AHEAD: Final = 1_000
"""The number of sightings after a stretch that are searched for a later number."""

Course = tuple[tuple[int, int], ...]
"""``((3, -1), (7, -2))``: counted numbers from 3 on are off by −1, from 7 on by −2."""

Runs = Mapping[int, Set[str]]
"""The names of the counted numbers in each missing or extra run, by the number of its step."""


class Sighting(Struct, frozen=True):
    """A counted number that is on both sides."""

    step: int
    """The number of the step whose pair has the number."""
    path: ItemSteps
    """The place of the number in the pair."""
    name: str
    """For messages."""
    counter: str
    """Identifies the sequence: for an id its prefix, for an index its keys."""
    number: int
    """The expected number."""
    by: int
    """The difference of the actual number."""
    expected: Json
    got: Json

    def follows(self, course: Course) -> bool:
        """Return whether the number is off by the amount of the course."""
        return self.by == next((by for start, by in reversed(course) if start <= self.number), 0)


class Shift(Struct, frozen=True):
    """A stretch of sightings that left the course."""

    first: Sighting
    """The first of the sightings."""
    cause: int | None
    """The step of the run that caused it, or None."""
    note: str
    """``""`` for a single number without a cause."""


def sightings(
    expected: Json, actual: Json, loose: Bindings, path: ItemSteps = (), step: int = 0
) -> tuple[list[Sighting], bool]:
    """Return the counted numbers of two items, and whether the items are equal apart from them."""
    seen: list[Sighting] = []

    def look(expected: Json, actual: Json, path: ItemSteps) -> bool:
        if operator_of(expected) is not None:
            return matches(expected, actual, loose)
        inner = fields(expected, actual)
        if inner is not None:
            together = (
                want is not NOTHING and got is not NOTHING and look(want, got, (*path, step))
                for step, want, got in inner
            )
            return all([*together])  # no number is left out
        last = path[-1] if path and isinstance(path[-1], str) else None
        wanted, given = counted(last, expected), counted(last, actual)
        if wanted is None or given is None or wanted[0] != given[0]:
            return same_json(expected, actual)
        name, number = wanted
        keys = ".".join(key for key in path if isinstance(key, str))
        counter = name if isinstance(expected, str) else keys
        by = given[1] - number
        seen.append(Sighting(step, path, name, counter, number, by, expected, actual))
        return True

    return seen, look(expected, actual, path)


def find_shifts(seen: list[Sighting], runs: Runs) -> list[Shift]:
    """Return the shifts to report, in the order in which they begin."""
    counters: dict[str, list[Sighting]] = {}
    for sighting in seen:
        counters.setdefault(sighting.counter, []).append(sighting)
    shifts = [shift for items in counters.values() for shift in _shifts_of(items, runs)]
    return sorted(shifts, key=lambda shift: shift.first.step)


def _shifts_of(items: list[Sighting], runs: Runs) -> Iterator[Shift]:
    course: Course = ()
    place = since = 0
    while place < len(items):
        first, stop = items[place], place + 1
        if not first.follows(course):
            while stop < len(items) and items[stop].by == first.by:
                stop += 1
            count = stop - place
            # A number from before the shift is not evidence for or against it.
            later = items[stop : stop + LOOK_AHEAD]
            following = next((item for item in later if item.number >= first.number), None)
            cause = _cause(runs, since, first.step, first.name, sure=count == 1)
            ends = following is not None and following.follows(course)
            if following is not None and ends:
                returns = _cause(runs, items[stop - 1].step, following.step, first.name)
                cause = None if returns is None else cause
            amount = f"{first.name} {_signed(first.by)}"
            if cause is not None or not (ends or count == 1):
                course = (*course, (first.number, first.by))
                yield Shift(first, cause, f"{amount} from here")
            else:
                times = f"{amount} here, {count} times, then as before" if count > 1 else ""
                yield Shift(first, None, times)
        place, since = stop, items[stop - 1].step


def _cause(runs: Runs, since: int, until: int, name: str, *, sure: bool = False) -> int | None:
    """Return the last run between two steps that has numbers of this name; without such a run, the
    last run of all, unless ``sure``.
    """
    steps = [step for step in runs if since <= step < until]
    last = steps[-1] if steps and not sure else None
    return next((step for step in reversed(steps) if name in runs[step]), last)


def _signed(by: int) -> str:
    return f"{'+' if by > 0 else MINUS}{abs(by)}" if by else "as expected"
