"""Explains the differences between an expectation and a value, as findings.

It walks down to the difference. deepdiff compares two mappings as a whole; operators, lists and
texts are custom operators of it, which have their own rules here. It is imported when the first
two mappings are met. `lists` compares lists. Names are bound in the order of the expectation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from harness.stream.json_codec import Json
from harness.stream.json_path import readable_path

from .counters import Shift, find_shifts, sightings
from .equality import equal_if_plain, is_plain
from .fingerprint import names
from .lists import align_lists, likeness, renamed_keys
from .mismatch import ItemSteps, Mismatch, MismatchKind, sides
from .operators import (
    ABSENT,
    NOTHING,
    OPERATORS,
    Bindings,
    fault_of,
    operator_of,
    pair_equal,
    parse_json,
    read_pattern,
)
from .patterns import Pattern


class Explainer:
    """Yields the findings of one comparison, in order."""

    def __init__(self) -> None:
        self.bindings = Bindings()
        self.loose = Bindings(loose=True)
        self.loose.fits, self.loose.parsed = self.bindings.fits, self.bindings.parsed
        self.silenced: set[ItemSteps] = set()
        self.renames: Counter[tuple[str, str]] = Counter()
        """The keys that items of a list have under another name, with the number of items; 0 if a
        finding has said so.
        """

    def explain(self, path: ItemSteps, expected: Json, actual: Json) -> Iterator[Mismatch]:
        """Yield the differences; none if ``actual`` is as expected."""
        if path in self.silenced or self.bindings.meets(expected, actual):
            return
        if operator_of(expected) is not None:
            yield from self._explain_operator(path, expected, actual)
        elif isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._explain_mapping(path, expected, actual)
        elif isinstance(expected, list) and isinstance(actual, list):
            yield from self._explain_list(path, expected, actual)
        else:
            yield _finding(path, "changed", expected, actual)

    def _explain_mapping(
        self, path: ItemSteps, expected: dict[str, Json], actual: dict[str, Json]
    ) -> Iterator[Mismatch]:
        from deepdiff import DeepDiff  # imported late: its import is slow

        renamed = renamed_keys(expected, actual)
        for rename in renamed.items():
            if count := self.renames.get(rename, 1):
                times = f" ×{count:,}" if count > 1 else ""
                yield _finding(path, "changed", None, None, f"key {' → '.join(rename)}{times}")
            if rename in self.renames:
                self.renames[rename] = 0
        new = {*renamed.values()}
        expected = {key: item for key, item in expected.items() if key not in renamed}
        actual = {key: item for key, item in actual.items() if key not in new}
        inside = _Inside(self, path)
        diff = DeepDiff(
            actual,
            expected,  # the second side decides about the order
            view="tree",
            ignore_private_variables=False,
            threshold_to_diff_deeper=0,
            custom_operators=[inside],
        )
        for level in diff.get("dictionary_item_added", ()):
            if level.t2 != ABSENT:
                inside.note(level, _finding(inside.path_of(level), "missing", level.t2, None))
        for level in diff.get("dictionary_item_removed", ()):
            inside.note(level, _finding(inside.path_of(level), "extra", None, level.t1))
        for _, findings in sorted(inside.noted, key=itemgetter(0)):
            yield from findings

    def _explain_list(
        self, path: ItemSteps, expected: list[Json], actual: list[Json]
    ) -> Iterator[Mismatch]:
        """Yield each run, each text that was cut differently, each shift of counted numbers, and
        the differences inside the pairs.

        The numbers are looked at before the first finding, because the finding of a run
        names the shift that the run causes.
        """
        steps = align_lists(expected, actual, self.loose)
        seen = [
            sighting
            for at, step in enumerate(steps)
            if step.is_pairs
            for place, want, got in step.pairs(path)
            for sighting in sightings(want, got, self.loose, place, at)[0]
        ]
        shifts: dict[int, list[Shift]] = {}
        runs = {
            at: names([*step.expected, *step.actual])
            for at, step in enumerate(steps)
            if seen and not step.is_pairs
        }
        for shift in find_shifts(seen, runs):
            at = shift.first.step if shift.cause is None else shift.cause
            shifts.setdefault(at, []).append(shift)
        renames, silenced = self.renames, self.silenced
        self.renames = Counter(
            rename
            for step in steps
            if step.is_pairs and not equal_if_plain(step.expected, step.actual)
            for _, want, got in step.pairs(path)
            if isinstance(want, dict) and isinstance(got, dict)
            for rename in renamed_keys(want, got).items()
            if likeness(want, got, self.loose)
        )
        self.silenced = silenced | {sighting.path for sighting in seen if sighting.by}
        for at, step in enumerate(steps):
            if not step.is_pairs:
                yield _finding(*step.finding(path, [shift.note for shift in shifts.get(at, ())]))
                continue
            for shift in shifts.get(at, ()):
                first = shift.first
                # A number that is as expected again is not a finding.
                if first.by and first.path not in silenced:
                    kind: MismatchKind = "moved" if shift.note else "changed"
                    yield _finding(first.path, kind, first.expected, first.got, shift.note)
            if not equal_if_plain(step.expected, step.actual):
                for pair in step.pairs(path):
                    yield from self._explain_item(*pair)
        self.renames, self.silenced = renames, silenced

    def _explain_item(self, path: ItemSteps, expected: Json, actual: Json) -> Iterator[Mismatch]:
        """Yield the differences in a pair, except numbers that have findings of their own."""
        if is_plain(expected) and sightings(expected, actual, self.loose)[1]:
            return
        if self.bindings.meets(expected, actual) or likeness(expected, actual, self.loose):
            yield from self.explain(path, expected, actual)
        else:
            yield _finding(path, "changed", expected, actual)

    def _explain_operator(
        self, path: ItemSteps, expected: dict[str, Json], actual: Json
    ) -> Iterator[Mismatch]:
        """Yield the differences inside an operator's argument, or one finding with a sentence if it
        has no inner expectation.
        """
        ((operator, argument),) = expected.items()
        inside = list(self._explain_inside(path, operator, argument, actual))
        note = fault_of(operator, argument) or _refusal(operator, argument, actual)
        yield from inside or [_finding(path, "changed", expected, actual, note)]

    def _explain_inside(
        self, path: ItemSteps, operator: str, argument: Json, actual: Json
    ) -> Iterator[Mismatch]:
        match operator, argument, actual:
            case "$json", _, _:
                value = parse_json(actual, self.bindings)
                if value is not NOTHING:
                    yield from self.explain((*path, operator), argument, value)
            case "$contains", dict(), dict() if not operator_of(argument):
                named = {key: actual[key] for key in argument if key in actual}
                yield from self._explain_mapping(path, argument, named)
            case "$contains", list(), list():
                yield from self._explain_contained(path, argument, actual)
            case "$unordered", list(), list():
                yield from self._explain_unordered(path, argument, actual)
            case "$literal", _, _ if is_plain(argument):
                yield from self.explain(path, argument, actual)
            case "$same", str(), _ if argument in self.bindings.bound:
                note = f"differs from the first value of $same: {argument}"
                yield _finding(path, "changed", self.bindings.bound[argument], actual, note)
            case "$absent", _, _:
                yield _finding(path, "extra", None, actual, "the key must not be there")

    def _explain_contained(
        self, path: ItemSteps, wanted: list[Json], actual: list[Json]
    ) -> Iterator[Mismatch]:
        start = 0
        for index, item in enumerate(wanted):
            rest = range(start, len(actual))
            place = self._first_match(item, actual, rest)
            if place is not None:
                start = place + 1
                continue
            near, kind = self._nearest(item, actual, rest)
            got, note = None, "no item after the previous match is as expected"
            if near is not None:
                got, note = actual[near], f"{note}; the {kind} is [{near}]"
                note += self._inner_difference(item, got)
            yield _finding((*path, "$contains", index), "missing", item, got, note)

    def _nearest(
        self, item: Json, actual: list[Json], places: Sequence[int]
    ) -> tuple[int | None, str]:
        """Return the next item with the same type or kind; for an item without a type, the most
        similar object. None if no item is like it.
        """
        wanted = _described(item)
        if label := _label(wanted):
            of_kind = (at for at in places if label == _label(_described(actual[at])))
            return next(of_kind, None), "next of its kind"
        objects = [at for at in places if isinstance(wanted, dict) and isinstance(actual[at], dict)]
        shares = {at: likeness(wanted, actual[at], self.loose) for at in objects}
        near = max(objects, key=lambda at: shares[at], default=None)
        return near if near is not None and shares[near] else None, "nearest"

    def _inner_difference(self, expected: Json, actual: Json) -> str:
        """Return the first difference between an item and the nearest one, for a note."""
        inner = Explainer()
        inner.bindings = self.loose
        first = next(inner.explain((), expected, actual), None)
        if first is None:
            return ""
        want, got = sides(first)
        differing = " and ".join(
            f"{word} {side}"
            for word, side in (("expected", want), ("got", got))
            if side is not None
        )
        return f", where {first.path or 'the item'} differs: {differing or first.note}"

    def _explain_unordered(
        self, path: ItemSteps, wanted: list[Json], actual: list[Json]
    ) -> Iterator[Mismatch]:
        """Yield the items without a partner, on either side. Two left over are compared."""
        pairs, lost, left = pair_equal(wanted, actual)
        for index in sorted({*range(len(wanted))} - pairs.keys() - {*lost}):
            place = self._first_match(wanted[index], actual, left)
            if place is None:
                lost.append(index)
            else:
                left.remove(place)
        if len(lost) == len(left) == 1:
            yield from self.explain(
                (*path, "$unordered", lost[0]), wanted[lost[0]], actual[left[0]]
            )
            return
        for index in sorted(lost):
            place_of_item = (*path, "$unordered", index)
            yield _finding(place_of_item, "missing", wanted[index], None, "no item is as expected")
        for place in left:
            yield _finding((*path, place), "extra", None, actual[place])

    def _first_match(self, item: Json, actual: list[Json], places: Iterable[int]) -> int | None:
        """Return the first of these places with the expected value; each place costs one try."""
        for place in places:
            self.bindings.tries -= 1
            if self.bindings.gave_up:
                return None
            if self.bindings.meets(item, actual[place]):
                return place
        return None


def _finding(
    path: ItemSteps, kind: MismatchKind, expected: Json, got: Json, note: str = ""
) -> Mismatch:
    index = path[0].start if path and isinstance(path[0], range) else path[0] if path else None
    return Mismatch(
        readable_path(path), kind, expected, got, note, index if isinstance(index, int) else None
    )


def _described(item: Json) -> Json:
    """Return an item without a ``$contains`` around it."""
    if isinstance(item, dict) and operator_of(item) == "$contains":
        (item,) = item.values()
    return item


def _label(item: Json) -> Json:
    """Return the type or kind of an item."""
    return item.get("type") or item.get("kind") if isinstance(item, dict) else None


def _refusal(operator: str, argument: Json, actual: Json) -> str:
    """Return the reason why an operator without an inner expectation does not accept a value."""
    pattern = read_pattern(argument) if operator == "$re" else None
    if isinstance(pattern, Pattern) and isinstance(actual, str) and pattern.refuses(actual):
        return pattern.refuses(actual)
    return OPERATORS[operator].refusal.format(operator=operator, argument=argument)


class _Inside:
    """A custom operator of deepdiff: explains each pair that is not two mappings of data. Its first
    side is the value, its second the expectation.
    """

    def __init__(self, explainer: Explainer, path: ItemSteps) -> None:
        self.explainer = explainer
        self.path = path
        self.noted: list[tuple[ItemSteps, tuple[Mismatch, ...]]] = []

    def match(self, level: Any) -> bool:
        are_mappings = isinstance(level.t1, dict) and isinstance(level.t2, dict)
        return not are_mappings or operator_of(level.t2) is not None

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        """Note the findings of a pair. deepdiff then does not compare it."""
        self.note(level, *self.explainer.explain(self.path_of(level), level.t2, level.t1))
        return True

    def path_of(self, level: Any) -> ItemSteps:
        return (*self.path, *level.path(output_format="list"))

    def note(self, level: Any, *findings: Mismatch) -> None:
        self.noted.append((self.path_of(level), findings))
