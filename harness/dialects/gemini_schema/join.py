"""Joins two JSON Schemas that both hold for one value, as ``allOf`` and ``$ref`` with siblings ask
for, where one schema can say both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET

Schema = dict[str, Any]


def join(schema: Schema, other: Schema) -> list[str]:
    """Make ``schema`` say what ``other`` says too; gives the keywords of which it cannot, where the
    first one's word stays.

    Titles, descriptions, defaults and examples don't compete: the first one's are nearer to the
    place.
    """
    disputed = []
    for keyword, value in other.items():
        if keyword not in schema:
            schema[keyword] = value
        elif not _same(schema[keyword], value):
            joined = _JOINERS[keyword](schema[keyword], value) if keyword in _JOINERS else UNSET
            if joined is UNSET:
                disputed.append(keyword)
            else:
                schema[keyword] = joined
    return disputed


def values_of(schema: Schema) -> Schema:
    """``const`` and ``enum`` of a schema as one ``enum``; empty if it has neither, or an ``enum``
    that is no list.
    """
    enum = schema.get("enum")
    if "const" not in schema:
        return {"enum": enum} if isinstance(enum, list) else {}
    const = schema["const"]
    return {"enum": [const] if not isinstance(enum, list) or _has(enum, const) else []}


def is_number(value: Any) -> bool:
    """Whether this is a JSON number: no boolean, not infinite."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _has(values: list[Any], value: Any) -> bool:
    """JSON's own equality: 1 is 1.0 and not true."""
    return any(
        value == other and isinstance(value, bool) == isinstance(other, bool) for other in values
    )


def _first(one: Any, other: Any) -> Any:
    return one


def _higher(one: Any, other: Any) -> Any:
    return max(one, other) if is_number(one) and is_number(other) else UNSET


def _lower(one: Any, other: Any) -> Any:
    return min(one, other) if is_number(one) and is_number(other) else UNSET


def _both(one: Any, other: Any) -> Any:
    return {"allOf": [one, other]}


def _properties(one: Any, other: Any) -> Any:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return UNSET
    shared = {name: _both(inner, other[name]) for name, inner in one.items() if name in other}
    return {**one, **other, **shared}


def _names(one: Any, other: Any) -> Any:
    if not isinstance(one, list) or not isinstance(other, list):
        return UNSET
    return [*one, *(name for name in other if name not in one)]


def _common_values(one: Any, other: Any) -> Any:
    return [value for value in one if _has(other, value)]


def _common_types(one: Any, other: Any) -> Any:
    """The types that both allow, an integer being a number; nothing to say if there is none."""
    ones, others = (value if isinstance(value, list) else [value] for value in (one, other))
    common = [
        kind
        for kind in (*ones, *others)
        if (kind in ones or (kind == "integer" and "number" in ones))
        and (kind in others or (kind == "integer" and "number" in others))
    ]
    return list(dict.fromkeys(map(str, common))) or UNSET


_JOINERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(("title", "description", "default", "example", "examples"), _first),
    **dict.fromkeys(
        ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _higher
    ),
    **dict.fromkeys(
        ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _lower
    ),
    "properties": _properties,
    "items": _both,
    **dict.fromkeys(("required", "propertyOrdering"), _names),
    "enum": _common_values,
    "type": _common_types,
    "nullable": lambda one, other: one is True and other is True,
}
