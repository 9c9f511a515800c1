"""JSON Schema → Gemini's ``Schema``, for ``parameters`` and ``responseSchema``: what that cannot
say is left out and told.

Each node is first made flat: its ``$ref`` and ``allOf`` are joined to it, ``const`` becomes an
``enum``, a choice with null ``nullable``. Then a table of writers says what becomes of each
keyword. A schema comes from anywhere, so depth, size and warnings are bounded: references that
multiply end in a warning.

Sources: https://ai.google.dev/api/caching#Schema and
https://json-schema.org/draft/2020-12/json-schema-validation.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from .join import Schema, is_number, join, values_of
from .keywords import KINDS, NO_WORD, OF_A_KIND, WRITERS, Node

MAX_DEPTH: Final = 40
MAX_SIZE: Final = 50_000
"""So many keywords and values are looked at, each as often as references lead to it."""
MAX_WARNINGS: Final = 100
_JOINED: Final = frozenset({"$ref", "allOf", "$defs", "definitions", "const", "enum"})
_BELOW: Final = frozenset(
    {"$defs", "definitions", "properties", "items", "prefixItems", "anyOf", "oneOf", "allOf"}
)
"""Where schemas stand inside a schema: they are weighed when they are reached."""

_Refs = frozenset[str]
_SCOPE: Final = object()
"""The only key of a stand-in for a schema from elsewhere: that schema, and the references inside
which it stands.
"""


def to_gemini_schema(schema: Any, *, place: str) -> tuple[Schema, list[str]]:
    """The same schema in Gemini's words, and a warning for each thing that has none: ``place.path:
    'keyword' …``.

    ``schema`` is a decoded JSON Schema of any draft, or a Gemini Schema, which stays as it is.
    ``oneOf`` is said as ``anyOf``, several types as ``anyOf`` of one each, null as ``nullable``;
    numbers in an ``enum``, which holds only strings, as ``minimum`` and ``maximum``. A reference
    that leads back into itself ends in the type it refers to. Never raises; ``schema`` is not
    touched.
    """
    converter = _Converter(schema, place)
    return converter.convert(schema, place, frozenset({"#"}), 0), converter.told()


class _Converter:
    """One schema: its root, to which references lead, and what is left of the bounds."""

    def __init__(self, root: Any, place: str) -> None:
        self.root = root
        self.place = place
        self.left = MAX_SIZE
        self.warnings: dict[str, None] = {}
        self.untold = 0

    def told(self) -> list[str]:
        more = [f"{self.place}: {self.untold} more things are left out"] if self.untold else []
        return [*self.warnings, *more]

    def warn(self, path: str, keyword: str, why: str) -> None:
        warning = f"{path}: '{keyword}' {why}"
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings[warning] = None
        elif warning not in self.warnings:
            self.untold += 1

    # ---------------------------------------------------------------- one flat node

    def flatten(self, schema: Any, path: str, refs: _Refs, depth: int) -> Schema:
        """One node without references and ``allOf``; ``refs`` are the references inside which it
        stands.
        """
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            why = (
                "is left out; it allows nothing"
                if schema is False
                else "is left out; a schema is an object"
            )
            self.warn(path, str(schema)[:40], why)
            return {}
        if _SCOPE in schema:
            schema, refs = schema[_SCOPE]
        self.left -= _weigh(schema)
        if depth > MAX_DEPTH or self.left < 0:
            self.warn(
                self.place,
                "schema",
                f"is cut off where it passes {MAX_DEPTH} levels or {MAX_SIZE} values, references"
                " followed",
            )
            return {}
        flat = {str(key): value for key, value in schema.items() if key not in _JOINED} | values_of(
            schema
        )
        if "enum" in schema and "enum" not in flat:
            self.warn(path, "enum", "is left out; it is not a list")
        if "$ref" in schema:
            target, inner = self.follow(schema["$ref"], path, refs)
            self.add(flat, target, path, inner, depth)
        others = schema.get("allOf", [])
        if not isinstance(others, list):
            self.warn(path, "allOf", "is left out; it is not a list")
            others = []
        for other in others:
            self.add(flat, other, path, refs, depth)
        for keyword in ("anyOf", "oneOf"):
            self.take_null(flat, keyword, path, refs, depth)
        return flat

    def add(self, flat: Schema, other: Any, path: str, refs: _Refs, depth: int) -> None:
        """Join another schema to a flat one."""
        more = self.flatten(other, path, refs, depth + 1)
        for keyword in join(flat, {key: _enclose(value, key, refs) for key, value in more.items()}):
            self.warn(
                path, keyword, "is said twice, and the two cannot be joined; the first one stays"
            )

    def take_null(self, flat: Schema, keyword: str, path: str, refs: _Refs, depth: int) -> None:
        """A choice between null and others allows null beside the others; a choice of one is
        none.
        """
        branches = flat.get(keyword)
        if not isinstance(branches, list) or not branches:
            return
        others = [branch for branch in branches if not _is_null(branch)]
        if len(others) > 1:
            flat[keyword] = others
        else:
            del flat[keyword]
            self.add(flat, others[0] if others else {"type": "null"}, path, refs, depth)
        if others and len(others) < len(branches):
            flat["nullable"] = True

    def follow(self, ref: Any, path: str, refs: _Refs) -> tuple[Any, _Refs]:
        """What a reference leads to; only its type where it leads back into itself."""
        target = _find(self.root, ref)
        if target is None:
            self.warn(path, "$ref", f"is left out; nothing in this schema is at {str(ref)[:80]!r}")
            return True, refs
        if ref not in refs:
            return target, refs | {ref}
        self.warn(
            path, "$ref", f"to {ref!r} leads back into itself; from here on only its type is sent"
        )
        if not isinstance(target, dict):
            return True, refs
        stub = {key: target[key] for key in ("type", "title", "description") if key in target}
        return (
            stub if "type" in stub or "properties" not in target else {"type": "object", **stub}
        ), refs

    # ---------------------------------------------------------------- conversion

    def convert(self, schema: Any, path: str, refs: _Refs, depth: int) -> Schema:
        """One node in Gemini's words."""
        if isinstance(schema, dict) and _SCOPE in schema:
            schema, refs = schema[_SCOPE]
        flat = self.flatten(schema, path, refs, depth)
        kinds = self.take_kinds(flat, path)
        values = _take_values(flat, kinds)
        if "NULL" in kinds and len(kinds) > 1:
            kinds.remove("NULL")
            flat["nullable"] = True
        if len(kinds) > 1 and ("anyOf" in flat or "oneOf" in flat):
            self.warn(path, "type", "is left out beside a choice; Gemini's Schema has one type")
            kinds, values = [], None
        if len(kinds) > 1:
            _split(flat, kinds, values)
        elif values is not None and not _list_values(flat, kinds[0] if kinds else "", values):
            why = "Gemini's Schema lists strings only" if values else "no value is allowed by it"
            self.warn(path, "enum", f"is left out; {why}")
        written: Schema = {"type": kinds[0]} if len(kinds) == 1 else {}
        node = Node(
            flat,
            written,
            lambda inner, step: self.convert(inner, f"{path}.{step}", refs, depth + 1),
            lambda keyword, why: self.warn(path, keyword, why),
        )
        for keyword, value in flat.items():
            write = WRITERS.get(keyword)
            if write is None:
                self.warn(path, keyword, NO_WORD)
            else:
                write(node, keyword, value)
        return written

    def take_kinds(self, flat: Schema, path: str) -> list[str]:
        """The types that a node names, or, where it names none, the one that its other keywords
        mean.
        """
        named = flat.pop("type", [])
        kinds: list[str] = []
        for word in named if isinstance(named, list) else [named]:
            kind = KINDS.get(word.lower()) if isinstance(word, str) else None
            if kind is None:
                self.warn(path, "type", f"is left out; there is no type {str(word)[:40]!r}")
            elif kind not in kinds:
                kinds.append(kind)
        if not kinds and "enum" not in flat:
            means = (("OBJECT", ("properties",)), ("ARRAY", ("items", "prefixItems")))
            kinds = [
                kind for kind, keywords in means if any(keyword in flat for keyword in keywords)
            ][:1]
        return kinds


def _enclose(value: Any, keyword: str, refs: _Refs) -> Any:
    """A keyword's value, the schemas in it with the references inside which they stand."""
    if keyword not in _BELOW:
        return value
    if keyword == "properties" and isinstance(value, dict):
        return {name: _stand_in(inner, refs) for name, inner in value.items()}
    return (
        [_stand_in(inner, refs) for inner in value]
        if isinstance(value, list)
        else _stand_in(value, refs)
    )


def _stand_in(schema: Any, refs: _Refs) -> Any:
    return {_SCOPE: (schema, refs)} if isinstance(schema, dict) and _SCOPE not in schema else schema


def _find(root: Any, ref: Any) -> Any:
    """The value at a JSON pointer (RFC 6901) in a URI fragment; None if there is none."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    node = root
    for token in unquote(ref[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and token in node:
            node = node[token]
        elif (
            isinstance(node, list)
            and token.isascii()
            and token.isdigit()
            and len(token) < 9
            and int(token) < len(node)
        ):
            node = node[int(token)]
        else:
            return None
    return node


def _take_values(flat: Schema, kinds: list[str]) -> list[Any] | None:
    """The values of ``enum`` that the types allow; where no type is named, theirs are added to
    ``kinds``.
    """
    if "enum" not in flat:
        return None
    values: list[Any] = flat.pop("enum")
    if not kinds:
        kinds += dict.fromkeys(_kind_of(value) for value in values)
        if "NUMBER" in kinds and "INTEGER" in kinds:
            kinds.remove("INTEGER")
    return [value for value in values if any(_is_a(value, kind) for kind in kinds)]


def _split(flat: Schema, kinds: list[str], values: list[Any] | None) -> None:
    """Several types: each becomes a branch, with the keywords and values that are its own."""
    branches: list[Schema] = [
        {"type": kind, **{key: flat[key] for key in OF_A_KIND.get(kind, ()) if key in flat}}
        for kind in kinds
    ]
    for key in {key for kind in kinds for key in OF_A_KIND.get(kind, ())}:
        flat.pop(key, None)
    if values is not None:
        branches = [
            {**branch, "enum": those}
            for branch in branches
            if (those := [one for one in values if _is_a(one, branch["type"])])
        ]
    flat["anyOf"] = branches


def _list_values(flat: Schema, kind: str, values: list[Any]) -> bool:
    """Strings are Gemini's ``enum``; of numbers the range is said. Whether that says it all."""
    if None in values:
        values = [value for value in values if value is not None]
        if kind == "NULL":
            return True
    if not values:
        return False
    if kind == "STRING":
        flat["enum"] = values
        return True
    if kind in ("NUMBER", "INTEGER"):
        low, high = min(values), max(values)
        join(flat, {"minimum": low, "maximum": high})
        return bool(low == high) or (kind == "INTEGER" and high - low + 1 == len(set(values)))
    return kind == "BOOLEAN" and len(set(values)) == 2


def _is_null(schema: Any) -> bool:
    if isinstance(schema, dict) and _SCOPE in schema:
        schema = schema[_SCOPE][0]
    return isinstance(schema, dict) and (
        schema.get("type") in ("null", "NULL", ["null"]) or values_of(schema).get("enum") == [None]
    )


def _kind_of(value: Any) -> str:
    kinds = {
        bool: "BOOLEAN",
        str: "STRING",
        int: "INTEGER",
        float: "NUMBER",
        list: "ARRAY",
        type(None): "NULL",
    }
    return kinds.get(type(value), "OBJECT")


def _is_a(value: Any, kind: str) -> bool:
    if kind == "INTEGER":
        return is_number(value) and bool(value == int(value))
    return _kind_of(value) == kind or (kind == "NUMBER" and is_number(value))


def _weigh(schema: Schema) -> int:
    """The size of what stands in one node itself."""
    weight, waiting = 1 + len(schema), [value for key, value in schema.items() if key not in _BELOW]
    while waiting and weight <= MAX_SIZE:
        value = waiting.pop()
        weight += 1
        if isinstance(value, str):
            weight += len(value) // 64
        elif isinstance(value, dict | list):
            weight += len(value)
            waiting += value.values() if isinstance(value, dict) else value
    return weight
