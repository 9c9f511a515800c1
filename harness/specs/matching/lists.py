"""Compares two lists. Each missing or extra run is one finding, and so is each text that was cut
differently, each shift of counted numbers, and each difference inside a pair.

Equal items at both ends are set aside, so a single deletion costs one pass. The other items are
joined into units (`fingerprint.join`) and aligned by fingerprints, with counted numbers masked.
Units without a partner are aligned piece by piece; the items that are left are paired by likeness.
An item with operators has no fingerprint: the alignment asks whether it accepts an item, with names
unbound, so the result does not depend on bound names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, Literal

from msgspec import Struct

from harness.stream.json_codec import Json

from .align import Pairs, align, best_pairs
from .counters import Shift, Sighting, find_shifts, sightings
from .equality import equal, is_plain
from .fingerprint import TAGS, Fingerprint, Unit, fingerprint, join, single
from .mismatch import Findings, Kind, Path
from .operators import Bindings

MAX_SCORES: Final = 1_000
"""The largest left × right for pairing by likeness; more items are paired in order."""
STEPS: Final = 100_000
OPEN_STEPS: Final = 50_000
"""The step limits of an alignment by keys, and of one that asks items with operators."""
MAX_SLIDE: Final = 50
"""The most units by which a run is moved up to the start of a block."""

PieceTexts = tuple[tuple[str, ...], tuple[str, ...]]


class Step(Struct, frozen=True):
    """Expected items beside actual items, as ranges of indices.

    ``same`` has equally many items on both sides, equal but perhaps for names. A ``pair`` has one
    of each, which may differ. A ``run`` is empty on one side. A ``recut`` has pieces of text on
    both sides; ``pieces`` are their texts, which may differ as a whole.
    """

    kind: Literal["same", "pair", "run", "recut"]
    left: range
    right: range
    pieces: PieceTexts = ((), ())


def explain_list(findings: Findings, path: Path, expected: list[Json], actual: list[Json]) -> None:
    """Add what differs between two lists."""
    _ListWalk(findings, path, expected, actual).add_findings()


def likeness(expected: Json, actual: Json, loose: Bindings) -> float:
    """How much two items share, from 1 to 4; 0 if they are rather a missing and an extra item."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = {*expected, *actual}
        shared = expected.keys() & actual.keys()
        same = {key for key in shared if loose.meets(expected[key], actual[key])}
        tags = [tag for tag in TAGS if tag in keys]
        alike = all(tag in same for tag in tags) if tags else bool(shared)
        return 1 + 3 * len(same) / len(keys) if alike or 2 * len(same) >= len(keys) else 0
    return 0 if isinstance(expected, dict | list) != isinstance(actual, dict | list) else 1


class _ListWalk:
    """Adds the findings of two lists, step by step.

    The counted numbers of all pairs are collected before the first finding is added, because the
    finding of a run names the shift that the run causes.
    """

    def __init__(
        self, findings: Findings, path: Path, expected: list[Json], actual: list[Json]
    ) -> None:
        self.findings, self.path = findings, path
        self.expected, self.actual = expected, actual
        self.plan = _Plan(expected, actual, findings.loose)
        self.steps = list(self.plan.steps())
        self.unequal: set[int] = set()

    def add_findings(self) -> None:
        findings, courses, silenced = self.findings, self.findings.courses, self.findings.silenced
        seen = self._look()
        shifts: dict[int, list[Shift]] = {}
        notes: dict[int, list[str]] = {}
        for shift in find_shifts(seen, courses, self._find_cause):
            shifts.setdefault(shift.first.step, []).append(shift)
            if shift.cause is not None:
                notes.setdefault(shift.cause, []).append(shift.note)
        findings.courses = dict(courses)
        findings.silenced = silenced | {sighting.path for sighting in seen if sighting.by}
        for number, step in enumerate(self.steps):
            for shift in shifts.get(number, ()):
                self._add_shift(shift, silenced)
            if step.kind in ("same", "pair"):
                for i, j in zip(step.left, step.right, strict=True):
                    if i in self.unequal or not self.plan.is_plain(i):
                        self._add_pair(i, j)
            else:
                self._add_run(step, notes.get(number, []))
        findings.courses, findings.silenced = courses, silenced

    def _look(self) -> list[Sighting]:
        """All counted numbers of the pairs, or none if every number follows its course.

        Also fills ``unequal`` with the pairs that differ in more than counted numbers.
        """
        courses = self.findings.courses
        leaves = False
        for number, step in enumerate(self.steps):
            i, j = step.left.start, step.right.start
            if step.kind == "pair" and not self.plan.equal(i, j):
                seen, alike = self._sight(number, i, j)
                if not alike:
                    self.unequal.add(i)
                leaves |= not all(item.follows(courses.get(item.counter, ())) for item in seen)
        return [
            sighting
            for number, step in enumerate(self.steps if leaves else ())
            for i, j in zip(step.left, step.right, strict=False)
            for sighting in self._sight(number, i, j)[0]
        ]

    def _sight(self, number: int, i: int, j: int) -> tuple[list[Sighting], bool]:
        expected, actual = self.expected[i], self.actual[j]
        return sightings(expected, actual, self.findings.loose, (*self.path, i), number)

    def _find_cause(self, since: int, until: int, name: str, sure: bool) -> int | None:
        """The last run or recut text of these steps that has numbers of this name; without
        ``sure``, the last one of all if none has.
        """
        causes = [i for i in range(since, until) if self.steps[i].kind in ("run", "recut")]
        last = causes[-1] if causes and not sure else None
        return next((i for i in reversed(causes) if self._counts(self.steps[i], name)), last)

    def _counts(self, step: Step, name: str) -> bool:
        items = [*(self.expected[i] for i in step.left), *(self.actual[j] for j in step.right)]
        return any(name == other for item in items for other, _ in fingerprint(item).numbers)

    def _add_shift(self, shift: Shift, silenced: set[Path]) -> None:
        first, courses = shift.first, self.findings.courses
        courses[first.counter] = shift.extend(courses.get(first.counter, ()))
        # A number that is as expected again is no finding.
        if shift.cause is None and first.by and first.path not in silenced:
            kind: Kind = "moved" if shift.note else "changed"
            self.findings.add(first.path, kind, first.expected, first.got, shift.note)

    def _add_run(self, step: Step, notes: list[str]) -> None:
        place = self._place(step.left or step.right)
        expected, got = [self.expected[i] for i in step.left], [self.actual[j] for j in step.right]
        if step.kind == "recut":
            texts, others = step.pieces
            cuts = f"{_count(len(texts), 'piece')} expected, {len(others):,} got"
            if "".join(texts) == "".join(others):
                note = "; ".join([f"same text, cut differently: {cuts}", *notes])
                self.findings.add(place, "recut", [*texts], [*others], note)
            else:
                note = "; ".join([f"the texts of these pieces, joined: {cuts}", *notes])
                self.findings.add(place, "changed", "".join(texts), "".join(others), note)
            return
        items = expected or got
        shown = items[0] if len(items) == 1 else items
        note = "; ".join([*([_count(len(items), "item")] if len(items) > 1 else []), *notes])
        if expected:
            self.findings.add(place, "missing", shown, None, note)
        else:
            self.findings.add(place, "extra", None, shown, note)

    def _add_pair(self, i: int, j: int) -> None:
        expected, actual, place = self.expected[i], self.actual[j], (*self.path, i)
        if self.findings.bindings.meets(expected, actual):
            return
        if likeness(expected, actual, self.findings.loose):
            self.findings.explain(place, expected, actual)
        else:
            self.findings.add(place, "changed", expected, actual)

    def _place(self, items: range) -> Path:
        return (*self.path, items.start if len(items) == 1 else items)


class _Plan:
    """Decides which items are partners, which runs are missing or extra, and which texts were cut
    differently.
    """

    def __init__(self, expected: list[Json], actual: list[Json], loose: Bindings) -> None:
        self.expected, self.actual, self.loose = expected, actual, loose
        self.all_plain = is_plain(expected)

    def is_plain(self, i: int) -> bool:
        return self.all_plain or is_plain(self.expected[i])

    def equal(self, i: int, j: int) -> bool:
        if self.all_plain:
            return equal(self.expected[i], self.actual[j])
        return self.loose.meets(self.expected[i], self.actual[j])

    def steps(self) -> Iterator[Step]:
        """The steps through both lists, in order; together they cover both."""
        left, right = len(self.expected), len(self.actual)
        head, tail = _common_ends(
            min(left, right),
            lambda place: self.equal(place, place),
            lambda place: self.equal(left - 1 - place, right - 1 - place),
        )
        # A lost block may begin before the first difference.
        before = range(max(head - MAX_SLIDE, 0), head)
        yield Step("same", range(before.start), range(before.start))
        yield from self._middle(before, range(head, left - tail), range(head, right - tail))
        yield Step("same", range(left - tail, left), range(right - tail, right))

    def _middle(self, before: range, left: range, right: range) -> Iterator[Step]:
        lefts = [self._fingerprint(i) for i in left]
        rights = [fingerprint(self.actual[j]) for j in right]
        units, others = join((left.start, lefts), (right.start, rights))
        pairs = self._align(units, others)
        units = [*(single(i, self._fingerprint(i)) for i in before), *units]
        others = [*(single(j, fingerprint(self.actual[j])) for j in before), *others]
        known, shift = [(k, k) for k in range(len(before))], len(before)
        pairs = [*known, *((u + shift, v + shift) for u, v in pairs)]
        yield from _steps(units, others, self._slide_runs(units, others, pairs), self._gap)

    def _fingerprint(self, i: int) -> Fingerprint:
        return fingerprint(self.expected[i], is_open=not self.is_plain(i))

    def _same(self, unit: Unit, other: Unit) -> bool:
        """Whether two units may be partners."""
        if unit.key is not None:
            return bool(unit.key == other.key)
        if len(other.items) > 1:
            return False
        return sightings(self.expected[unit.start], self.actual[other.start], self.loose)[1]

    def _align(self, units: list[Unit], others: list[Unit]) -> Pairs:
        """Align by keys; units whose key is on one side only are left out first."""
        names: dict[Any, int] = {}
        left = [names.setdefault(unit.key, len(names)) for unit in units]
        right = [names.setdefault(unit.key, len(names)) for unit in others]
        none = names.get(None)  # the key of items with operators
        common = {*left} & {*right}
        lefts = [u for u, name in enumerate(left) if name == none or name in common]
        rights = [v for v, name in enumerate(right) if none is not None or name in common]

        def same(a: int, b: int) -> bool:
            u, v = lefts[a], rights[b]
            return left[u] == right[v] or (left[u] == none and self._same(units[u], others[v]))

        limit = STEPS if none is None else OPEN_STEPS
        return [(lefts[a], rights[b]) for a, b in align(len(lefts), len(rights), same, limit)]

    def _slide_runs(self, units: list[Unit], others: list[Unit], pairs: Pairs) -> Pairs:
        """Move each run up to where it holds the fewest different numbers: a whole block.

        A run may move over a pair whose item equals the last item of the run.
        """
        pairs = [*pairs]
        for k in range(1, len(pairs) + 1):
            u, v = pairs[k - 1]
            ends = pairs[k] if k < len(pairs) else (len(units), len(others))
            left, right = ends[0] - u - 1, ends[1] - v - 1
            if bool(left) == bool(right):
                continue
            run, size = (units[: ends[0]], left) if left else (others[: ends[1]], right)
            best, fewest = 0, _spread(run[-size:])
            for up in range(1, min(MAX_SLIDE, k) + 1):
                above = u - up + 1, v - up + 1
                moved = above[0] + left, above[1] + right
                if pairs[k - up] != above or not self._same(
                    units[moved[0] if left else above[0]], others[moved[1] if right else above[1]]
                ):
                    break
                if (spread := _spread(run[-size - up : -up])) < fewest:
                    best, fewest = up, spread
            for up in range(best):
                pairs[k - 1 - up] = (u - up + left, v - up + right)
        return pairs

    def _gap(self, units: list[Unit], others: list[Unit]) -> Iterator[Step]:
        """Steps through units without a partner: align their pieces, then pair by likeness."""
        left = [piece for unit in units for piece in unit.singles()]
        right = [piece for unit in others for piece in unit.singles()]
        frames = {unit.frame for unit in (*units, *others)}
        is_text = len(units) == len(others) == len(frames) == 1 and None not in frames
        joined = len(left) > len(units) or len(right) > len(others)
        pairs = self._align(left, right) if joined else []
        yield from _steps(left, right, pairs, partial(self._leftovers, is_text=is_text))

    def _leftovers(self, left: list[Unit], right: list[Unit], *, is_text: bool) -> Iterator[Step]:
        """Steps through items that equal no item of the other side.

        Pieces of one text are one step if their number differs.
        """
        if is_text and left and right and len(left) != len(right):
            pieces = tuple(unit.texts[0] for unit in left), tuple(unit.texts[0] for unit in right)
            yield Step("recut", _span(left), _span(right), pieces)
            return
        if len(left) == len(right) == 1 or len(left) * len(right) > MAX_SCORES:
            pairs = [(place, place) for place in range(min(len(left), len(right)))]
        else:
            pairs = best_pairs(
                len(left),
                len(right),
                lambda a, b: likeness(
                    self.expected[left[a].start], self.actual[right[b].start], self.loose
                ),
            )
        yield from _steps(
            left, right, pairs, lambda gap, other_gap: _apart(_span(gap), _span(other_gap))
        )


def _common_ends(
    shortest: int, same_from_start: Callable[[int], bool], same_from_end: Callable[[int], bool]
) -> tuple[int, int]:
    """How many places are the same at the start, and how many of the rest at the end."""
    head = next((place for place in range(shortest) if not same_from_start(place)), shortest)
    rest = shortest - head
    return head, next((place for place in range(rest) if not same_from_end(place)), rest)


def _steps(
    left: list[Unit],
    right: list[Unit],
    pairs: Pairs,
    gap_steps: Callable[[list[Unit], list[Unit]], Iterator[Step]],
) -> Iterator[Step]:
    """The steps through pairs of units, with those of ``gap_steps`` for the units between them."""
    a = b = 0
    for u, v in pairs:
        yield from gap_steps(left[a:u], right[b:v])
        yield from _together(left[u], right[v])
        a, b = u + 1, v + 1
    yield from gap_steps(left[a:], right[b:])


def _together(unit: Unit, other: Unit) -> Iterator[Step]:
    """Steps through two partners: one pair, or for texts pairs where the cuts are the same and one
    recut from the first different cut to the last.
    """
    left, right = unit.texts, other.texts
    if None in (unit.frame, other.frame):
        yield from _pairs(unit.start, other.start)
        return
    head, tail = _common_ends(
        min(len(left), len(right)),
        lambda place: left[place] == right[place],
        lambda place: left[-1 - place] == right[-1 - place],
    )
    between = range(unit.start + head, unit.stop - tail)
    beside = range(other.start + head, other.stop - tail)
    yield from _pairs(unit.start, other.start, head)
    if between and beside:
        pieces = tuple(left[head : len(left) - tail]), tuple(right[head : len(right) - tail])
        yield Step("recut", between, beside, pieces)
    else:  # an empty piece more or less is no cut
        yield from _apart(between, beside)
    yield from _pairs(unit.stop - tail, other.stop - tail, tail)


def _spread(units: list[Unit]) -> int:
    """How many different counted numbers a run holds."""
    return len({number for unit in units for number in unit.numbers})


def _span(units: list[Unit]) -> range:
    return range(units[0].start, units[-1].stop) if units else range(0)


def _pairs(i: int, j: int, count: int = 1) -> Iterator[Step]:
    for place in range(count):
        yield Step("pair", range(i + place, i + place + 1), range(j + place, j + place + 1))


def _apart(left: range, right: range) -> Iterator[Step]:
    if len(left) == len(right) == 1:
        yield Step("pair", left, right)
        return
    if left:
        yield Step("run", left, range(0))
    if right:
        yield Step("run", range(0), right)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
