"""What becomes of each keyword of a flat JSON Schema in Gemini's ``Schema``: one writer a keyword,
in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .join import Schema, is_number, join

KINDS: Final = {
    word.lower(): word
    for word in ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
}
"""JSON Schema's types → Gemini's, which its server reads in either case."""
FORMATS: Final = {
    "STRING": ("enum", "date-time"),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_OF_NUMBERS: Final = (
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
)
OF_A_KIND: Final[dict[str, tuple[str, ...]]] = {
    "STRING": ("format", "minLength", "maxLength", "pattern"),
    "NUMBER": _OF_NUMBERS,
    "INTEGER": _OF_NUMBERS,
    "ARRAY": ("items", "prefixItems", "minItems", "maxItems"),
    "OBJECT": (
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "propertyOrdering",
        "additionalProperties",
    ),
}
"""Keywords that say something of one type only."""


class Node:
    """One node while it is written.

    ``flat``: the JSON Schema without references; ``written``: what stands of it in Gemini's words.
    ``below(schema, step)`` converts a schema inside it, ``warn(keyword, why)`` tells what cannot be
    said.
    """

    __slots__ = ("below", "flat", "warn", "written")

    def __init__(
        self,
        flat: Schema,
        written: Schema,
        below: Callable[[Any, str], Schema],
        warn: Callable[[str, str], None],
    ) -> None:
        self.flat, self.written, self.below, self.warn = flat, written, below, warn


Writer = Callable[[Node, str, Any], None]


def _write_if(fits: Callable[[Any], bool], expected: str) -> Writer:
    def write(node: Node, keyword: str, value: Any) -> None:
        if fits(value):
            node.written[keyword] = value
        else:
            node.warn(keyword, f"is left out; it is not {expected}")

    return write


def _write_count(node: Node, keyword: str, value: Any) -> None:
    if is_number(value) and value == int(value) and value >= 0:
        node.written[keyword] = int(value)
    else:
        node.warn(keyword, "is left out; it is not a whole number")


def _write_bound(node: Node, keyword: str, value: Any) -> None:
    """``minimum`` and ``maximum``; the tighter one where an exclusive limit is written already."""
    if is_number(value):
        join(node.written, {keyword: value})
    else:
        node.warn(keyword, "is left out; it is not a number")


def _write_exclusive(node: Node, keyword: str, value: Any) -> None:
    """Exact for integers; of other numbers the open end cannot be said. Draft 4 has a boolean
    beside the limit.
    """
    limit = keyword.removeprefix("exclusive").lower()
    bound: Any = node.flat.get(limit) if value is True else value
    if value is False:
        return
    if node.written.get("type") == "INTEGER" and is_number(bound) and bound == int(bound):
        join(node.written, {limit: int(bound) + (1 if limit == "minimum" else -1)})
    else:
        node.warn(
            keyword,
            "is left out; of numbers that are no integers Gemini's Schema has no open limit",
        )


def _write_format(node: Node, keyword: str, value: Any) -> None:
    if value in FORMATS.get(node.written.get("type", ""), ()):
        node.written[keyword] = value
    else:
        node.warn(
            keyword,
            f"{str(value)[:40]!r} is left out; Gemini's Schema has no such format for this type",
        )


def _write_properties(node: Node, keyword: str, value: Any) -> None:
    if isinstance(value, dict):
        node.written[keyword] = {
            str(name): node.below(inner, f"{keyword}.{name}") for name, inner in value.items()
        }
    else:
        node.warn(keyword, "is left out; it is not an object")


def _write_names(node: Node, keyword: str, value: Any) -> None:
    """``required`` and ``propertyOrdering``: of the properties that are there, since the API
    refuses others.
    """
    names = value if isinstance(value, list) else [value]
    properties = node.flat.get("properties")
    known = [
        name
        for name in names
        if isinstance(name, str) and isinstance(properties, dict) and name in properties
    ]
    if known:
        node.written[keyword] = known
    if len(known) < len(names):
        node.warn(keyword, "names what is no property of it; that is left out")


def _write_items(node: Node, keyword: str, value: Any) -> None:
    """One schema for all items; where each position has its own, any of them."""
    prefix = node.flat.get("prefixItems", value if isinstance(value, list) else None)
    if not isinstance(prefix, list):
        node.written["items"] = node.below(value, keyword)
    elif "items" not in node.written:
        node.warn(keyword, "by position cannot be said; any of them may stand anywhere")
        rest = node.flat.get("items")
        branches = [*prefix, rest] if isinstance(rest, dict) else prefix
        node.written["items"] = node.below({"anyOf": branches} if branches else True, keyword)


def _write_branches(node: Node, keyword: str, value: Any) -> None:
    if not isinstance(value, list) or not value:
        node.warn(keyword, "is left out; it is not a list of schemas")
    elif "anyOf" in node.written:
        node.warn(keyword, "is left out beside 'anyOf'; Gemini's Schema has one list of choices")
    else:
        node.written["anyOf"] = [
            node.below(branch, f"{keyword}[{at}]") for at, branch in enumerate(value)
        ]


def _write_additional(node: Node, keyword: str, value: Any) -> None:
    if value is not True and value != {}:
        node.warn(keyword, NO_WORD)


def _write_examples(node: Node, keyword: str, value: Any) -> None:
    alone = isinstance(value, list) and len(value) == 1 and "example" not in node.flat
    if isinstance(value, list) and value and "example" not in node.flat:
        node.written["example"] = value[0]
    if not alone:
        node.warn(keyword, "is left out but for one; Gemini's Schema has one example")


NO_WORD: Final = "is left out; Gemini's Schema has no word for it"
_COUNTS: Final = (
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
)
WRITERS: Final[dict[str, Writer]] = {
    **dict.fromkeys(
        ("title", "description", "pattern"),
        _write_if(lambda value: isinstance(value, str), "a string"),
    ),
    **dict.fromkeys(("default", "example", "enum"), _write_if(lambda _: True, "")),
    "nullable": _write_if(lambda value: isinstance(value, bool), "true or false"),
    **dict.fromkeys(_COUNTS, _write_count),
    **dict.fromkeys(("minimum", "maximum"), _write_bound),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _write_exclusive),
    "format": _write_format,
    "properties": _write_properties,
    **dict.fromkeys(("required", "propertyOrdering"), _write_names),
    **dict.fromkeys(("items", "prefixItems"), _write_items),
    **dict.fromkeys(("anyOf", "oneOf"), _write_branches),
    "additionalProperties": _write_additional,
    "examples": _write_examples,
}
"""Keyword → its writer; a keyword that is not here is left out with a warning."""
