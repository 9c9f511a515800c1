"""Converts JSON Schema into Gemini's ``Schema``; a keyword without a counterpart is left out with
a warning.

Each node is first made flat: ``allOf`` is joined into it, ``const`` becomes an ``enum``, null among
types or choices becomes ``nullable``. Then its keywords are written one by one.

Sources: https://ai.google.dev/api/caching#Schema and
https://json-schema.org/draft/2020-12/json-schema-validation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET

from .references import Resolver

GeminiSchema = dict[str, Any]

TYPES: Final = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
"""Gemini's types; JSON Schema writes the same words in lower case."""

FORMATS: Final = {
    "STRING": ("enum", "date-time"),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_NUMBERS: Final = frozenset({"NUMBER", "INTEGER"})
_TYPES_OF: Final[dict[str, frozenset[str]]] = {
    "format": frozenset(FORMATS),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), frozenset({"STRING"})),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), _NUMBERS),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), _NUMBERS),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), frozenset({"ARRAY"})),
    **dict.fromkeys(("properties", "required", "propertyOrdering"), frozenset({"OBJECT"})),
    **dict.fromkeys(("minProperties", "maxProperties"), frozenset({"OBJECT"})),
    "additionalProperties": frozenset({"OBJECT"}),
}
"""A keyword that restricts values of some types only → those types."""

_NO_VALUE: Final = "is left out; no value is allowed by it"
_IMPLIED_TYPES: Final = {"properties": "OBJECT", "items": "ARRAY", "prefixItems": "ARRAY"}
"""A keyword → the type of a schema that names no type."""

_EXPECTED: Final[dict[str, str]] = {
    **dict.fromkeys(("title", "description", "pattern"), "a string"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "a whole number"),
    **dict.fromkeys(("minProperties", "maxProperties"), "a whole number"),
    **dict.fromkeys(("minimum", "maximum"), "a number"),
    **dict.fromkeys(("anyOf", "oneOf"), "a list of schemas"),
    **dict.fromkeys(("default", "example", "enum", "items"), "anything"),
    **dict.fromkeys(("required", "propertyOrdering"), "a list of names"),
    "examples": "a list",
    "format": "a string",
    "nullable": "true or false",
    "properties": "an object",
}
"""A keyword that Gemini's Schema has, or that is rewritten → its values."""
_CHECKS: Final[dict[str, Callable[[Any], bool]]] = {
    "a string": lambda value: isinstance(value, str),
    "a whole number": lambda value: _is_a(value, "INTEGER") and value >= 0,
    "a number": lambda value: _is_a(value, "NUMBER"),
    "a list of schemas": lambda value: isinstance(value, list) and value != [],
    "a list of names": lambda value: isinstance(value, list),
    "a list": lambda value: isinstance(value, list),
    "an object": lambda value: isinstance(value, dict),
    "true or false": lambda value: isinstance(value, bool),
    "anything": lambda value: True,
}


def to_gemini_schema(schema: Any, *, place: str) -> tuple[GeminiSchema, list[str]]:
    """Return the schema as Gemini's ``Schema``, and a warning for each loss: ``place.path:
    'keyword' …``.

    ``schema`` is a decoded JSON Schema of any draft, or a Gemini Schema, which stays as it is. It
    is not changed. ``oneOf`` becomes ``anyOf``. Several types become an ``anyOf`` with one type
    each, and a null type becomes ``nullable``. An ``enum`` of numbers becomes ``minimum`` and
    ``maximum``, since Gemini's holds strings only. An array without ``items`` gets items of any
    kind. A recursive reference ends in the type that it refers to. Never raises.
    """
    losses: dict[str, None] = {}
    resolver = Resolver(schema, place, losses)
    return _Node(resolver.resolve(schema, place, frozenset({"#"})), place, losses).write(), [
        *losses
    ]


class _Flat(GeminiSchema):
    """The keywords of a node that is flat: it has no ``allOf`` or ``const``, and no null among its
    choices.
    """


class _Node:
    """One node of a schema."""

    def __init__(self, schema: Any, path: str, losses: dict[str, None]) -> None:
        self.path = path
        self.losses = losses
        self.written: GeminiSchema = {}
        """Gemini's Schema of the node, as far as it is written."""
        self.flat = self.flatten(schema)
        """The JSON Schema of the node without ``allOf``."""

    def warn(self, keyword: str, reason: str) -> None:
        self.losses[f"{self.path}: '{keyword}' {reason}"] = None

    def flatten(self, schema: Any) -> _Flat:
        if isinstance(schema, _Flat):  # a choice, which was made flat with the node above
            return _Flat(schema)
        if not isinstance(schema, dict):
            if schema is not True:
                reason = "it allows no value" if schema is False else "a schema must be an object"
                self.warn(str(schema)[:40], f"is left out; {reason}")
            return _Flat()
        flat = _Flat({key: schema[key] for key in schema if key not in ("allOf", "const")})
        if "const" in schema:
            flat["enum"] = [schema["const"]]
        for keyword in ("allOf", "enum"):
            if not isinstance(schema.get(keyword, []), list):
                self.warn(keyword, "is left out; it is not a list")
                flat.pop(keyword, None)
            elif keyword == "allOf":
                for other in schema.get(keyword, []):
                    self.join(flat, self.flatten(other))
        for keyword in ("anyOf", "oneOf"):
            self.take_null(flat, keyword)
        return flat

    def join(self, flat: GeminiSchema, other: GeminiSchema) -> None:
        """Add another schema that also applies. If a keyword can't express both, the
        first stays.
        """
        for keyword, value in other.items():
            joined = _join(keyword, flat[keyword], value) if keyword in flat else value
            if joined is UNSET:
                reason = "is given twice with values that cannot be joined; the first one stays"
                self.warn(keyword, reason)
            else:
                flat[keyword] = joined

    def take_null(self, flat: GeminiSchema, keyword: str) -> None:
        """Turn null among choices into ``nullable``, and join a single choice into the node."""
        choices = flat.get(keyword)
        if not isinstance(choices, list) or not choices:
            return
        nodes = [self.inner(choice, f"{keyword}[{at}]") for at, choice in enumerate(choices)]
        others = [node.flat for node in nodes if _types(node.flat) != ["NULL"]]
        flat[keyword] = others
        if len(others) < 2:
            del flat[keyword]
            self.join(flat, others[0] if others else {"type": "null"})
        if others and len(others) < len(choices):
            flat["nullable"] = True

    def write(self) -> GeminiSchema:
        """Return the node as Gemini's ``Schema``; call it once."""
        values = self.flat.pop("enum", None)
        types = self.take_types(values)
        if "NULL" in types and len(types) > 1:
            types.remove("NULL")
            self.flat["nullable"] = True
        if len(types) > 1 and values is not None:
            allowed = [name for name in types if any(_is_a(value, name) for value in values)]
            if allowed:
                types = allowed
            else:
                self.warn("enum", _NO_VALUE)
                values = None
        if len(types) > 1:
            if "anyOf" in self.flat or "oneOf" in self.flat:
                self.leave_types_out(values)
            else:
                self.split(types, values)
        elif types:
            self.written["type"] = types[0]
            self.restrict(types[0], values)
        elif values is not None:
            self.restrict("", values)
        self.close_limits()
        self.merge_positions()
        for keyword, value in self.flat.items():
            self.write_keyword(keyword, value)
        if self.written.get("type") == "ARRAY":
            self.written.setdefault("items", {})  # the API requires it
        return self.written

    def take_types(self, values: list[Any] | None) -> list[str]:
        """Return the types that the node names, or else those of its values, or those that its
        other keywords imply.
        """
        types = _types({**self.flat, **({} if values is None else {"enum": values})})
        named = self.flat.pop("type", [])
        for word in named if isinstance(named, list) else [named]:
            if _type_named(word) is None:
                self.warn("type", f"is left out; there is no type {str(word)[:40]!r}")
        return types

    def leave_types_out(self, values: list[Any] | None) -> None:
        """Leave out several types beside a choice, and the keywords that imply one type."""
        for keyword in ("type",) if values is None else ("type", "enum"):
            self.warn(keyword, "is left out beside a choice; Gemini's Schema has one type")
        for keyword in _IMPLIED_TYPES:
            if self.flat.pop(keyword, UNSET) is not UNSET:
                self.warn(keyword, "is left out beside a choice of several types")

    def split(self, types: list[str], values: list[Any] | None) -> None:
        """Turn several types into choices, each with the keywords and values of its type.

        Keywords that restrict only values of other types restrict nothing here.
        """
        choices: list[GeminiSchema] = []
        for name in types:
            own = {key: self.flat[key] for key in self.flat if name in _TYPES_OF.get(key, ())}
            if values is not None:
                own["enum"] = [value for value in values if _is_a(value, name)]
            choices.append({"type": name, **own})
        self.flat = _Flat({key: value for key, value in self.flat.items() if key not in _TYPES_OF})
        self.flat["anyOf"] = choices

    def restrict(self, name: str, values: list[Any] | None) -> None:
        """Write the values that an ``enum`` allows: strings as a list, numbers as a range."""
        allowed = [value for value in values or [] if value is not None and _is_a(value, name)]
        exact = values is None or name == "NULL" or (name == "BOOLEAN" and len(set(allowed)) == 2)
        if values is not None and name != "NULL" and not allowed:
            self.warn("enum", _NO_VALUE)
        elif allowed and name == "STRING":
            self.written["enum"], exact = allowed, True
        elif allowed and name in _NUMBERS:
            low, high = min(allowed), max(allowed)
            self.join(self.flat, {"minimum": low, "maximum": high})
            exact = low == high or (name == "INTEGER" and high - low + 1 == len(set(allowed)))
        if allowed and not exact:
            self.warn("enum", "is left out; Gemini's Schema lists strings only")

    def close_limits(self) -> None:
        """Replace an exclusive limit of integers by the next integer. Draft 4 has true beside the
        limit.
        """
        for limit, step in (("minimum", 1), ("maximum", -1)):
            keyword = f"exclusive{limit.capitalize()}"
            value = self.flat.pop(keyword, False)
            bound = self.flat.get(limit) if value is True else value
            if self.written.get("type") == "INTEGER" and _is_a(bound, "INTEGER"):
                self.join(self.flat, {limit: int(bound or 0) + step})
            elif value is not False:
                self.warn(
                    keyword,
                    "is left out; Gemini's Schema has no exclusive limits; only those of integers"
                    " can be converted",
                )

    def merge_positions(self) -> None:
        """Turn items by position into choices, since Gemini has one schema for all items."""
        keyword = "prefixItems" if "prefixItems" in self.flat else "items"
        positions = self.flat.get(keyword)
        if isinstance(positions, list):
            self.warn(
                keyword, "by position cannot be expressed; any of them may be at any position"
            )
            rest = [self.flat["items"]] if isinstance(self.flat.get("items"), dict) else []
            self.flat["items"] = {"anyOf": [*positions, *rest]} if positions else {}
            self.flat.pop("prefixItems", None)

    def write_keyword(self, keyword: str, value: Any) -> None:
        expected = _EXPECTED.get(keyword)
        if keyword == "additionalProperties" and (value is True or value == {}):
            return
        if expected is None:
            self.warn(keyword, "is left out; Gemini's Schema has no word for it")
        elif not _CHECKS[expected](value):
            self.warn(keyword, f"is left out; it is not {expected}")
        elif keyword == "format" and value not in FORMATS.get(self.written.get("type", ""), ()):
            reason = "is left out; Gemini's Schema has no such format for this type"
            self.warn(keyword, f"{value[:40]!r} {reason}")
        elif keyword == "properties":
            self.written[keyword] = {
                str(name): self.below(inner, f"{keyword}.{name}") for name, inner in value.items()
            }
        elif keyword == "items":
            self.written[keyword] = self.below(value, keyword)
        elif keyword in ("anyOf", "oneOf"):
            if "anyOf" in self.written:
                reason = "is left out beside 'anyOf'; Gemini's Schema has one list of choices"
                self.warn(keyword, reason)
            else:
                self.written["anyOf"] = [
                    self.below(choice, f"{keyword}[{at}]") for at, choice in enumerate(value)
                ]
        elif keyword in ("required", "propertyOrdering"):
            self.write_names(keyword, value)
        elif keyword == "examples":
            if value and "example" not in self.flat:
                self.written["example"] = value[0]
            if len(value) != 1 or "example" in self.flat:
                reason = "is left out except for one; Gemini's Schema has one example"
                self.warn(keyword, reason)
        else:
            self.written[keyword] = int(value) if expected == "a whole number" else value

    def write_names(self, keyword: str, names: list[Any]) -> None:
        """Leave out names that are not among the properties, because the API refuses them."""
        properties = self.flat.get("properties")
        known = properties if isinstance(properties, dict) else {}
        kept = [name for name in names if isinstance(name, str) and name in known]
        if kept:
            self.written[keyword] = kept
        if len(kept) < len(names):
            self.warn(keyword, "has names that are not among the properties; they are left out")

    def below(self, schema: Any, step: str) -> GeminiSchema:
        return self.inner(schema, step).write()

    def inner(self, schema: Any, step: str) -> _Node:
        return _Node(schema, f"{self.path}.{step}", self.losses)


def _join(keyword: str, first: Any, second: Any) -> Any:
    """Return one value of a keyword that holds for both schemas; UNSET if there is none."""
    numbers = _is_a(first, "NUMBER") and _is_a(second, "NUMBER")
    lists = isinstance(first, list) and isinstance(second, list)
    match keyword:
        case _ if type(first) is type(second) and first == second:
            return first
        case "title" | "description" | "default" | "example" | "examples":
            return first
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" if numbers:
            return max(first, second)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" if numbers:
            return min(first, second)
        case "properties" if isinstance(first, dict) and isinstance(second, dict):
            shared = first.keys() & second.keys()
            both = {name: {"allOf": [first[name], second[name]]} for name in shared}
            return {**first, **second, **both}
        case "items":
            return {"allOf": [first, second]}
        case "required" | "propertyOrdering" if lists:
            return [*first, *(name for name in second if name not in first)]
        case "enum" if lists:
            return [value for value in first if value in second]
        case "type":
            firsts, seconds = (
                value if isinstance(value, list) else [value] for value in (first, second)
            )
            return [name for name in firsts if name in seconds] or UNSET
    return UNSET


def _types(flat: GeminiSchema) -> list[str]:
    """Return the types that a flat node names, or else those of its values, or else the type that
    its other keywords imply.
    """
    named = flat.get("type", [])
    words = map(_type_named, named if isinstance(named, list) else [named])
    types = dict.fromkeys(word for word in words if word is not None)
    if not types:
        types = dict.fromkeys(map(_type_of, flat.get("enum", [])))
        if "NUMBER" in types:
            types.pop("INTEGER", None)
    implied = [name for keyword, name in _IMPLIED_TYPES.items() if keyword in flat]
    return list(types) or implied[:1]


def _type_named(word: Any) -> str | None:
    return word.upper() if isinstance(word, str) and word.upper() in TYPES else None


def _type_of(value: Any) -> str:
    names = {bool: "BOOLEAN", str: "STRING", int: "INTEGER", float: "NUMBER", list: "ARRAY"}
    return "NULL" if value is None else names.get(type(value), "OBJECT")


def _is_a(value: Any, name: str) -> bool:
    """Return whether a value has a type of `TYPES`; a number is finite, and 1.0 is an integer
    too.
    """
    if name in _NUMBERS and type(value) is float:
        return math.isfinite(value) and (name == "NUMBER" or value.is_integer())
    if name == "NUMBER" and type(value) is int:
        return True
    return _type_of(value) == name
