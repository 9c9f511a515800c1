"""Checks the operators of an expectation before anything is compared, so that the error of a spec
can name the line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Final

from harness.stream.json_codec import Json
from harness.stream.json_path import Steps

from .operators import OPERATORS, fault_of, operator_of

OUT_OF_PLACE: Final = (
    "$absent is only allowed as the value of a key, and means that the key must not exist;"
    " leave the item out instead"
)
VACUOUS: Final = (
    "the expectation accepts every answer; expect a part of the answer, such as {$contains: [{type:"
    " …}]}, or leave the value empty until there is an expectation"
)
DATA: Final = "; write data with such a key below $literal"

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


def check_expectation(expected: Json) -> list[tuple[Steps, str]]:
    """Return the faults in the operators of an expectation, in reading order: the path to the
    operator's key, and a message.

    It is a fault if a key looks like an operator but is unknown, or if an operator is beside other
    keys; the keywords of JSON Schema are data. The walk has its own stack, so the depth of the data
    has no limit.
    """
    faults: list[tuple[Steps, str]] = []
    waiting: list[tuple[Steps, Json, bool]] = [((), expected, False)]
    while waiting:
        path, value, may_be_absent = waiting.pop()
        operator = operator_of(value)
        if operator is not None:
            argument, path = value[operator], (*path, operator)
            out_of_place = operator == "$absent" and not may_be_absent
            if fault := OUT_OF_PLACE if out_of_place else fault_of(operator, argument):
                faults.append((path, fault))
            value = argument if OPERATORS[operator].holds_expectations else None
        elif isinstance(value, dict):
            faults += [
                ((*path, key), fault)
                for key in value
                if key.startswith("$") and (fault := _check_key(key))
            ]
        waiting.extend(reversed(list(_inside(path, value, operator))))
    return faults


def accepts_everything(expected: Json) -> bool:
    """Return whether an expectation accepts every answer, or every answer with enough items. An
    answer is a list of mappings, or one mapping, which is a request.
    """
    match expected:
        case {"$any": True | "array" | "object", **rest} | {"$same": _, **rest}:
            return not rest
        case {"$contains": [*items], **rest}:
            names = [item["$same"] for item in items if operator_of(item) == "$same"]
            return not rest and all(map(_is_any, items)) and len({*names}) == len(names)
        case {"$contains": inner, **rest}:
            return not rest and inner == {}
    return False


def _is_any(item: Json) -> bool:
    """Return whether an expectation accepts every item of an answer, which is a mapping. A name of
    ``$same`` is assumed to occur once.
    """
    match item:
        case {"$any": True | "object", **rest} | {"$same": _, **rest}:
            return not rest
        case {"$contains": inner, **rest}:
            return not rest and inner == {}
    return False


def _inside(path: Steps, value: Json, operator: str | None) -> Iterator[tuple[Steps, Json, bool]]:
    """Yield the expectations inside a value that can hold operators, and whether ``$absent`` is
    allowed there: only as the value of a key.
    """
    if operator == "$json":
        yield path, value, False
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield (*path, key), item, True
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                yield (*path, index), item, False


def _check_key(key: str) -> str:
    """Return the fault of a key with a ``$`` in a mapping that is not an operator."""
    if key in OPERATORS:
        return f"{key} is beside other keys; an operator must be the only key of its mapping{DATA}"
    if key in OF_JSON_SCHEMA or not _LIKE_AN_OPERATOR.fullmatch(key):
        return ""
    near = difflib.get_close_matches(key, OPERATORS, 1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    return f"unknown operator {key}{guess}; the operators are {', '.join(OPERATORS)}{DATA}"
