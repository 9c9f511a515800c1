"""Aligns two lists: which items are partners, which runs are missing or extra, and which texts were
cut differently.

Equal items at both ends are set aside, so a single deletion costs one pass. The other items become
units (`fingerprint`), which are aligned by their keys: first with the pieces of a text joined, then
what has no partner piece by piece, and what is left by likeness. An item with operators has no key:
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
from .counters import renumber
from .fingerprint import TAGS, Unit, join
from .mismatch import Kind, Path
from .operators import Bindings

MAX_SCORES: Final = 1_000
"""The largest left × right for pairing by likeness; more items are paired in order."""
STEPS: Final = 100_000
OPEN_STEPS: Final = 50_000
"""The step limits of an alignment by keys, and of one that asks items with operators."""
MAX_SLIDE: Final = 50
"""The most units by which a run is moved up to the start of a block."""

Same = Callable[[Unit, Unit], bool]
PieceTexts = tuple[tuple[str, ...], tuple[str, ...]]


class Step(Struct, frozen=True):
    """Expected units beside actual units.

    Equally many on both sides are pairs, which may differ. A run has none on one side. The pieces
    of a text that was cut differently are one step, and may differ as a whole.
    """

    left: Sequence[Unit]
    right: Sequence[Unit]
    is_text: bool = False

    @property
    def is_pairs(self) -> bool:
        return not self.is_text and len(self.left) == len(self.right)

    @property
    def names(self) -> set[str]:
        """The names of the counted numbers in it."""
        return {name for unit in (*self.left, *self.right) for name, _ in unit.numbers}

    def pairs(self, path: Path) -> Iterator[tuple[Path, Json, Json]]:
        """Each pair, with the path of its expected item in the list at ``path``."""
        for unit, other in zip(self.left, self.right, strict=True):
            yield (*path, unit.start), unit.item, other.item

    def finding(self, path: Path, shifts: Iterable[str]) -> tuple[Path, Kind, Json, Json, str]:
        """The finding of a run or a text: its path, kind, both sides and note."""
        units = self.left or self.right
        start, count = units[0].start, len(units)
        place = (*path, range(start, start + count) if count > 1 else start)
        if self.is_text:
            left, right = [unit.text for unit in self.left], [unit.text for unit in self.right]
            cuts = f"{len(left):,} piece{'s'[: len(left) - 1]} expected, {len(right):,} got"
            if "".join(left) == "".join(right):
                note = f"same text, cut differently: {cuts}"
                return place, "recut", left, right, "; ".join([note, *shifts])
            note = f"the texts of these pieces, joined: {cuts}"
            return place, "changed", "".join(left), "".join(right), "; ".join([note, *shifts])
        shown = [unit.item for unit in units] if count > 1 else units[0].item
        note = "; ".join([f"{count:,} items", *shifts] if count > 1 else shifts)
        if self.left:
            return place, "missing", shown, None, note
        return place, "extra", None, shown, note


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

    def same_item(i: int, j: int) -> bool:
        return same_json(expected[i], actual[j]) or loose.meets(expected[i], actual[j])

    def same(unit: Unit, other: Unit) -> bool:
        if unit.key is not None:
            return bool(unit.key == other.key)
        renumbered = renumber(unit.item, other.item, [])
        return not other.pieces and loose.meets(renumbered, other.item)

    head, tail = _common_ends(len(expected), len(actual), same_item)
    start = max(head - MAX_SLIDE, 0)  # a lost block may begin before the first difference
    stop, end = len(expected) - tail, len(actual) - tail
    left, right = fingerprint.units(expected[start:stop], actual[start:end], start)
    pairs = _align(left, right, same)
    _slide_runs(left, right, pairs, same)
    steps = [Step(_equal(expected, 0, start), _equal(actual, 0, start))]
    for gap, beside, partners in _between(left, right, pairs):
        steps += _alike(gap, beside, loose)
        if partners:
            steps += _together(*partners)
    return [*steps, Step(_equal(expected, stop), _equal(actual, end))]


def _equal(items: list[Json], start: int, stop: int | None = None) -> list[Unit]:
    """The units of items that equal their partners; nothing asks for their keys."""
    return [Unit(place, item, None, ()) for place, item in enumerate(items[start:stop], start)]


def _together(unit: Unit, other: Unit) -> Iterator[Step]:
    """Steps through two partners: pairs where the cuts are the same, and one step from the first
    different cut to the last.
    """
    left, right = unit.parts, other.parts
    is_open = unit.key is None
    head, tail = _common_ends(
        len(left), len(right), lambda i, j: is_open or left[i].text == right[j].text
    )
    stop, end = len(left) - tail, len(right) - tail
    yield Step(left[:head], right[:head])
    # An empty piece more or less is no cut.
    yield Step(left[head:stop], right[head:end], is_text=head < min(stop, end))
    yield Step(left[stop:], right[end:])


def _alike(gap: list[Unit], beside: list[Unit], loose: Bindings) -> Iterator[Step]:
    """Steps through units that equal none of the other side: one step for the pieces of one text,
    else items that are paired by likeness.
    """
    left = [part for unit in gap for part in unit.parts]
    right = [part for unit in beside for part in unit.parts]
    if len(left) != len(right) and _is_one_text(left, right):
        yield Step(left, right, is_text=True)
        return
    if len(left) == len(right) == 1 or len(left) * len(right) > MAX_SCORES:
        pairs = [(place, place) for place in range(min(len(left), len(right)))]
    else:
        pairs = best_pairs(
            len(left), len(right), lambda i, j: likeness(left[i].item, right[j].item, loose)
        )
    for missing, extra, partners in _between(left, right, pairs):
        if len(missing) == len(extra) == 1:
            yield Step(missing, extra)
        else:
            yield Step(missing, [])
            yield Step([], extra)
        if partners:
            yield Step(partners[:1], partners[1:])


def _is_one_text(left: list[Unit], right: list[Unit]) -> bool:
    """Whether each side is the pieces of one text, of the same frame."""
    texts = [text for side in (left, right) for text in join(side)]
    return len(texts) == 2 and texts[0].frame == texts[1].frame is not None and bool(left and right)


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
    """Move each run up to the start of a block: its first and its last item share a number.
    A run may move over a pair whose item equals the last item of the run.
    """
    ends = [*pairs[1:], (len(units), len(others))]
    for k, (u, v) in enumerate(pairs):
        left, right = ends[k][0] - u - 1, ends[k][1] - v - 1
        if bool(left) == bool(right):
            continue
        run, above, count = (units, u, left) if left else (others, v, right)
        for up in range(k + 1):
            first, last = run[above + 1 - up], run[above + count - up]
            partners = units[u - up + left], others[v - up + right]
            is_mixed = first.numbers and {*first.numbers}.isdisjoint(last.numbers)
            if not is_mixed or pairs[k - up] != (u - up, v - up) or not same(*partners):
                break
            pairs[k - up] = (u - up + left, v - up + right)


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
