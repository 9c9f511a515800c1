"""The operators of an expectation, and whether a value meets an expectation.

An operator is a mapping with exactly one key, one of `OPERATORS`; any other key is compared as data
(`validate` refuses keys that look like operators). The walk goes from left to right, in the order
of the expectation. `Bindings` hold the values of ``$same``; a failed try removes its bindings. If
there are several choices (``$contains``, ``$unordered``), the first one that works for that list is
kept. `MAX_TRIES` and `MAX_PATTERN_STEPS` limit the cost of one comparison; beyond them nothing
matches, and `Bindings.gave_up` is true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import chain, zip_longest
from typing import Any, Final, NoReturn

from msgspec import Struct

from harness.stream.json_codec import Json, same_json

from .equality import hashable, is_plain, may_hold
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
"""The maximum number of attempts to place an item of ``$contains`` or ``$unordered`` in one
comparison; they take about a second.
"""
MAX_PATTERN_STEPS: Final = 1_000_000_000
"""Steps of all ``$re``, in one comparison: instructions of a pattern × characters of a text. They
take at most five seconds, and usually much less.
"""

NOTHING: Final[Any] = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
"""The value of a key that is not there."""
ABSENT: Final = {"$absent": True}


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
        """Return whether ``actual`` is as expected; binds names only if it is."""
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
    """Return the operator that a value is, or None for data."""
    if isinstance(expected, dict) and len(expected) == 1:
        (key,) = expected
        return key if key in OPERATORS else None
    return None


def matches(expected: Json, actual: Json, bindings: Bindings) -> bool:
    """Return whether ``actual`` is as expected. After False, bindings of the failed try remain;
    `Bindings.meets` removes them.
    """
    operator = operator_of(expected)
    if operator is not None:
        row, argument = OPERATORS[operator], expected[operator]
        return row.is_argument(argument) and row.accepts(argument, actual, bindings)
    inner = fields(expected, actual)
    if inner is None:
        return same_json(expected, actual)
    return all(
        want is not NOTHING and got is not NOTHING and matches(want, got, bindings)
        for _, want, got in inner
    )


def fields(expected: Json, actual: Json) -> Iterator[tuple[str | int, Json, Json]] | None:
    """Return each key or index of either side with both values, `NOTHING` for a missing one; None
    if they are not two mappings or two lists. A key that is absent as expected is left out.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _keys(expected, actual)
    if isinstance(expected, list) and isinstance(actual, list):
        items = zip_longest(expected, actual, fillvalue=NOTHING)
        return ((place, want, got) for place, (want, got) in enumerate(items))
    return None


def _keys(expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    for key, want in expected.items():
        got = actual.get(key, NOTHING)
        if got is not NOTHING or want != ABSENT:
            yield key, want, got
    for key, got in actual.items():
        if key not in expected:
            yield key, NOTHING, got


def parse_json(text: Json, bindings: Bindings) -> Json:
    """Return the value of a string that is JSON; `NOTHING` for anything else."""
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
    """Return the pattern of a ``$re``, or the error in it."""
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
        free.setdefault(hashable(actual[place]), []).append(place)
    pairs: dict[int, int] = {}
    lost: list[int] = []
    for index, item in enumerate(wanted):
        if is_plain(item):
            if partners := free.get(hashable(item)):
                pairs[index] = partners.pop()
            else:
                lost.append(index)
    return pairs, lost, sorted(place for places in free.values() for place in places)


def _place_anywhere(wanted: list[Json], actual: list[Json], bindings: Bindings) -> bool:
    """Return whether each wanted item has a partner of its own."""
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
    """Try places from the left, item by item; if an item finds none, the item before moves on."""
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
    """Return whether each wanted item has a partner of its own, for items that bind no names.

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


def _re(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if not isinstance(actual, str):
        return False
    known = bindings.fits.get((argument, actual))
    if known is None:
        pattern = read_pattern(argument)
        if isinstance(pattern, PatternError) or pattern.refuses(actual) or bindings.gave_up:
            return False
        bindings.steps -= pattern.steps(actual)
        known = bindings.fits[argument, actual] = pattern.fits(actual)
    return known


def _json(argument: Json, actual: Json, bindings: Bindings) -> bool:
    value = parse_json(actual, bindings)
    return value is not NOTHING and matches(argument, value, bindings)


def _contains(argument: Json, actual: Json, bindings: Bindings) -> bool:
    inner = fields(argument, actual)
    if inner is None:
        return isinstance(argument, str) and isinstance(actual, str) and argument in actual
    if isinstance(argument, list):
        return _try_places(argument, actual, bindings, in_order=True)
    return all(
        want is NOTHING or (got is not NOTHING and matches(want, got, bindings))
        for _, want, got in inner
    )


class Operator(Struct, frozen=True):
    """One row of `OPERATORS`."""

    meaning: str
    """Describes the matches for editors."""
    accepts: Callable[[Json, Json, Bindings], bool]
    """Decides about a value, for an argument that ``is_argument`` accepts."""
    takes: str = "any value"
    """Describes the arguments that ``is_argument`` accepts."""
    is_argument: Callable[[Json], bool] = lambda argument: True
    refusal: str = "{operator} does not accept this"
    """Makes the note if there is no inner expectation to compare."""
    holds_expectations: bool = False


OPERATORS: Final = {
    "$any": Operator(
        "Any value, or any of a type: true, string, number, integer, boolean, object, array or"
        " null.",
        lambda argument, actual, _: argument is True or TYPES[argument](actual),
        f"true or one of {', '.join(TYPES)}",
        lambda argument: argument is True or (isinstance(argument, str) and argument in TYPES),
        refusal="any {argument} was expected",
    ),
    "$re": Operator(
        "A string that the whole pattern, one of RE2, matches.",
        _re,
        "a pattern, which is a string in quotes",
        lambda argument: isinstance(argument, str),
        refusal="the whole text must match the pattern",
    ),
    "$same": Operator(
        "A name: the value is equal at every use of the name in this expectation.",
        lambda argument, actual, bindings: (
            bindings.loose or same_json(bindings.bound.setdefault(argument, actual), actual)
        ),
        "a name, the same one wherever the value is equal",
        lambda argument: isinstance(argument, str) and argument != "",
    ),
    "$json": Operator(
        "A string whose JSON value matches.",
        _json,
        refusal="a string that is JSON was expected",
        holds_expectations=True,
    ),
    "$contains": Operator(
        "A part of a string; items of a list in this order, with or without other items between;"
        " keys of a mapping, also with other keys.",
        _contains,
        "a string, a list or a mapping of keys, with operators inside",
        lambda argument: isinstance(argument, str | list | dict) and not operator_of(argument),
        refusal="it does not contain this",
        holds_expectations=True,
    ),
    "$unordered": Operator(
        "The items of a list, in any order.",
        lambda argument, actual, bindings: (
            isinstance(actual, list)
            and len(argument) == len(actual)
            and _place_anywhere(argument, actual, bindings)
        ),
        "a list",
        lambda argument: isinstance(argument, list),
        holds_expectations=True,
    ),
    "$absent": Operator(
        "true: the mapping must not have this key.",
        lambda *_: False,  # only keys that exist are compared
        "true",
        lambda argument: argument is True,
    ),
    "$literal": Operator(
        "This value itself; operators inside are not read.",
        lambda argument, actual, _: same_json(argument, actual),
        refusal="",
    ),
}


def fault_of(operator: str, argument: Json) -> str:
    """Return the fault in the argument of an operator, or ``""``."""
    row = OPERATORS[operator]
    if not row.is_argument(argument):
        return f"{operator} takes {row.takes}, not {_kind(argument)}"
    pattern = read_pattern(argument) if operator == "$re" else None
    return f"$re: {pattern}" if isinstance(pattern, PatternError) else ""


def _kind(value: Json) -> str:
    """Return the JSON type of a value; an operator, a string or false as it is."""
    if operator := operator_of(value):
        return f"the operator {operator}"
    if value is False or isinstance(value, str):
        return "false" if value is False else repr(value[:60]) if value else "an empty string"
    return next(name for name, accepts in TYPES.items() if accepts(value))
