"""Operators that are written wrongly, found before anything is compared, so that a spec can name
the line.

A walk over the expectation with a stack of its own; a table says for each operator what may stand
behind it, and which part of that is an expectation again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from harness.stream.json_codec import Json

from .operators import OPERATORS, TYPES, operator_of, read_pattern
from .patterns import PatternError

Path = tuple[str | int, ...]


def check_expectation(expected: Json) -> list[tuple[Path, str]]:
    """What is wrong with the operators of an expectation, in reading order: the path to the
    operator's key, and a message.

    Only known operators are looked at: a mapping with another ``$`` key, or with two keys, is data.
    """
    faults: list[tuple[Path, str]] = []
    waiting: list[tuple[Path, Json, bool]] = [((), expected, False)]
    while waiting:
        path, value, may_be_absent = waiting.pop()
        operator = operator_of(value)
        if operator is not None:
            argument, path = value[operator], (*path, operator)
            fault = (
                OUT_OF_PLACE
                if operator == "$absent" and not may_be_absent
                else CHECKS[operator](argument)
            )
            if fault:
                faults.append((path, fault))
            value = argument if operator in HOLDERS else None
        waiting.extend(reversed(list(_inside(path, value, operator))))
    return faults


def _inside(path: Path, value: Json, operator: str | None) -> Iterator[tuple[Path, Json, bool]]:
    """The expectations inside a value, and whether ``$absent`` may stand there: only as the value
    of a key.
    """
    if operator == "$json":
        yield path, value, False
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key), item, True
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), item, False


def kind_of(value: Json) -> str:
    """What a value is, for a person."""
    return next(name for name, fits in TYPES.items() if fits(value))


def _check_any(argument: Json) -> str:
    if argument is True or (isinstance(argument, str) and argument in TYPES):
        return ""
    found = repr(argument[:60]) if isinstance(argument, str) else kind_of(argument)
    return f"$any takes true or one of {', '.join(TYPES)}, not {found}"


def _check_re(argument: Json) -> str:
    if not isinstance(argument, str):
        return f"$re takes a pattern, which is a string, not {kind_of(argument)}; put it in quotes"
    pattern = read_pattern(argument)
    return f"$re: {pattern}" if isinstance(pattern, PatternError) else ""


def _check_same(argument: Json) -> str:
    if isinstance(argument, str) and argument:
        return ""
    found = "an empty string" if argument == "" else kind_of(argument)
    return f"$same takes a name, not {found}; use one name wherever the value must be equal"


def _check_contains(argument: Json) -> str:
    operator = operator_of(argument)
    if operator is not None:
        return (
            f"$contains takes a string, a list or a mapping of keys, not the operator {operator};"
            " put that one inside"
        )
    if isinstance(argument, str | list | dict):
        return ""
    return f"$contains takes a string, a list or a mapping of keys, not {kind_of(argument)}"


def _check_unordered(argument: Json) -> str:
    return "" if isinstance(argument, list) else f"$unordered takes a list, not {kind_of(argument)}"


def _check_absent(argument: Json) -> str:
    found = "false" if argument is False else kind_of(argument)
    return (
        ""
        if argument is True
        else f"$absent takes true, not {found}; write true, or what the key must be"
    )


def _check_nothing(_: Json) -> str:
    return ""


OUT_OF_PLACE: Final = (
    "$absent stands only as the value of a key, which must then not exist; leave the item out"
    " instead"
)

HOLDERS: Final = frozenset({"$json", "$contains", "$unordered"})
"""The operators with expectations inside."""

CHECKS: Final[dict[str, Callable[[Json], str]]] = {
    "$any": _check_any,
    "$re": _check_re,
    "$same": _check_same,
    "$json": _check_nothing,
    "$contains": _check_contains,
    "$unordered": _check_unordered,
    "$absent": _check_absent,
    "$literal": _check_nothing,
}

assert CHECKS.keys() == OPERATORS.keys()
