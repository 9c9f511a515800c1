"""How two lists that differ are gone through: which items are partners, which runs are missing or
extra, which text was cut differently.

What is the same at both ends is set aside first, so that a single deletion costs one pass. The rest
is joined into units and aligned twice, by exact fingerprints and by those with counted numbers
masked; the alignment with fewer differences wins. What finds no partner is aligned once more piece
by piece, and what is left then is paired by likeness. Items with operators have no fingerprint:
they are asked whether they accept an item, with names unbound, so that a plan never depends on what
a name was bound to.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from harness.stream.json_codec import Json

from .align import Pairs, align, best_pairs
from .equality import equal, is_plain
from .fingerprint import Fingerprint, fingerprint
from .joining import Joiner, Unit, single
from .operators import Bindings
from .sightings import sightings

MAX_SCORES: Final = 1_000
"""Left × right up to which leftovers are paired by likeness; beyond, the first with the first."""
STEPS: Final = 300_000
OPEN_STEPS: Final = 50_000
"""What an alignment may cost by keys, and by asking items with operators; about 0.3 s each."""
MAX_SLIDE: Final = 50
"""So far is a run moved to where it begins and ends together."""
PAIRS: Final = frozenset({"same", "pair"})
TAGS: Final = ("type", "kind")


class Step(Struct, frozen=True):
    """Items of the expectation beside items of what we got, by their numbers.

    A ``pair`` has one of each and need not be equal, ``same`` is one that is, but perhaps for
    names; ``missing`` has none on the right, ``extra`` none on the left. ``recut`` has both, and in
    ``pieces`` their texts, which need not be the same text.
    """

    kind: Literal["same", "pair", "missing", "extra", "recut"]
    left: range
    right: range
    pieces: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def plan(expected: list[Json], actual: list[Json], loose: Bindings) -> list[Step]:
    """The steps through two lists, in order; together they cover both."""
    return _Planner(expected, actual, loose).steps()


def likeness(expected: Json, actual: Json, loose: Bindings) -> float:
    """0 if two items have so little in common that they are rather one lost and one new; else more
    the more they share.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        keys = {*expected, *actual}
        shared = [key for key in keys if key in expected and key in actual]
        same = {key for key in shared if loose.meets(expected[key], actual[key])}
        tags = [tag for tag in TAGS if tag in keys]
        alike = all(tag in same for tag in tags) if tags else bool(shared)
        return 1 + 3 * len(same) / len(keys) if alike or 2 * len(same) >= len(keys) else 0
    return 0 if isinstance(expected, dict | list) != isinstance(actual, dict | list) else 1


class _Planner:
    """``masked``: counted numbers don't count, for the alignment was better without."""

    def __init__(self, expected: list[Json], actual: list[Json], loose: Bindings) -> None:
        self.expected, self.actual, self.loose = expected, actual, loose
        self.plain = is_plain(expected)
        self.masked = False
        self._lefts: dict[int, Fingerprint | None] = {}
        self._rights: dict[int, Fingerprint] = {}

    def steps(self) -> list[Step]:
        left, right = len(self.expected), len(self.actual)
        shortest = min(left, right)
        head = next((i for i in range(shortest) if not self._equal(i, i)), shortest)
        tail = next(
            (i for i in range(shortest - head) if not self._equal(left - 1 - i, right - 1 - i)),
            shortest - head,
        )
        middle = self._middle(range(head, left - tail), range(head, right - tail))
        return self._settle_runs(
            [*_pairs(0, 0, head, "same"), *middle, *_pairs(left - tail, right - tail, tail, "same")]
        )

    def _equal(self, i: int, j: int) -> bool:
        if self.plain:
            return equal(self.expected[i], self.actual[j])
        return self.loose.meets(self.expected[i], self.actual[j])

    def _accepts(self, i: int, j: int) -> bool:
        """Whether two items may be partners in the alignment."""
        item = self._left(i)
        if item is not None:
            return bool(self._key(item) == self._key(self._right(j)))
        return (
            sightings(self.expected[i], self.actual[j], self.loose)[1]
            if self.masked
            else self._equal(i, j)
        )

    def _key(self, item: Fingerprint | Unit) -> Any:
        return item.masked if self.masked else item.exact

    def _left(self, i: int) -> Fingerprint | None:
        """The fingerprint of an expected item, made when it is first asked for; None if it has
        operators.
        """
        if i not in self._lefts:
            item = self.expected[i]
            self._lefts[i] = fingerprint(item) if self.plain or is_plain(item) else None
        return self._lefts[i]

    def _right(self, j: int) -> Fingerprint:
        if j not in self._rights:
            self._rights[j] = fingerprint(self.actual[j])
        return self._rights[j]

    def _middle(self, left: range, right: range) -> list[Step]:
        """The steps between what is the same at both ends, unit by unit."""
        if not left or not right:
            return _apart(left, right)
        joiner = Joiner([self._left(i) for i in left], [self._right(j) for j in right])
        units, others = joiner.units(0, left.start), joiner.units(1, right.start)
        steps: list[Step] = []
        a = b = 0
        for u, v in self._align_best(units, others):
            steps += self._gap(units[a:u], others[b:v])
            steps += _together(units[u], others[v])
            a, b = u + 1, v + 1
        return steps + self._gap(units[a:], others[b:])

    def _align_best(self, units: list[Unit], others: list[Unit]) -> Pairs:
        """The alignment with fewer differences, by exact or by masked keys; ``masked`` remembers
        which.
        """
        exact = self._align(units, others)
        if any(self._right(j).numbers for unit in others for j in range(unit.start, unit.stop)):
            self.masked = True
            masked = self._align(units, others)
            jumps = self._jumps([(units[u].start, others[v].start) for u, v in masked])
            self.masked = 2 * len(masked) - jumps > 2 * len(exact)
            return masked if self.masked else exact
        return exact

    def _align(self, units: list[Unit], others: list[Unit]) -> Pairs:
        """Align by keys; what has its key on one side only is left out first. None is the key of an
        item with operators.
        """
        names: dict[Any, int] = {}
        left = [
            -1 if unit.exact is None else names.setdefault(self._key(unit), len(names))
            for unit in units
        ]
        right = [names.setdefault(self._key(unit), len(names)) for unit in others]
        common, is_open = {*left} & {*right}, -1 in left
        lefts = [u for u, name in enumerate(left) if name < 0 or name in common]
        rights = [v for v, name in enumerate(right) if is_open or name in common]

        def same(a: int, b: int) -> bool:
            name, unit, other = left[lefts[a]], units[lefts[a]], others[rights[b]]
            if name >= 0:
                return name == right[rights[b]]
            return other.stop - other.start == 1 and self._accepts(unit.start, other.start)

        return [
            (lefts[a], rights[b])
            for a, b in align(len(lefts), len(rights), same, OPEN_STEPS if is_open else STEPS)
        ]

    def _jumps(self, pairs: Pairs) -> int:
        """How often the shift of a counted number changes along the pairs."""
        jumps = 0
        shifts: dict[str, int] = {}
        for i, j in pairs:
            item = self._left(i)
            for (name, one), (_, other) in zip(
                item.numbers if item else (), self._right(j).numbers, strict=False
            ):
                if other != one and shifts.get(name, 0) != other - one:
                    jumps += 1
                    shifts[name] = other - one
        return jumps

    def _gap(self, units: list[Unit], others: list[Unit]) -> list[Step]:
        """Steps through units that found no partner: piece by piece, then by likeness."""
        left = [single(i, self._left(i), text) for unit in units for i, text in _pieces(unit)]
        right = [single(j, self._right(j), text) for unit in others for j, text in _pieces(unit)]
        is_text = (
            len(units) == len(others) == 1
            and units[0].frame is not None
            and units[0].frame == others[0].frame
        )
        aligned_before = len(left) == len(units) and len(right) == len(others)
        steps: list[Step] = []
        a = b = 0
        for u, v in [] if aligned_before else self._align(left, right):
            steps += self._leftovers(left[a:u], right[b:v], is_text=is_text)
            steps += _pairs(left[u].start, right[v].start, 1)
            a, b = u + 1, v + 1
        return steps + self._leftovers(left[a:], right[b:], is_text=is_text)

    def _leftovers(self, left: list[Unit], right: list[Unit], *, is_text: bool) -> list[Step]:
        """Steps through items that are equal to none. Pieces of one text that are not as many on
        both sides are not told one by one.
        """
        if not left or not right:
            return _apart(_span(left), _span(right))
        if is_text and len(left) != len(right):
            pieces = tuple(unit.texts[0] for unit in left), tuple(unit.texts[0] for unit in right)
            return [Step("recut", _span(left), _span(right), pieces)]
        if len(left) == len(right) == 1 or len(left) * len(right) > MAX_SCORES:
            pairs = [(place, place) for place in range(min(len(left), len(right)))]
        else:
            items, others = (
                [self.expected[unit.start] for unit in left],
                [self.actual[unit.start] for unit in right],
            )
            pairs = best_pairs(
                len(left), len(right), lambda u, v: likeness(items[u], others[v], self.loose)
            )
        steps: list[Step] = []
        a = b = 0
        for u, v in pairs:
            steps += _apart(_span(left[a:u]), _span(right[b:v]))
            steps += _pairs(left[u].start, right[v].start, 1)
            a, b = u + 1, v + 1
        return steps + _apart(_span(left[a:]), _span(right[b:]))

    def _settle_runs(self, steps: list[Step]) -> list[Step]:
        """Move each run up, over pairs that it could as well have begun with, to where it names the
        fewest different numbers: a whole block.
        """
        settled: list[Step] = []
        for step in steps:
            if step.kind not in ("missing", "extra"):
                settled.append(step)
                continue
            up = self._best_slide(step, settled)
            moved = settled[len(settled) - up :]
            del settled[len(settled) - up :]
            run = _slid(step, -up, -up)
            if settled and settled[-1].kind == run.kind:
                last = settled.pop()
                run = Step(
                    run.kind,
                    range(last.left.start, run.left.stop),
                    range(last.right.start, run.right.stop),
                )
            settled += [
                run,
                *(
                    _slid(replace(pair, kind="pair"), len(step.left), len(step.right))
                    for pair in moved
                ),
            ]
        return settled

    def _best_slide(self, step: Step, before: list[Step]) -> int:
        run = step.left or step.right
        best, fewest = 0, self._spread(step, 0)
        for up in range(1, min(MAX_SLIDE, len(before)) + 1):
            pair, leaving = before[-up], run.stop - up
            if pair.kind not in PAIRS:
                break
            if not (
                self._accepts(leaving, pair.right.start)
                if step.left
                else self._accepts(pair.left.start, leaving)
            ):
                break
            spread = self._spread(step, up)
            if spread < fewest:
                best, fewest = up, spread
        return best

    def _spread(self, step: Step, up: int) -> int:
        """How many different counted numbers a run would name if it were moved up by so many
        items.
        """
        if step.left:
            items = [self._left(i - up) or fingerprint(self.expected[i - up]) for i in step.left]
        else:
            items = [self._right(j - up) for j in step.right]
        return len({number for item in items for number in item.numbers})


def _pieces(unit: Unit) -> list[tuple[int, str]]:
    return list(zip(range(unit.start, unit.stop), unit.texts, strict=True))


def _span(units: list[Unit]) -> range:
    return range(units[0].start, units[-1].stop) if units else range(0)


def _pairs(i: int, j: int, count: int, kind: Literal["same", "pair"] = "pair") -> list[Step]:
    return [
        Step(kind, range(i + place, i + place + 1), range(j + place, j + place + 1))
        for place in range(count)
    ]


def _apart(left: range, right: range) -> list[Step]:
    if len(left) == len(right) == 1:
        return [Step("pair", left, right)]
    missing = [Step("missing", left, range(0))] if left else []
    return missing + ([Step("extra", range(0), right)] if right else [])


def _slid(step: Step, left: int, right: int) -> Step:
    """A step that is so many items further down; the empty side of a run stays empty."""
    return Step(
        step.kind,
        range(step.left.start + left, step.left.stop + left) if step.left else step.left,
        range(step.right.start + right, step.right.stop + right) if step.right else step.right,
    )


def _together(unit: Unit, other: Unit) -> list[Step]:
    """Two units with the same text: pair by pair where they are cut alike; between the first and
    the last other cut they are recut.
    """
    if unit.frame is None or other.frame is None or unit.texts == other.texts:
        return _pairs(unit.start, other.start, unit.stop - unit.start)
    left, right = unit.texts, other.texts
    shortest = min(len(left), len(right))
    head = next((place for place in range(shortest) if left[place] != right[place]), shortest)
    tail = next(
        (place for place in range(shortest - head) if left[-1 - place] != right[-1 - place]),
        shortest - head,
    )
    between, beside = (
        range(unit.start + head, unit.stop - tail),
        range(other.start + head, other.stop - tail),
    )
    pieces = left[head : len(left) - tail], right[head : len(right) - tail]
    # An empty piece more or less is no cut.
    middle = (
        [Step("recut", between, beside, pieces)] if between and beside else _apart(between, beside)
    )
    return [
        *_pairs(unit.start, other.start, head),
        *middle,
        *_pairs(unit.stop - tail, other.stop - tail, tail),
    ]
