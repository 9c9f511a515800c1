"""What differs between an expectation and a value, as findings.

A walk down to where the difference is. Mappings without operators go through deepdiff, which is
imported when the first one is met; lists go through a plan of their own (`explain_list`); where
operators are, each key is asked in turn, in the order of the expectation, because names are bound
in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.stream.json_codec import Json

from .equality import is_plain
from .fingerprint import fingerprint
from .lists import explain_list
from .mismatch import Course, Kind, Mismatch, Path, write_path
from .operators import NOTHING, Bindings, fields, operator_of, parse_json, read_pattern
from .patterns import Pattern
from .validate import CHECKS


class Explainer:
    """Collects at most ``limit`` findings and counts the rest in ``hidden``.

    ``courses`` say how the counted numbers around the present value are shifted; ``silenced`` are
    paths of numbers that another finding answers for.
    """

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
            self.mismatches.append(Mismatch(write_path(path), kind, expected, got, note))

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
        """What an operator misses; one sentence where there is nothing to walk into."""
        ((operator, argument),) = expected.items()
        before = len(self.mismatches) + self.hidden
        if operator == "$json" and (value := parse_json(actual, self.bindings)) is not NOTHING:
            self.explain((*path, operator), argument, value)
        elif (
            operator == "$contains"
            and isinstance(argument, dict)
            and isinstance(actual, dict)
            and not operator_of(argument)
        ):
            for key, want, got in fields(argument, actual):
                if want is not NOTHING:
                    self._explain_field((*path, key), want, got)
        elif operator == "$contains" and isinstance(argument, list) and isinstance(actual, list):
            self._explain_contained(path, argument, actual)
        elif operator == "$unordered" and isinstance(argument, list) and isinstance(actual, list):
            self._explain_unordered(path, argument, actual)
        elif operator == "$literal" and is_plain(argument):
            self.explain(path, argument, actual)
        elif operator == "$same" and isinstance(argument, str) and argument in self.bindings.bound:
            self.add(
                path,
                "changed",
                self.bindings.bound[argument],
                actual,
                f"not what $same: {argument} stood for at first",
            )
        elif operator == "$absent":
            self.add(path, "extra", None, actual, "the key must not be there")
        if len(self.mismatches) + self.hidden == before:
            self.add(
                path,
                "changed",
                expected,
                actual,
                CHECKS[operator](argument) or _reason(operator, argument, actual),
            )

    def _explain_contained(self, path: Path, wanted: list[Json], actual: list[Json]) -> None:
        place = 0
        for index, item in enumerate(wanted):
            found = next(
                (at for at in range(place, len(actual)) if self._try(item, actual[at])), None
            )
            if found is None:
                near = next(
                    (
                        at
                        for at in range(place, len(actual))
                        if _label(item) and _label(item) == _label(actual[at])
                    ),
                    None,
                )
                got, where = (
                    (None, "")
                    if near is None
                    else (actual[near], f"; the next of its kind is [{near}]")
                )
                self.add(
                    (*path, "$contains", index),
                    "missing",
                    item,
                    got,
                    f"no item after the ones before it matches{where}",
                )
            else:
                place = found + 1

    def _explain_unordered(self, path: Path, wanted: list[Json], actual: list[Json]) -> None:
        """Who finds no partner, on either side; two that are left over are compared."""
        free: dict[Any, list[int]] = {}
        for place in range(len(actual) - 1, -1, -1):
            free.setdefault(fingerprint(actual[place]).exact, []).append(place)
        plain = [index for index, item in enumerate(wanted) if is_plain(item)]
        lost: list[int] = []
        for index in plain:
            partners = free.get(fingerprint(wanted[index]).exact)
            if partners:
                partners.pop()
            else:
                lost.append(index)
        left = dict.fromkeys(sorted(place for places in free.values() for place in places))
        for index in sorted({*range(len(wanted))} - {*plain}):
            found = next((place for place in left if self._try(wanted[index], actual[place])), None)
            if found is None:
                lost.append(index)
            else:
                del left[found]
        if len(lost) == len(left) == 1:
            self.explain((*path, "$unordered", lost[0]), wanted[lost[0]], actual[next(iter(left))])
            return
        for index in sorted(lost):
            self.add(
                (*path, "$unordered", index), "missing", wanted[index], None, "no item matches"
            )
        for place in left:
            self.add((*path, place), "extra", None, actual[place])

    def _try(self, expected: Json, actual: Json) -> bool:
        """Like `Bindings.meets`, but it costs a try."""
        self.bindings.tries -= 1
        return not self.bindings.gave_up and self.bindings.meets(expected, actual)


def _label(item: Json) -> Json:
    """What an item calls itself, also one that is only asked for in part."""
    if isinstance(item, dict) and operator_of(item) == "$contains":
        (item,) = item.values()
    return item.get("type") or item.get("kind") if isinstance(item, dict) else None


def _reason(operator: str, argument: Json, actual: Json) -> str:
    """Why a value that has nothing to walk into is not what an operator asks for."""
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
    """deepdiff's walk through two mappings and the mappings in them, in the order of their paths:
    what stands where, on either side.

    It decides about keys. All other values are handed back to us, because numbers, lists and texts
    have rules of their own here.
    """
    from deepdiff import (
        DeepDiff,
    )  # not before something differs: it takes longer to import than most runs take

    others = _Others()
    found = DeepDiff(
        expected,
        actual,
        view="tree",
        ignore_private_variables=False,
        threshold_to_diff_deeper=0,
        custom_operators=[others],
    )
    for level in found.get("dictionary_item_removed", ()):
        others.fields.append((tuple(level.path(output_format="list")), level.t1, NOTHING))
    for level in found.get("dictionary_item_added", ()):
        others.fields.append((tuple(level.path(output_format="list")), NOTHING, level.t2))
    yield from sorted(others.fields, key=lambda field: field[0])


class _Others:
    """An operator of deepdiff that takes from it every pair which is not two mappings."""

    def __init__(self) -> None:
        self.fields: list[tuple[Path, Json, Json]] = []

    def match(self, level: Any) -> bool:
        return not (isinstance(level.t1, dict) and isinstance(level.t2, dict))

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        self.fields.append((tuple(level.path(output_format="list")), level.t1, level.t2))
        return True
