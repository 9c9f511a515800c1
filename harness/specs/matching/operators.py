"""The operators of an expectation, and whether a value meets an expectation.

An operator is a mapping with exactly one key, one of `OPERATORS`; any other key is compared as it
is (`validate` refuses keys that look like operators). The walk goes from left to right, in the
order of the expectation. `Bindings` hold the values of ``$same``; a failed try removes its
bindings. Where there is a choice (``$contains``, ``$unordered``), the first one that works for that
list is kept. `MAX_TRIES` limits the cost of one comparison; beyond it nothing matches, and
`Bindings.gave_up` is true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NoReturn

from msgspec import Struct

from harness.stream.json_codec import Json, same_json

from .equality import hashable, is_plain, may_hold
from .patterns import MAX_SUBJECT, read_pattern

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
STEPS_OF_A_TRY: Final = 5_000
"""Steps of a ``$re``, which are instructions of a pattern × characters of a text, count as a try;
all tries of patterns take five seconds at most, and mostly far less.
"""

NOTHING: Final[Any] = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
"""The value of a key that is not there."""
ABSENT: Final = {"$absent": True}


class Bindings:
    """The state of one comparison: the values bound by ``$same``, and the tries that are left.

    With ``loose``, ``$same`` binds nothing and accepts everything; alignments use that.
    """

    def __init__(self, *, loose: bool = False) -> None:
        self.loose = loose
        self.bound: dict[str, Json] = {}
        self.tries = MAX_TRIES

    @property
    def gave_up(self) -> bool:
        return self.tries <= 0

    def meets(self, expected: Json, actual: Json) -> bool:
        """Whether ``actual`` is as expected; binds names only if it is."""
        before = len(self.bound)
        if matches(expected, actual, self):
            return True
        self.forget(before)
        return False

    def find(self, expected: Json, items: list[Json], places: Iterable[int]) -> int | None:
        """The first of these places whose item is as expected; each place costs one try."""
        for place in places:
            self.tries -= 1
            if self.gave_up:
                return None
            if self.meets(expected, items[place]):
                return place
        return None

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
        row, argument = OPERATORS[operator], expected[operator]
        return row.is_argument(argument) and row.accepts(argument, actual, bindings)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(
            want is not NOTHING and got is not NOTHING and matches(want, got, bindings)
            for _, want, got in fields(expected, actual)
        )
    if isinstance(expected, list) and isinstance(actual, list):
        both = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(matches(*pair, bindings) for pair in both)
    return same_json(expected, actual)


def fields(expected: dict[str, Json], actual: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    """Each key of either side with both values, `NOTHING` for a missing one. A key that is absent
    as expected is left out.
    """
    for key, want in expected.items():
        got = actual.get(key, NOTHING)
        if got is not NOTHING or want != ABSENT:
            yield key, want, got
    for key, got in actual.items():
        if key not in expected:
            yield key, NOTHING, got


@lru_cache(maxsize=256)
def parse_json(text: str) -> Json:
    """The value of a string that is JSON; `NOTHING` for any other string."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return NOTHING


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def unpaired(wanted: list[Json], actual: list[Json]) -> tuple[list[int], list[int]]:
    """The indices on both sides that are left when each wanted item without operators is paired
    with an equal item; all equal ones are alike.
    """
    free: dict[Any, list[int]] = {}
    for place in range(len(actual) - 1, -1, -1):
        free.setdefault(hashable(actual[place]), []).append(place)
    left = []
    for index, item in enumerate(wanted):
        partners = free.get(hashable(item)) if is_plain(item) else None
        if partners:
            partners.pop()
        else:
            left.append(index)
    return left, sorted(place for places in free.values() for place in places)


def _place_anywhere(wanted: list[Json], actual: list[Json], bindings: Bindings) -> bool:
    """Whether each wanted item has a partner of its own."""
    indices, places = unpaired(wanted, actual)
    left = [wanted[index] for index in indices]
    right = [actual[place] for place in places]
    return not any(map(is_plain, left)) and _try_places(left, right, bindings, in_order=False)


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
        places = (place for place in range(start, len(actual)) if place not in used)
        place = bindings.find(wanted[len(chosen)], actual, places)
        if place is not None:
            chosen.append((place, bound))
            start = place + 1 if in_order else 0
        elif chosen and may_move and not bindings.gave_up:
            last, bound = chosen.pop()
            start = last + 1
            bindings.forget(bound)
        else:
            return False
    return True


def _re(argument: Json, actual: Json, bindings: Bindings) -> bool:
    if not isinstance(actual, str) or len(actual) > MAX_SUBJECT or bindings.gave_up:
        return False
    pattern = read_pattern(argument)
    if pattern.error:
        return False
    bindings.tries -= pattern.steps(actual) // STEPS_OF_A_TRY
    return pattern.fits(actual)


def _json(argument: Json, actual: Json, bindings: Bindings) -> bool:
    value = parse_json(actual) if isinstance(actual, str) else NOTHING
    return value is not NOTHING and matches(argument, value, bindings)


def _contains(argument: Json, actual: Json, bindings: Bindings) -> bool:
    match argument, actual:
        case str(), str():
            return argument in actual
        case list(), list():
            return _try_places(argument, actual, bindings, in_order=True)
        case dict(), dict():
            return all(
                want is NOTHING or (got is not NOTHING and matches(want, got, bindings))
                for _, want, got in fields(argument, actual)
            )
    return False


class Operator(Struct, frozen=True):
    """One row of `OPERATORS`.

    ``accepts`` decides about a value, for an argument that ``is_argument`` accepts; ``takes`` says
    which these are. ``refusal`` is the note about a value that has nothing to walk into.
    """

    accepts: Callable[[Json, Json, Bindings], bool]
    takes: str = "any value"
    is_argument: Callable[[Json], bool] = lambda argument: True
    refusal: str = "{operator} does not accept this"
    holds_expectations: bool = False


OPERATORS: Final = {
    "$any": Operator(
        lambda argument, actual, _: argument is True or TYPES[argument](actual),
        f"true or one of {', '.join(TYPES)}",
        lambda argument: argument is True or (isinstance(argument, str) and argument in TYPES),
        refusal="any {argument} was expected",
    ),
    "$re": Operator(
        _re,
        "a pattern, which is a string in quotes",
        lambda argument: isinstance(argument, str),
        refusal="the whole text must match the pattern",
    ),
    "$same": Operator(
        lambda argument, actual, bindings: (
            bindings.loose or same_json(bindings.bound.setdefault(argument, actual), actual)
        ),
        "a name, the same one wherever the value is equal",
        lambda argument: isinstance(argument, str) and argument != "",
    ),
    "$json": Operator(_json, refusal="a string that is JSON was expected", holds_expectations=True),
    "$contains": Operator(
        _contains,
        "a string, a list or a mapping of keys, with operators inside",
        lambda argument: isinstance(argument, str | list | dict) and not operator_of(argument),
        refusal="nothing like this is in it",
        holds_expectations=True,
    ),
    "$unordered": Operator(
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
        lambda *_: False,  # only keys that exist are compared
        "true",
        lambda argument: argument is True,
    ),
    "$literal": Operator(lambda argument, actual, _: same_json(argument, actual), refusal=""),
}


def fault_of(operator: str, argument: Json) -> str:
    """The fault in the argument of an operator, or ``""``."""
    row = OPERATORS[operator]
    if not row.is_argument(argument):
        return f"{operator} takes {row.takes}, not {_kind(argument)}"
    error = read_pattern(argument).error if operator == "$re" else ""
    return f"$re: {error}" if error else ""


def _kind(value: Json) -> str:
    """The JSON type of a value; an operator, a string or false as it is."""
    if operator := operator_of(value):
        return f"the operator {operator}"
    if value is False or isinstance(value, str):
        return "false" if value is False else repr(value[:60]) if value else "an empty string"
    return next(name for name, accepts in TYPES.items() if accepts(value))
