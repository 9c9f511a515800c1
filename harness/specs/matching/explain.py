"""Explains what differs between an expectation and a value, as findings.

It walks down to the difference. deepdiff compares mappings without operators; it is imported when
the first one is met. `lists` compares lists. Where operators are, each key is compared in turn, in
the order of the expectation, because names are bound in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from harness.stream.json_codec import Json
from harness.stream.json_path import readable_path

from .equality import is_plain
from .lists import explain_list
from .mismatch import Course, Kind, Mismatch, Path, sides
from .operators import NOTHING, Bindings, fields, operator_of, pair_equal, parse_json, read_pattern
from .patterns import Pattern
from .validate import CHECKS


class Explainer:
    """Collects at most ``limit`` findings and counts the rest in ``hidden``; a `Findings`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.mismatches: list[Mismatch] = []
        self.hidden = 0
        self.bindings = Bindings()
        self.loose = Bindings(loose=True)
        self.loose.fits, self.loose.parsed = self.bindings.fits, self.bindings.parsed
        self.courses: dict[str, Course] = {}
        self.silenced: set[Path] = set()

    def explain(self, path: Path, expected: Json, actual: Json) -> None:
        """Add what differs; nothing if ``actual`` is as expected."""
        if path in self.silenced or self.bindings.meets(expected, actual):
            return
        if len(self.mismatches) >= self.limit:
            self.hidden += 1
        elif operator_of(expected) is not None:
            self._explain_operator(path, expected, actual)
        elif isinstance(expected, dict) and isinstance(actual, dict):
            self._explain_mapping(path, expected, actual)
        elif isinstance(expected, list) and isinstance(actual, list):
            explain_list(self, path, expected, actual)
        else:
            self.add(path, "changed", expected, actual)

    def add(self, path: Path, kind: Kind, expected: Json, got: Json, note: str = "") -> None:
        """Add one finding."""
        if len(self.mismatches) >= self.limit:
            self.hidden += 1
        else:
            self.mismatches.append(Mismatch(readable_path(path), kind, expected, got, note))

    def _explain_field(self, path: Path, want: Json, got: Json) -> None:
        if got is NOTHING:
            self.add(path, "missing", want, None)
        elif want is NOTHING:
            self.add(path, "extra", None, got)
        else:
            self.explain(path, want, got)

    def _explain_mapping(
        self, path: Path, expected: dict[str, Json], actual: dict[str, Json]
    ) -> None:
        own = (((key,), want, got) for key, want, got in fields(expected, actual))
        for steps, want, got in _deep_fields(expected, actual) if is_plain(expected) else own:
            self._explain_field((*path, *steps), want, got)

    def _explain_operator(self, path: Path, expected: dict[str, Json], actual: Json) -> None:
        """Add the differences inside an operator's argument; one finding with a sentence where
        there is nothing to walk into.
        """
        ((operator, argument),) = expected.items()
        before = len(self.mismatches) + self.hidden
        match operator, argument, actual:
            case "$json", _, _:
                value = parse_json(actual, self.bindings)
                if value is not NOTHING:
                    self.explain((*path, operator), argument, value)
            case "$contains", dict(), dict() if not operator_of(argument):
                for key, want, got in fields(argument, actual):
                    if want is not NOTHING:
                        self._explain_field((*path, key), want, got)
            case "$contains", list(), list():
                self._explain_contained(path, argument, actual)
            case "$unordered", list(), list():
                self._explain_unordered(path, argument, actual)
            case "$literal", _, _ if is_plain(argument):
                self.explain(path, argument, actual)
            case "$same", str(), _ if argument in self.bindings.bound:
                note = f"differs from the first value of $same: {argument}"
                self.add(path, "changed", self.bindings.bound[argument], actual, note)
            case "$absent", _, _:
                self.add(path, "extra", None, actual, "the key must not be there")
        if len(self.mismatches) + self.hidden == before:
            note = CHECKS[operator](argument) or _reason(operator, argument, actual)
            self.add(path, "changed", expected, actual, note)

    def _explain_contained(self, path: Path, wanted: list[Json], actual: list[Json]) -> None:
        start = 0
        for index, item in enumerate(wanted):
            rest = range(start, len(actual))
            place = self._first_match(item, actual, rest)
            if place is not None:
                start = place + 1
                continue
            label = _label(item)
            near = next((at for at in rest if label and label == _label(actual[at])), None)
            got, note = None, "no item after the previous match is as expected"
            if near is not None:
                got, note = actual[near], f"{note}; the next of its kind is [{near}]"
                note += self._inner_difference(item, got)
            self.add((*path, "$contains", index), "missing", item, got, note)

    def _inner_difference(self, expected: Json, actual: Json) -> str:
        """The first difference between an item and the nearest one, for a note."""
        inner = Explainer(1)
        inner.bindings = self.loose
        inner.explain((), expected, actual)
        if not inner.mismatches:
            return ""
        first = inner.mismatches[0]
        want, got = sides(first)
        differing = " and ".join(
            f"{word} {side}"
            for word, side in (("expected", want), ("got", got))
            if side is not None
        )
        return f", where {first.path or 'the item'} differs: {differing or first.note}"

    def _explain_unordered(self, path: Path, wanted: list[Json], actual: list[Json]) -> None:
        """Add the items without a partner, on either side; two that are left over are compared."""
        pairs, lost, left = pair_equal(wanted, actual)
        for index in sorted({*range(len(wanted))} - pairs.keys() - {*lost}):
            place = self._first_match(wanted[index], actual, left)
            if place is None:
                lost.append(index)
            else:
                left.remove(place)
        if len(lost) == len(left) == 1:
            self.explain((*path, "$unordered", lost[0]), wanted[lost[0]], actual[left[0]])
            return
        for index in sorted(lost):
            place_of_item = (*path, "$unordered", index)
            self.add(place_of_item, "missing", wanted[index], None, "no item is as expected")
        for place in left:
            self.add((*path, place), "extra", None, actual[place])

    def _first_match(self, item: Json, actual: list[Json], places: Iterable[int]) -> int | None:
        """The first of these places with the expected value; each place costs one try."""
        for place in places:
            self.bindings.tries -= 1
            if self.bindings.gave_up:
                return None
            if self.bindings.meets(item, actual[place]):
                return place
        return None


def _label(item: Json) -> Json:
    """The type or kind of an item, also of one that ``$contains`` describes in part."""
    if isinstance(item, dict) and operator_of(item) == "$contains":
        (item,) = item.values()
    return item.get("type") or item.get("kind") if isinstance(item, dict) else None


def _reason(operator: str, argument: Json, actual: Json) -> str:
    """Why an operator does not accept a value that has nothing to walk into."""
    match operator:
        case "$any":
            return f"any {argument} was expected"
        case "$re" if isinstance(actual, str) and isinstance(
            pattern := read_pattern(argument), Pattern
        ):
            return pattern.refuses(actual) or "the whole text must match the pattern"
        case "$json":
            return "a string that is JSON was expected"
        case "$contains" if isinstance(argument, str) and isinstance(actual, str):
            return "the text is not in it"
        case "$literal":
            return ""
        case _:
            return f"{operator} does not accept this"


def _deep_fields(
    expected: dict[str, Json], actual: dict[str, Json]
) -> Iterator[tuple[Path, Json, Json]]:
    """The differences that deepdiff finds in two mappings and the mappings in them, in the order of
    their paths: the path and both values, `NOTHING` for a key that is not there.

    deepdiff decides about keys. It hands all other values back, because numbers, lists and texts
    have rules of their own here.
    """
    from deepdiff import DeepDiff  # not before something differs: its import takes long

    others = _Others()
    diff = DeepDiff(
        expected,
        actual,
        view="tree",
        ignore_private_variables=False,
        threshold_to_diff_deeper=0,
        custom_operators=[others],
    )
    for level in diff.get("dictionary_item_removed", ()):
        others.fields.append((tuple(level.path(output_format="list")), level.t1, NOTHING))
    for level in diff.get("dictionary_item_added", ()):
        others.fields.append((tuple(level.path(output_format="list")), NOTHING, level.t2))
    yield from sorted(others.fields, key=lambda field: field[0])


class _Others:
    """An operator of deepdiff that takes every pair of values that are not two mappings."""

    def __init__(self) -> None:
        self.fields: list[tuple[Path, Json, Json]] = []

    def match(self, level: Any) -> bool:
        return not (isinstance(level.t1, dict) and isinstance(level.t2, dict))

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        self.fields.append((tuple(level.path(output_format="list")), level.t1, level.t2))
        return True
