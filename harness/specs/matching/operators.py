"""The operators of an expectation: what each one accepts, and whether a value meets an expectation.

An operator is a mapping with exactly one key, one of `OPERATORS`; any other ``$`` key is data.
Meeting is a walk from left to right, in the order of the expectation, with `Bindings` for what
``$same`` has seen; a failed try takes its bindings back. Where there is a choice (``$contains``,
``$unordered``) the first that works for that list is taken and kept. What all this may cost in one
comparison is limited: `MAX_TRIES`, `MAX_PATTERN_STEPS`; beyond, nothing matches any more and
`Bindings.gave_up` says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
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
"""What ``$any`` may name. 1.0 equals 1, so it is an integer."""

MAX_TRIES: Final = 200_000
"""Tries to place an item of ``$contains`` or ``$unordered``, in one comparison; about a second."""
MAX_PATTERN_STEPS: Final = 1_000_000_000
"""Steps of all ``$re``, in one comparison: instructions of a pattern × characters of a text. Five
seconds at most, and mostly far fewer.
"""

NOTHING: Final[Any] = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
"""The value of a key that is not there."""


class Bindings:
    """What one comparison remembers: values that ``$same`` has bound, what patterns and JSON said
    of a text, and what is left to spend.

    ``loose``: ``$same`` binds nothing and accepts everything, for looking ahead.
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
        """Take back every name but the first ``size``."""
        while len(self.bound) > size:
            self.bound.popitem()


def operator_of(expected: Json) -> str | None:
    """The operator that a value is, or None for data."""
    if isinstance(expected, dict) and len(expected) == 1:
        (key,) = expected
        return key if key in OPERATORS else None
    return None


def matches(expected: Json, actual: Json, bindings: Bindings) -> bool:
    """Whether ``actual`` is as expected; after a False the bindings are not to be trusted
    (`Bindings.meets` takes care of that).
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
    """Each key of either side with both values, `NOTHING` where it has none; a key that is absent
    as asked is left out.
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
    """The pattern of a ``$re``, or what is wrong with it."""
    try:
        return Pattern(source)
    except PatternError as error:
        return error


def place_in_order(wanted: list[Json], actual: list[Json], bindings: Bindings) -> list[int] | None:
    """Where each wanted item stands in ``actual``, in this order; None if they do not."""
    return _try_places(wanted, actual, bindings, in_order=True)


def place_anywhere(wanted: list[Json], actual: list[Json], bindings: Bindings) -> list[int] | None:
    """A partner of its own for each wanted item, or None. Items without operators take any equal
    one: those are all alike.
    """
    free: dict[Any, list[int]] = {}
    for index in range(len(actual) - 1, -1, -1):
        free.setdefault(fingerprint(actual[index]).exact, []).append(index)
    found: dict[int, int] = {}
    for index, item in enumerate(wanted):
        if is_plain(item):
            partners = free.get(fingerprint(item).exact)
            if not partners:
                return None
            found[index] = partners.pop()
    places = sorted(place for partners in free.values() for place in partners)
    rest = [index for index in range(len(wanted)) if index not in found]
    left, right = [wanted[index] for index in rest], [actual[place] for place in places]
    named = not bindings.loose and may_hold(left, b'{"$same"')
    placed = (
        _try_places(left, right, bindings, in_order=False)
        if named
        else _pair_up(left, right, bindings)
    )
    if placed is None:
        return None
    found.update((index, places[place]) for index, place in zip(rest, placed, strict=True))
    return [found[index] for index in range(len(wanted))]


def _try_places(
    wanted: list[Json], actual: list[Json], bindings: Bindings, *, in_order: bool
) -> list[int] | None:
    """Try places from the left, item by item; where an item finds none, the one before it moves
    on.
    """
    # In order and without names the leftmost places are the best there are: nobody need move.
    may_move = not in_order or (not bindings.loose and may_hold(wanted, b'{"$same"'))
    chosen: list[int] = []
    marks: list[int] = []
    start = 0
    while len(chosen) < len(wanted):
        mark, used = len(bindings.bound), set() if in_order else set(chosen)
        for place in range(start, len(actual)):
            if bindings.gave_up:
                return None
            bindings.tries -= 1
            if place not in used and bindings.meets(wanted[len(chosen)], actual[place]):
                chosen.append(place)
                marks.append(mark)
                start = place + 1 if in_order else 0
                break
        else:
            if not chosen or not may_move:
                return None
            start = chosen.pop() + 1
            bindings.forget(marks.pop())
    return chosen


def _pair_up(wanted: list[Json], actual: list[Json], bindings: Bindings) -> list[int] | None:
    """A partner for each wanted item that binds no names: whoever finds only taken ones asks their
    owners to move (Kuhn's algorithm).
    """
    fits: dict[tuple[int, int], bool] = {}
    owner: dict[int, int] = {}
    place_of: dict[int, int] = {}
    for newcomer in range(len(wanted)):
        asked_by: dict[int, int] = {}
        asking = [newcomer]
        for asker in asking:
            if newcomer in place_of:
                break
            for place in chain(range(asker, len(actual)), range(asker)):
                if place in asked_by:
                    continue
                if (asker, place) not in fits:
                    if bindings.gave_up:
                        return None
                    bindings.tries -= 1
                    fits[asker, place] = bindings.meets(wanted[asker], actual[place])
                if fits[asker, place]:
                    asked_by[place] = asker
                    if place not in owner:
                        _move_along(place, asked_by, owner, place_of)
                        break
                    asking.append(owner[place])
        if newcomer not in place_of:
            return None
    return [place_of[index] for index in range(len(wanted))]


def _move_along(
    free: int, asked_by: dict[int, int], owner: dict[int, int], place_of: dict[int, int]
) -> None:
    """Give a free place to its asker, that one's old place to who asked for it, and so on."""
    place: int | None = free
    while place is not None:
        asker = asked_by[place]
        left = place_of.get(asker)
        owner[place], place_of[asker] = asker, place
        place = left


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
        return isinstance(actual, list) and place_in_order(argument, actual, bindings) is not None
    if not isinstance(argument, dict) or not isinstance(actual, dict) or operator_of(argument):
        return False
    return all(
        want is NOTHING or (got is not NOTHING and matches(want, got, bindings))
        for _, want, got in fields(argument, actual)
    )


def _unordered(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if (
        not isinstance(argument, list)
        or not isinstance(actual, list)
        or len(argument) != len(actual)
    ):
        return False
    return place_anywhere(argument, actual, bindings) is not None


def _absent(argument: Json, actual: Json, _: Bindings) -> bool:
    return False  # the key is there, or nobody would ask


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
