"""The operators of an expectation, and whether a value meets an expectation.

An operator is a mapping with exactly one key, one of `OPERATORS`; any other key is compared as it
is (`validate` refuses keys that look like operators). The walk goes from left to right, in the
order of the expectation. `Bindings` hold the values of ``$same``; a failed try removes its
bindings. Where there is a choice (``$contains``, ``$unordered``), the first one that works for that
list is kept. `MAX_TRIES` and `MAX_PATTERN_STEPS` limit the cost of one comparison; beyond them
nothing matches, and `Bindings.gave_up` is true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, NoReturn

from harness.stream.json_codec import Json

from .equality import equal, is_plain, may_hold
from .fingerprint import fingerprint
from .patterns import Pattern, PatternError

TYPES: Final[dict[str, Callable[[Json], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
"""The types of ``$any``. 1.0 equals 1, so it is an integer."""

MAX_TRIES: Final = 200_000
"""Tries to place an item of ``$contains`` or ``$unordered``, in one comparison; about a second."""
MAX_PATTERN_STEPS: Final = 1_000_000_000
"""Steps of all ``$re``, in one comparison: instructions of a pattern × characters of a text. Five
seconds at most, and mostly far fewer.
"""

NOTHING: Final[Any] = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
"""The value of a key that is not there."""


class Bindings:
    """The state of one comparison: the values bound by ``$same``, results of patterns and of JSON
    texts, and the tries and steps that are left.

    With ``loose``, ``$same`` binds nothing and accepts everything; alignments use that.
    """

    def __init__(self, *, loose: bool = False) -> None:
        self.loose = loose
        self.bound: dict[str, Json] = {}
        self.fits: dict[tuple[str, str], bool] = {}
        self.parsed: dict[str, Json] = {}
        self.tries = MAX_TRIES
        self.steps = MAX_PATTERN_STEPS

    @property
    def gave_up(self) -> bool:
        return self.tries <= 0 or self.steps <= 0

    def meets(self, expected: Json, actual: Json) -> bool:
        """Whether ``actual`` is as expected; binds names only if it is."""
        before = len(self.bound)
        if matches(expected, actual, self):
            return True
        self.forget(before)
        return False

    def forget(self, size: int) -> None:
        """Remove every name but the first ``size``."""
        while len(self.bound) > size:
            self.bound.popitem()


def operator_of(expected: Json) -> str | None:
    """The operator that a value is, or None for data."""
    if isinstance(expected, dict) and len(expected) == 1:
        (key,) = expected
        return key if key in OPERATORS else None
    return None


def matches(expected: Json, actual: Json, bindings: Bindings) -> bool:
    """Whether ``actual`` is as expected. After False, bindings of the failed try remain;
    `Bindings.meets` removes them.
    """
    operator = operator_of(expected)
    if operator is not None:
        return OPERATORS[operator](expected[operator], actual, bindings)
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            want is not NOTHING and got is not NOTHING and matches(want, got, bindings)
            for _, want, got in fields(expected, actual)
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(
                matches(want, got, bindings) for want, got in zip(expected, actual, strict=True)
            )
        )
    return equal(expected, actual)


def fields(expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    """Each key of either side with both values, `NOTHING` for a missing one. A key that is absent
    as expected is left out.
    """
    for key, want in expected.items():
        got = actual.get(key, NOTHING)
        if got is not NOTHING or want != {"$absent": True}:
            yield key, want, got
    for key, got in actual.items():
        if key not in expected:
            yield key, NOTHING, got


def parse_json(text: Json, bindings: Bindings) -> Json:
    """The value of a string that is JSON; `NOTHING` for anything else."""
    if not isinstance(text, str):
        return NOTHING
    if text not in bindings.parsed:
        try:
            bindings.parsed[text] = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            bindings.parsed[text] = NOTHING
    return bindings.parsed[text]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@lru_cache(maxsize=256)
def read_pattern(source: str) -> Pattern | PatternError:
    """The pattern of a ``$re``, or the error in it."""
    try:
        return Pattern(source)
    except PatternError as error:
        return error


def pair_equal(
    wanted: list[Json], actual: list[Json]
) -> tuple[dict[int, int], list[int], list[int]]:
    """Pair each wanted item that has no operators with an equal item; all equal ones are alike.

    Returns the pairs, the wanted items without operators that have no partner, and the actual items
    that are left; all as indices.
    """
    free: dict[Any, list[int]] = {}
    for place in range(len(actual) - 1, -1, -1):
        free.setdefault(fingerprint(actual[place]).exact, []).append(place)
    pairs: dict[int, int] = {}
    lost: list[int] = []
    for index, item in enumerate(wanted):
        if is_plain(item):
            if partners := free.get(fingerprint(item).exact):
                pairs[index] = partners.pop()
            else:
                lost.append(index)
    return pairs, lost, sorted(place for places in free.values() for place in places)


def _place_anywhere(wanted: list[Json], actual: list[Json], bindings: Bindings) -> bool:
    """Whether each wanted item has a partner of its own."""
    pairs, lost, places = pair_equal(wanted, actual)
    if lost:
        return False
    left = [item for index, item in enumerate(wanted) if index not in pairs]
    right = [actual[place] for place in places]
    if not bindings.loose and may_hold(left, b'{"$same"'):
        return _try_places(left, right, bindings, in_order=False)
    return _pair_up(left, right, bindings)


def _try_places(
    wanted: list[Json], actual: list[Json], bindings: Bindings, *, in_order: bool
) -> bool:
    """Try places from the left, item by item; where an item finds none, the item before it moves
    on.
    """
    # In order and without names the leftmost places are the best there are: no item has to move.
    may_move = not in_order or (not bindings.loose and may_hold(wanted, b'{"$same"'))
    chosen: list[tuple[int, int]] = []  # the place, and how many names were bound before
    start = 0
    while len(chosen) < len(wanted):
        bound, used = len(bindings.bound), {place for place, _ in chosen}
        for place in range(start, len(actual)):
            if bindings.gave_up:
                return False
            bindings.tries -= 1
            if (in_order or place not in used) and bindings.meets(
                wanted[len(chosen)], actual[place]
            ):
                chosen.append((place, bound))
                start = place + 1 if in_order else 0
                break
        else:
            if not chosen or not may_move:
                return False
            place, bound = chosen.pop()
            start = place + 1
            bindings.forget(bound)
    return True


def _pair_up(wanted: list[Json], actual: list[Json], bindings: Bindings) -> bool:
    """Whether each wanted item has a partner of its own, for items that bind no names.

    An item that finds only taken partners asks their owners to move (Kuhn's algorithm).
    """
    owner: dict[int, int] = {}

    @cache
    def fits(item: int, place: int) -> bool:
        bindings.tries -= 1
        return not bindings.gave_up and bindings.meets(wanted[item], actual[place])

    def find_place(item: int, asked: set[int]) -> bool:
        for place in chain(range(item, len(actual)), range(item)):
            if place not in asked and fits(item, place):
                asked.add(place)
                if place not in owner or find_place(owner[place], asked):
                    owner[place] = item
                    return True
        return False

    try:
        return all(find_place(item, set()) for item in range(len(wanted)))
    except RecursionError:  # about 900 items that all have to move
        bindings.tries = 0
        return False


def _any(argument: Json, actual: Json, _: Bindings) -> bool:
    return argument is True or (
        isinstance(argument, str) and argument in TYPES and TYPES[argument](actual)
    )


def _re(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if not isinstance(argument, str) or not isinstance(actual, str):
        return False
    known = bindings.fits.get((argument, actual))
    if known is None:
        pattern = read_pattern(argument)
        if isinstance(pattern, PatternError) or pattern.refuses(actual) or bindings.gave_up:
            return False
        bindings.steps -= pattern.steps(actual)
        known = bindings.fits[argument, actual] = pattern.fits(actual)
    return known


def _same(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if not isinstance(argument, str) or not argument:
        return False
    return bindings.loose or equal(bindings.bound.setdefault(argument, actual), actual)


def _json(argument: Json, actual: Json, bindings: Bindings) -> bool:
    value = parse_json(actual, bindings)
    return value is not NOTHING and matches(argument, value, bindings)


def _contains(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if isinstance(argument, str):
        return isinstance(actual, str) and argument in actual
    if isinstance(argument, list):
        return isinstance(actual, list) and _try_places(argument, actual, bindings, in_order=True)
    if not isinstance(argument, dict) or not isinstance(actual, dict) or operator_of(argument):
        return False
    return all(
        want is NOTHING or (got is not NOTHING and matches(want, got, bindings))
        for _, want, got in fields(argument, actual)
    )


def _unordered(argument: Json, actual: Json, bindings: Bindings) -> bool:
    both_lists = isinstance(argument, list) and isinstance(actual, list)
    return (
        both_lists and len(argument) == len(actual) and _place_anywhere(argument, actual, bindings)
    )


def _absent(argument: Json, actual: Json, _: Bindings) -> bool:
    return False  # only keys that exist are compared


def _literal(argument: Json, actual: Json, _: Bindings) -> bool:
    return equal(argument, actual)


OPERATORS: Final[dict[str, Callable[[Json, Json, Bindings], bool]]] = {
    "$any": _any,
    "$re": _re,
    "$same": _same,
    "$json": _json,
    "$contains": _contains,
    "$unordered": _unordered,
    "$absent": _absent,
    "$literal": _literal,
}
