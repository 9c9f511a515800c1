"""The findings of two lists: one for each run, each text that was cut differently, each pair that
differs; and each shift once.

The plan says who stands beside whom. The counted numbers of all pairs are looked at before the
first finding is written, because a run is told together with the shift that it causes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stream.json_codec import Json

from .counters import Seen, Shift, extend, find_shifts, follows
from .equality import equal, is_plain
from .fingerprint import fingerprint
from .mismatch import Path
from .planning import PAIRS, Step, likeness, plan
from .sightings import Sighting, sightings

if TYPE_CHECKING:
    from .explain import Explainer


def explain_list(
    explainer: Explainer, path: Path, expected: list[Json], actual: list[Json]
) -> None:
    """Add what differs between two lists."""
    walk = _Walk(explainer, path, expected, actual)
    walk.look()
    walk.tell()


class _Walk:
    """``shifts`` stand at the step where they begin, ``notes`` at the run that caused one;
    ``numbers`` are the paths that `tell` answers for.

    ``unequal`` are the steps whose pair differs in more than counted numbers.
    """

    def __init__(
        self, explainer: Explainer, path: Path, expected: list[Json], actual: list[Json]
    ) -> None:
        self.explainer, self.path = explainer, path
        self.expected, self.actual = expected, actual
        self.plain = is_plain(expected)
        self.steps = plan(expected, actual, explainer.loose)
        self.shifts: dict[int, list[Shift]] = {}
        self.notes: dict[int, list[str]] = {}
        self.numbers: set[Path] = set()
        self.unequal: set[int] = set()

    def look(self) -> None:
        """Find the shifts along the pairs, the runs that caused them, and the pairs that are equal
        but for them.
        """
        courses = self.explainer.courses
        seen: list[Seen] = []
        for number, step in enumerate(self.steps):
            if step.kind == "pair" and not self._equal(step):
                found, alike = self._sight(step)
                seen += [Seen(number, sighting) for sighting in found]
                if not alike:
                    self.unequal.add(number)
        if not all(follows(courses.get(item.sighting.counter, ()), item.sighting) for item in seen):
            looked_at = [
                (number, step) for number, step in enumerate(self.steps) if step.left and step.right
            ]
            seen = [
                Seen(number, sighting)
                for number, step in looked_at
                for sighting in self._sight(step)[0]
            ]
            for shift in find_shifts(seen, courses, self._find_cause):
                self.shifts.setdefault(shift.first.step, []).append(shift)
                if shift.cause is not None:
                    self.notes.setdefault(shift.cause, []).append(f"{shift.words()} from here")
        self.numbers = {item.sighting.path for item in seen if item.sighting.by}

    def tell(self) -> None:
        """Add the findings, in the order of the steps."""
        explainer = self.explainer
        courses, silenced = explainer.courses, explainer.silenced
        explainer.courses, covered = dict(courses), silenced | self.numbers
        for number, step in enumerate(self.steps):
            for shift in self.shifts.get(number, ()):
                self._tell_shift(shift)
            explainer.silenced = covered
            if step.kind not in PAIRS:
                self._tell_run(step, self.notes.get(number, []))
            elif number in self.unequal or not (
                self.plain or is_plain(self.expected[step.left.start])
            ):
                self._tell_pair(step)
            explainer.silenced = silenced
        explainer.courses = courses

    def _equal(self, step: Step) -> bool:
        expected, actual = self.expected[step.left.start], self.actual[step.right.start]
        return (
            equal(expected, actual) if self.plain else self.explainer.loose.meets(expected, actual)
        )

    def _sight(self, step: Step) -> tuple[list[Sighting], bool]:
        i, j = step.left.start, step.right.start
        return sightings(self.expected[i], self.actual[j], self.explainer.loose, (*self.path, i))

    def _find_cause(self, since: int, until: int, name: str, sure: bool) -> int | None:
        """The last run or recut text of these steps that has numbers of this name; else, if we need
        not be sure, the last one at all.
        """
        causes = [number for number in range(since, until) if self.steps[number].kind not in PAIRS]
        last = causes[-1] if causes and not sure else None
        return next(
            (number for number in reversed(causes) if self._counts(self.steps[number], name)), last
        )

    def _counts(self, step: Step, name: str) -> bool:
        items = [*(self.expected[i] for i in step.left), *(self.actual[j] for j in step.right)]
        return any(name == found for item in items for found, _ in fingerprint(item).numbers)

    def _tell_shift(self, shift: Shift) -> None:
        sighting = shift.first.sighting
        if shift.stays:
            courses = self.explainer.courses
            courses[sighting.counter] = extend(courses.get(sighting.counter, ()), shift)
        if shift.cause is not None:
            return
        if shift.stays:
            note = f"{shift.words()} from here"
        else:
            note = (
                f"{shift.words()} here, {shift.count} times, then as before"
                if shift.count > 1
                else ""
            )
        if sighting.by:  # a number that is as expected again is no finding
            self.explainer.add(
                sighting.path, "moved" if note else "changed", sighting.expected, sighting.got, note
            )

    def _tell_run(self, step: Step, notes: list[str]) -> None:
        add, place = self.explainer.add, self._place(step.left or step.right)
        if step.kind == "recut":
            texts = ["".join(pieces) for pieces in step.pieces]
            cuts = f"{_count(len(step.left), 'piece')} expected, {len(step.right):,} got"
            if texts[0] == texts[1]:
                add(
                    place,
                    "recut",
                    [*step.pieces[0]],
                    [*step.pieces[1]],
                    "; ".join([f"same text, cut differently: {cuts}", *notes]),
                )
            else:
                add(
                    place,
                    "changed",
                    texts[0],
                    texts[1],
                    "; ".join([f"the texts of these pieces, joined: {cuts}", *notes]),
                )
            return
        items = [self.expected[i] for i in step.left] or [self.actual[j] for j in step.right]
        shown = items[0] if len(items) == 1 else items
        note = "; ".join([*([_count(len(items), "item")] if len(items) > 1 else []), *notes])
        if step.kind == "missing":
            add(place, "missing", shown, None, note)
        else:
            add(place, "extra", None, shown, note)

    def _tell_pair(self, step: Step) -> None:
        expected, actual, place = (
            self.expected[step.left.start],
            self.actual[step.right.start],
            self._place(step.left),
        )
        if self.explainer.bindings.meets(expected, actual):
            return
        if likeness(expected, actual, self.explainer.loose):
            self.explainer.explain(place, expected, actual)
        else:
            self.explainer.add(place, "changed", expected, actual)

    def _place(self, items: range) -> Path:
        return (*self.path, items.start if len(items) == 1 else items)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
