"""Aligns two lists: which items are partners, which runs are missing or extra, and which texts were
cut differently.

Equal items at both ends are set aside, so a single deletion costs one pass. The other items become
units (`fingerprint`), which are aligned by their keys: first with the pieces of a text joined, then
what has no partner piece by piece, and what is left by likeness. An item with operators has no key:
the alignment asks whether it accepts an item, with names unbound, so the result does not depend on
bound names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from harness.stream.json_codec import Json

from .align import Pairs, align, best_pairs
from .counters import sightings
from .equality import equal, is_plain
from .fingerprint import TAGS, Unit, item_unit, join
from .mismatch import Kind, Path
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
    """Expected items beside actual items; ``start`` and ``other`` are the indices of the first.

    Equally many on both sides are pairs, which may differ. A run has none on one side. Pieces of a
    text that was cut differently have their ``texts``, which may differ as a whole.
    """

    start: int
    other: int
    expected: list[Json]
    actual: list[Json]
    texts: PieceTexts | None = None

    @property
    def is_pairs(self) -> bool:
        return self.texts is None and len(self.expected) == len(self.actual)

    def pairs(self, path: Path) -> Iterator[tuple[Path, Json, Json]]:
        """Each pair, with the path of its expected item in the list at ``path``."""
        for place, (want, got) in enumerate(zip(self.expected, self.actual, strict=True)):
            yield (*path, self.start + place), want, got

    def names(self) -> set[str]:
        """The names of the counted numbers in the items."""
        units = map(item_unit, (*self.expected, *self.actual))
        return {name for unit in units for name, _ in unit.numbers}

    def finding(self, path: Path, shifts: Iterable[str]) -> tuple[Path, Kind, Json, Json, str]:
        """The finding of a run or a text: its path, kind, both sides and note."""
        items, start = self.expected or self.actual, self.start if self.expected else self.other
        several = len(items) > 1
        place = (*path, range(start, start + len(items)) if several else start)
        notes = [f"{len(items):,} items"] if several else []
        shown = items if several else items[0]
        kind: Kind = "missing" if self.expected else "extra"
        expected, got = (shown, None) if self.expected else (None, shown)
        if self.texts is not None:
            left, right = self.texts
            cuts = f"{len(left):,} piece{'s'[: len(left) - 1]} expected, {len(right):,} got"
            kind, expected, got = "changed", "".join(left), "".join(right)
            notes = [f"the texts of these pieces, joined: {cuts}"]
            if expected == got:
                kind, expected, got = "recut", [*left], [*right]
                notes = [f"same text, cut differently: {cuts}"]
        return place, kind, expected, got, "; ".join([*notes, *shifts])


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


def align_lists(expected: list[Json], actual: list[Json], loose: Bindings) -> list[Step]:
    """The steps through both lists, in order; together they cover both."""
    return [*_Alignment(expected, actual, loose).steps()]


class _Alignment:
    def __init__(self, expected: list[Json], actual: list[Json], loose: Bindings) -> None:
        self.expected, self.actual, self.loose = expected, actual, loose

    def same_item(self, i: int, j: int) -> bool:
        """Whether the items at these indices are as expected, but perhaps for names."""
        expected, actual = self.expected[i], self.actual[j]
        return equal(expected, actual) or self.loose.meets(expected, actual)

    def steps(self) -> Iterator[Step]:
        left, right = len(self.expected), len(self.actual)
        head, tail = _common_ends(left, right, self.same_item)
        start = max(head - MAX_SLIDE, 0)  # a lost block may begin before the first difference
        yield self._step(range(start), range(start))
        units = [
            item_unit(self.expected[i], i, is_open=not is_plain(self.expected[i]))
            for i in range(start, left - tail)
        ]
        others = [item_unit(self.actual[j], j) for j in range(start, right - tail)]
        units[head - start :], others[head - start :] = join(
            units[head - start :], others[head - start :]
        )
        yield from self._units(units, others)
        yield self._step(range(left - tail, left), range(right - tail, right))

    def _units(self, left: list[Unit], right: list[Unit]) -> Iterator[Step]:
        for units, others, partners in _between(left, right, self._slide_runs(left, right)):
            yield from self._pieces(units, others)
            if partners:
                yield from self._together(*partners)

    def _pieces(self, left: list[Unit], right: list[Unit]) -> Iterator[Step]:
        """Steps through units without a partner, piece by piece. The pieces of one text are one
        step if their number differs.
        """
        is_text = len(left) == len(right) == 1 and left[0].frame == right[0].frame is not None
        pieces = [piece for unit in left for piece in unit.pieces or (unit,)]
        others = [piece for unit in right for piece in unit.pieces or (unit,)]
        divided = len(pieces) > len(left) or len(others) > len(right)
        pairs = self._align(pieces, others) if divided else []
        for gap, beside, partners in _between(pieces, others, pairs):
            if is_text and gap and beside and len(gap) != len(beside):
                yield self._recut(left[0], right[0], _span(gap), _span(beside))
            else:
                yield from self._alike(gap, beside)
            if partners:
                yield from self._together(*partners)

    def _alike(self, left: list[Unit], right: list[Unit]) -> Iterator[Step]:
        """Steps through items that equal no item of the other side, paired by likeness."""
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
        for gap, beside, partners in _between(left, right, pairs):
            yield from self._apart(_span(gap), _span(beside))
            if partners:
                yield from self._together(*partners)

    def _together(self, unit: Unit, other: Unit) -> Iterator[Step]:
        """Steps through two partners: pairs where the cuts are the same, and one step from the
        first different cut to the last.
        """
        left, right = len(unit.texts), len(other.texts)
        head, tail = 1, 0
        if unit.frame is not None and other.frame is not None:
            head, tail = _common_ends(left, right, lambda i, j: unit.texts[i] == other.texts[j])
        i, j = unit.start, other.start
        yield self._step(range(i, i + head), range(j, j + head))
        middle, beside = range(i + head, i + left - tail), range(j + head, j + right - tail)
        if middle and beside:
            yield self._recut(unit, other, middle, beside)
        else:  # an empty piece more or less is no cut
            yield from self._apart(middle, beside)
        yield self._step(range(middle.stop, i + left), range(beside.stop, j + right))

    def _apart(self, left: range, right: range) -> Iterator[Step]:
        if len(left) == len(right) == 1:
            yield self._step(left, right)
        else:
            yield self._step(left, range(right.start, right.start))
            yield self._step(range(left.stop, left.stop), right)

    def _recut(self, unit: Unit, other: Unit, left: range, right: range) -> Step:
        texts = unit.texts[left.start - unit.start : left.stop - unit.start]
        others = other.texts[right.start - other.start : right.stop - other.start]
        return self._step(left, right, (texts, others))

    def _step(self, left: range, right: range, texts: PieceTexts | None = None) -> Step:
        return Step(
            left.start,
            right.start,
            self.expected[left.start : left.stop],
            self.actual[right.start : right.stop],
            texts,
        )

    def _same(self, unit: Unit, other: Unit) -> bool:
        """Whether two units may be partners."""
        if unit.key is not None:
            return bool(unit.key == other.key)
        if len(other.texts) > 1:
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

    def _slide_runs(self, units: list[Unit], others: list[Unit]) -> Pairs:
        """Align, and move each run up to where it holds the fewest different numbers: a whole
        block. A run may move over a pair whose item equals the last item of the run.
        """
        pairs = self._align(units, others)
        ends = [*pairs[1:], (len(units), len(others))]
        for k, (u, v) in enumerate(pairs):
            left, right = ends[k][0] - u - 1, ends[k][1] - v - 1
            if bool(left) == bool(right):
                continue
            run, stop = (units, ends[k][0]) if left else (others, ends[k][1])
            best, fewest = 0, _spread(run[stop - left - right : stop])
            for up in range(min(MAX_SLIDE, k + 1)):
                above = u - up, v - up
                if pairs[k - up] != above or not self._same(
                    units[above[0] + left], others[above[1] + right]
                ):
                    break
                stop -= 1
                if (spread := _spread(run[stop - left - right : stop])) < fewest:
                    best, fewest = up + 1, spread
            for up in range(best):
                pairs[k - up] = (u - up + left, v - up + right)
        return pairs


def _common_ends(left: int, right: int, same: Callable[[int, int], bool]) -> tuple[int, int]:
    """How many places are the same at the start, and how many of the rest at the end."""
    shortest = min(left, right)
    head = next((place for place in range(shortest) if not same(place, place)), shortest)
    rest = range(1, shortest - head + 1)
    return head, next((at - 1 for at in rest if not same(left - at, right - at)), len(rest))


def _between(
    left: list[Unit], right: list[Unit], pairs: Pairs
) -> Iterator[tuple[list[Unit], list[Unit], tuple[Unit, Unit] | None]]:
    """The units before each pair, and the pair; at the end the units after the last, and None."""
    a = b = 0
    for u, v in pairs:
        yield left[a:u], right[b:v], (left[u], right[v])
        a, b = u + 1, v + 1
    yield left[a:], right[b:], None


def _span(units: list[Unit]) -> range:
    return range(units[0].start, units[-1].start + len(units[-1].texts)) if units else range(0)


def _spread(units: list[Unit]) -> int:
    """How many different counted numbers a run holds."""
    return len({number for unit in units for number in unit.numbers})
