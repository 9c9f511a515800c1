"""Aligns two lists: which items are partners, which runs are missing or extra, and which texts were
cut differently.

Equal items at both ends are set aside, so a single deletion costs one pass. The other items become
units (`fingerprint`), which are aligned by their keys: first with the pieces of a text joined, then
units without a partner piece by piece, and the rest by likeness. An item with operators has no key:
the alignment asks whether it accepts an item, with names unbound, so the result does not depend on
bound names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.stream.json_codec import Json, same_json

from . import fingerprint
from .align import Pairs, align, best_pairs
from .counters import sightings
from .fingerprint import TAGS, Unit, join
from .mismatch import ItemSteps, MismatchKind
from .operators import Bindings

MAX_SCORES: Final = 4_000
"""The maximum of left × right for pairing by likeness; more items are paired in order."""
STEPS: Final = 100_000
OPEN_STEPS: Final = 50_000
"""The step limits of an alignment by keys, and of one that asks items with operators."""
MAX_SLIDE: Final = 50
"""The maximum number of units by which a run is moved up to the start of a block."""

Same = Callable[[Unit, Unit], bool]
PieceTexts = tuple[tuple[str, ...], tuple[str, ...]]


class AlignedItems(Struct, frozen=True):
    """Expected items beside actual items.

    If both sides have the same number of items, these are pairs, which may differ. A run has no
    items on one side.
    """

    start: int
    """The index of the first item."""
    expected: list[Json]
    actual: list[Json]
    texts: PieceTexts | None = None
    """The pieces of a text that was cut differently; they may differ as a whole."""

    @property
    def is_pairs(self) -> bool:
        return self.texts is None and len(self.expected) == len(self.actual)

    def pairs(self, path: ItemSteps) -> Iterator[tuple[ItemSteps, Json, Json]]:
        """Yield each pair, with the path of its expected item in the list at ``path``."""
        for place, (want, got) in enumerate(zip(self.expected, self.actual, strict=True)):
            yield (*path, self.start + place), want, got

    def finding(
        self, path: ItemSteps, shifts: Iterable[str]
    ) -> tuple[ItemSteps, MismatchKind, Json, Json, str]:
        """Return the finding of a run or a text: its path, kind, both sides and note."""
        items = self.expected or self.actual
        several = len(items) > 1
        place = (*path, range(self.start, self.start + len(items)) if several else self.start)
        notes = [f"{len(items):,} items"] if several else []
        shown = items if several else items[0]
        kind: MismatchKind = "missing" if self.expected else "extra"
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
    """Return the similarity of two items, from 1 to 4; 0 if they should count as a missing and an
    extra item.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = {*expected, *actual}
        shared = expected.keys() & actual.keys()
        same = {key for key in shared if loose.meets(expected[key], actual[key])}
        renamed = renamed_keys(expected, actual)
        kept = same | renamed.keys() | {*renamed.values()}
        alike = TAGS & keys <= kept if TAGS & keys else bool(shared or renamed)
        return 1 + 3 * len(same) / len(keys) if alike or 2 * len(same) >= len(keys) else 0
    return 0 if isinstance(expected, dict | list) != isinstance(actual, dict | list) else 1


def renamed_keys(expected: dict[str, Json], actual: dict[str, Json]) -> dict[str, str]:
    """Return the keys of ``expected`` whose values are under another key now, and that key. Several
    keys may have the same number, so only texts, lists and objects count, and each only once.
    """
    lost = {
        key: expected[key]
        for key in expected.keys() - actual.keys()
        if expected[key] and isinstance(expected[key], str | list | dict)
    }
    new = {key: actual[key] for key in actual.keys() - expected.keys()}
    found = {key: [name for name in new if same_json(lost[key], new[name])] for key in lost}
    taken = [names[0] for names in found.values() if len(names) == 1]
    return {
        key: found[key][0]
        for key in expected
        if len(found.get(key, ())) == 1 and taken.count(found[key][0]) == 1
    }


def align_lists(expected: list[Json], actual: list[Json], loose: Bindings) -> list[AlignedItems]:
    """Return the steps through both lists, in order; together they cover both."""

    def same_item(i: int, j: int) -> bool:
        return same_json(expected[i], actual[j]) or loose.meets(expected[i], actual[j])

    def same(unit: Unit, other: Unit) -> bool:
        if unit.key is not None:
            return bool(unit.key == other.key)
        return not other.pieces and sightings(unit.item, other.item, loose)[1]

    head, tail = _common_ends(len(expected), len(actual), same_item)
    start = max(head - MAX_SLIDE, 0)  # a lost block may begin before the first difference
    stop, end = len(expected) - tail, len(actual) - tail
    units, others = fingerprint.units(expected[start:stop], actual[start:end], start)
    pairs = _align(units, others, same)
    _slide_runs(units, others, pairs, same)
    steps = [AlignedItems(0, expected[:start], actual[:start])]
    for gap, beside, partners in _between(units, others, pairs):
        steps += _alike(gap, beside, loose)
        if partners:
            steps += _together(*partners)
    return [*steps, AlignedItems(stop, expected[stop:], actual[end:])]


def _together(unit: Unit, other: Unit) -> Iterator[AlignedItems]:
    """Yield steps through two partners: pairs if the cuts are the same, and one step from the first
    different cut to the last.
    """
    left, right = unit.parts, other.parts
    head, tail = 1, 0
    if unit.key is not None:
        head, tail = _common_ends(len(left), len(right), lambda i, j: left[i].text == right[j].text)
    stop, end = len(left) - tail, len(right) - tail
    yield _step(left[:head], right[:head])
    # An additional empty piece is not a different cut.
    yield _step(left[head:stop], right[head:end], is_text=head < min(stop, end))
    yield _step(left[stop:], right[end:])


def _alike(gap: list[Unit], beside: list[Unit], loose: Bindings) -> Iterator[AlignedItems]:
    """Yield steps through units without an equal one on the other side: one step for the pieces of
    one text, else items that are paired by likeness.
    """
    left = [part for unit in gap for part in unit.parts]
    right = [part for unit in beside for part in unit.parts]
    if len(left) != len(right) and _is_one_text(left, right):
        yield _step(left, right, is_text=True)
        return
    if len(left) == len(right) == 1 or len(left) * len(right) > MAX_SCORES:
        pairs = [(place, place) for place in range(min(len(left), len(right)))]
    else:
        pairs = best_pairs(
            len(left), len(right), lambda i, j: likeness(left[i].item, right[j].item, loose)
        )
    for missing, extra, partners in _between(left, right, pairs):
        if len(missing) == len(extra) == 1:
            yield _step(missing, extra)
        else:
            yield _step(missing, [])
            yield _step([], extra)
        if partners:
            yield _step(partners[:1], partners[1:])


def _is_one_text(left: list[Unit], right: list[Unit]) -> bool:
    """Return whether each side is the pieces of one text, of the same frame."""
    texts = [text for side in (left, right) for text in join(side)]
    return len(texts) == 2 and texts[0].frame == texts[1].frame is not None and bool(left and right)


def _step(left: Sequence[Unit], right: Sequence[Unit], *, is_text: bool = False) -> AlignedItems:
    start = next((unit.start for unit in (*left, *right)), 0)
    expected, actual = [unit.item for unit in left], [unit.item for unit in right]
    cuts = tuple(unit.text for unit in left), tuple(unit.text for unit in right)
    return AlignedItems(start, expected, actual, cuts if is_text else None)


def _align(units: list[Unit], others: list[Unit], same: Same) -> Pairs:
    """Align by keys; units whose key is on one side only are left out first."""
    is_open = any(unit.key is None for unit in units)
    common = {unit.key for unit in units} & {unit.key for unit in others}
    left = [u for u, unit in enumerate(units) if unit.key is None or unit.key in common]
    right = [v for v, unit in enumerate(others) if is_open or unit.key in common]
    pairs = align(
        len(left),
        len(right),
        lambda a, b: same(units[left[a]], others[right[b]]),
        OPEN_STEPS if is_open else STEPS,
    )
    return [(left[a], right[b]) for a, b in pairs]


def _slide_runs(units: list[Unit], others: list[Unit], pairs: Pairs, same: Same) -> None:
    """Move each run up to the place with the fewest different numbers in it: a whole block. A run
    may move over a pair whose item equals the last item of the run.
    """
    ends = [*pairs[1:], (len(units), len(others))]
    for k, (u, v) in enumerate(pairs):
        left, right = ends[k][0] - u - 1, ends[k][1] - v - 1
        if bool(left) == bool(right):
            continue
        run, stop = (units, ends[k][0]) if left else (others, ends[k][1])
        best, fewest = 0, _spread(run[stop - left - right : stop])
        for up in range(min(MAX_SLIDE, k + 1)):
            i, j = u - up, v - up
            if pairs[k - up] != (i, j) or not same(units[i + left], others[j + right]):
                break
            stop -= 1
            if (spread := _spread(run[stop - left - right : stop])) < fewest:
                best, fewest = up + 1, spread
        for up in range(best):
            pairs[k - up] = (u - up + left, v - up + right)


def _common_ends(left: int, right: int, same: Callable[[int, int], bool]) -> tuple[int, int]:
    """Return the number of equal places at the start, and of equal places at the end of the
    rest.
    """
    shortest = min(left, right)
    head = next((place for place in range(shortest) if not same(place, place)), shortest)
    rest = range(1, shortest - head + 1)
    return head, next((at - 1 for at in rest if not same(left - at, right - at)), len(rest))


def _between(
    left: list[Unit], right: list[Unit], pairs: Pairs
) -> Iterator[tuple[list[Unit], list[Unit], tuple[Unit, Unit] | None]]:
    """Yield the units before each pair, and the pair; at the end the units after the last, and
    None.
    """
    a = b = 0
    for u, v in pairs:
        yield left[a:u], right[b:v], (left[u], right[v])
        a, b = u + 1, v + 1
    yield left[a:], right[b:], None


def _spread(units: list[Unit]) -> int:
    """Return the number of different counted numbers in a run."""
    return len({number for unit in units for number in unit.numbers})
