"""Checks how the operators of an expectation are written, before anything is compared, so that the
error of a spec can name the line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Final

from harness.stream.json_codec import Json

from .operators import OPERATORS, TYPES, operator_of, read_pattern
from .patterns import PatternError

Path = tuple[str | int, ...]


def check_expectation(expected: Json) -> list[tuple[Path, str]]:
    """The faults in the operators of an expectation, in reading order: the path to the operator's
    key, and a message.

    A key that looks like an operator and is none, or does not stand alone, is a fault; the keywords
    of JSON Schema are data. The walk keeps a stack of its own, so depth is no problem.
    """
    faults: list[tuple[Path, str]] = []
    waiting: list[tuple[Path, Json, bool]] = [((), expected, False)]
    while waiting:
        path, value, may_be_absent = waiting.pop()
        operator = operator_of(value)
        if operator is not None:
            argument, path = value[operator], (*path, operator)
            out_of_place = operator == "$absent" and not may_be_absent
            if fault := OUT_OF_PLACE if out_of_place else CHECKS[operator](argument):
                faults.append((path, fault))
            value = argument if operator in HOLDERS else None
        elif isinstance(value, dict):
            faults += [((*path, key), fault) for key in value if (fault := _check_key(key))]
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


def _check_key(key: str) -> str:
    """The fault of a key of a mapping that is no operator."""
    if key in OPERATORS:
        return f"{key} stands beside other keys; an operator is the only key of its mapping{DATA}"
    if key in OF_JSON_SCHEMA or not _LIKE_AN_OPERATOR.fullmatch(key):
        return ""
    near = difflib.get_close_matches(key, OPERATORS, 1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return f"unknown operator {key}{guess}; the operators are {', '.join(OPERATORS)}{DATA}"


def _kind(value: Json) -> str:
    """The JSON type of a value; a short string or false as it is."""
    if value is False or value == "":
        return "false" if value is False else "an empty string"
    return next(name for name, accepts in TYPES.items() if accepts(value))


def _check_any(argument: Json) -> str:
    if argument is True or (isinstance(argument, str) and argument in TYPES):
        return ""
    given = repr(argument[:60]) if isinstance(argument, str) else _kind(argument)
    return f"$any takes true or one of {', '.join(TYPES)}, not {given}"


def _check_re(argument: Json) -> str:
    if not isinstance(argument, str):
        return f"$re takes a pattern, which is a string, not {_kind(argument)}; put it in quotes"
    pattern = read_pattern(argument)
    return f"$re: {pattern}" if isinstance(pattern, PatternError) else ""


def _check_same(argument: Json) -> str:
    if isinstance(argument, str) and argument:
        return ""
    return f"$same takes a name, not {_kind(argument)}; use one name wherever the value is equal"


def _check_contains(argument: Json) -> str:
    takes = "$contains takes a string, a list or a mapping of keys"
    if operator := operator_of(argument):
        return f"{takes}, not the operator {operator}; put that one inside"
    return "" if isinstance(argument, str | list | dict) else f"{takes}, not {_kind(argument)}"


def _check_unordered(argument: Json) -> str:
    return "" if isinstance(argument, list) else f"$unordered takes a list, not {_kind(argument)}"


def _check_absent(argument: Json) -> str:
    if argument is True:
        return ""
    return f"$absent takes true, not {_kind(argument)}; write true, or what the key must be"


_LIKE_AN_OPERATOR: Final = re.compile(r"\$[A-Za-z]{1,40}")
OF_JSON_SCHEMA: Final = frozenset(
    {
        *("$ref", "$defs", "$schema", "$id", "$anchor", "$comment"),
        *("$vocabulary", "$dynamicRef", "$dynamicAnchor"),
    }
)
"""Keywords that may be data
(https://json-schema.org/draft/2020-12/json-schema-core#section-8).
"""
DATA: Final = "; write data with such a key below $literal"

OUT_OF_PLACE: Final = (
    "$absent stands only as the value of a key, which must then not exist; leave the item out"
    " instead"
)

HOLDERS: Final = frozenset({"$json", "$contains", "$unordered"})
"""The operators with expectations inside."""

CHECKS: Final[dict[str, Callable[[Json], str]]] = {
    **dict.fromkeys(OPERATORS, lambda _: ""),
    "$any": _check_any,
    "$re": _check_re,
    "$same": _check_same,
    "$contains": _check_contains,
    "$unordered": _check_unordered,
    "$absent": _check_absent,
}
"""For each operator, what is wrong with its argument, or ``""``."""
