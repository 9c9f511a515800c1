"""Compares a JSON Schema that was asked for with the schema that an adapter sent.

A schema may be written in another form with the same meaning: a reference inlined, null as
``nullable``, a constant as an enum of one value. The table of these forms is on the page
docs/what-is-asked.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple

from harness.stream.json_codec import Json, same_json

JsonObject = Mapping[str, Any]

LIMITS: Final = (
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("pattern", "format", "default", "prefixItems"),
)
"""The limits that Google documents: https://ai.google.dev/api/caching#Schema and
https://ai.google.dev/api/generate-content#FIELDS.response_json_schema.
"""
_ALTERNATIVES: Final = ("anyOf", "oneOf")
_MOST_NODES: Final = 2_000
"""A schema with more nodes is compared only up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDifference:
    """One value of the asked schema that was not sent, or a value that nobody asked for."""

    aspect: Literal["schema", "limits"]
    verdict: Literal["lost", "wrong"]
    word: str
    """The kind of value, as a declared loss names it: ``null``, ``map``, ``pattern``."""
    path: str
    """The path in the asked schema, such as ``properties.place.properties.town``."""
    subject: str
    """The value, such as ``property "town"``."""
    fact: str
    """What happened to it, such as ``is not sent``."""
    asked: Json
    sent_path: str
    """The path in the sent schema of the node that should have the value."""
    sent: Json


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema without its references, null and alternatives of one branch."""

    raw: Json
    path: str
    types: frozenset[str] = frozenset()
    nullable: bool = False
    values: tuple[Json, ...] | None = None
    """The values of an enum, or a constant."""
    is_constant: bool = False
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    items: Json = None
    branches: tuple[Any, ...] = ()
    rest: JsonObject = field(default_factory=dict)
    """The other fields."""
    order: tuple[str, ...] = ()
    """The names in their order."""
    recursive: bool = False
    """Whether a reference leads back to a schema around it."""


class _Reader:
    """Reads the nodes of one schema."""

    def __init__(self, root: Json) -> None:
        self._root = root

    def node(self, schema: Json, path: str, above: tuple[str, ...] = ()) -> tuple[_Node, Any]:
        """Return a node, and the references that lead to its inner schemas."""
        described: list[str] = []
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            reference = schema["$ref"]
            if reference in above:
                return _Node(schema, path, recursive=True), above
            above = (*above, reference)
            if isinstance(schema.get("description"), str):
                described.append(schema["description"])
            schema = self._target(reference)
        if not isinstance(schema, Mapping):
            return _Node(schema, path), above
        merged = dict(schema)
        for branch in _list(merged.pop("allOf", None)):
            inner, above_branch = self.node(branch, path, above)
            above = above_branch
            merged = _merged(merged, inner)
        node = _read(merged, schema, path)
        branches = []
        for branch in node.branches:
            inner, _ = self.node(branch, path, above)
            if inner.types == {"null"} or inner.values == (None,):
                node = replace(node, nullable=True)
            else:
                branches.append(branch)
        is_only = len(node.branches) > 1 or not (node.types or node.properties)
        if len(branches) == 1 and is_only:
            inner, above = self.node(branches[0], path, above)
            node = _with_branch(node, inner)
        else:
            node = replace(node, branches=tuple(branches))
        words = " ".join(filter(None, [*described, node.description]))
        return replace(node, description=words), above

    def _target(self, reference: str) -> Json:
        at: Any = self._root
        if not reference.startswith("#"):
            return {}
        for name in filter(None, reference.removeprefix("#").split("/")):
            name = name.replace("~1", "/").replace("~0", "~")
            at = at.get(name) if isinstance(at, Mapping) else None
        return at if at is not None else {}


def _list(value: Json) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _merged(outer: dict[str, Any], inner: _Node) -> dict[str, Any]:
    """Return an object schema with the content of a branch of ``allOf``."""
    raw = inner.raw if isinstance(inner.raw, Mapping) else {}
    merged = {**raw, **outer}
    for name in ("properties", "$defs"):
        if isinstance(raw.get(name), Mapping) and isinstance(outer.get(name), Mapping):
            merged[name] = {**raw[name], **outer[name]}
    merged["required"] = [*_list(raw.get("required")), *_list(outer.get("required"))]
    return merged


def _with_branch(node: _Node, inner: _Node) -> _Node:
    """Return a node with the content of its only alternative."""
    words = " ".join(filter(None, [node.description, inner.description]))
    return replace(
        inner,
        raw=node.raw,
        path=node.path,
        description=words,
        nullable=node.nullable or inner.nullable,
        rest={**inner.rest, **node.rest},
    )


def _read(schema: JsonObject, raw: Json, path: str) -> _Node:
    kinds = schema.get("type")
    types = {str(kind).lower() for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind}
    values = schema.get("enum")
    is_constant = "const" in schema
    if is_constant:
        values = [schema["const"]]
    nullable = ("null" in types and len(types) > 1) or schema.get("nullable") is True
    if isinstance(values, list) and None in values and len(values) > 1:
        values, nullable = [value for value in values if value is not None], True
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    order = dict.fromkeys(map(str, [*_list(schema.get("propertyOrdering")), *properties]))
    branches = [branch for name in _ALTERNATIVES for branch in _list(schema.get(name))]
    if len(types - {"null"}) > 1 and not branches:
        branches = [{"type": kind} for kind in sorted(types - {"null"})]
        types = set()
    return _Node(
        raw,
        path,
        frozenset(types - {"null"} if len(types) > 1 else types),
        nullable,
        tuple(values) if isinstance(values, list) else None,
        is_constant,
        str(schema.get("description") or ""),
        properties,
        frozenset(map(str, _list(schema.get("required")))),
        schema.get("items"),
        tuple(branches),
        {
            name: schema[name]
            for name in (*LIMITS, "additionalProperties")
            if name in schema and not (name == "format" and schema[name] == "enum")
        },
        tuple(order),
    )


def compare_schemas(asked: Json, sent: Json, *, ordered: bool = False) -> list[SchemaDifference]:
    """Return the differences between a schema that was asked for and the one that was sent.

    ``ordered``: the order of the names counts, as in a structured answer.
    """
    comparison = _Comparison(_Reader(asked), _Reader(sent), ordered)
    return list(comparison.run(_Inner(asked, "", ()), _Inner(sent, "", ())))


class _Inner(NamedTuple):
    """A schema inside another: its path, and the references that lead to it."""

    schema: Json
    path: str
    above: tuple[str, ...]


class _Pair(NamedTuple):
    """A node that was asked for, and the node that was sent at its place."""

    asked: _Node
    sent: _Node

    def lacks(self, word: str, subject: str, value: Json, at: str = "") -> SchemaDifference:
        """Return the difference of a value that is not sent."""
        return self.differs(word, subject, "is not sent", value, at=at, verdict="lost")

    def differs(
        self,
        word: str,
        subject: str,
        fact: str,
        value: Json,
        *,
        at: str = "",
        verdict: Literal["lost", "wrong"] = "wrong",
    ) -> SchemaDifference:
        return SchemaDifference(
            aspect="schema",
            verdict=verdict,
            word=word,
            path=f"{self.asked.path}{at}".removeprefix("."),
            subject=subject,
            fact=fact,
            asked=value,
            sent_path=self.sent.path.removeprefix("."),
            sent=self.sent.raw,
        )


class _Comparison:
    """Compares the nodes of two schemas, at most `_MOST_NODES`."""

    def __init__(self, asked: _Reader, sent: _Reader, ordered: bool) -> None:
        self._asked, self._sent = asked, sent
        self._ordered = ordered
        self._nodes = 0

    def run(self, asked: _Inner, sent: _Inner) -> Iterator[SchemaDifference]:
        """Yield the differences of a schema and of all schemas inside it."""
        self._nodes += 1
        there, above_there = self._asked.node(*asked)
        here, above_here = self._sent.node(*sent)
        if self._nodes > _MOST_NODES or there.recursive or here.recursive:
            return  # below the first level of a recursion anything may be sent
        pair = _Pair(there, here)
        yield from _compare_type(pair)
        yield from self._enum(pair)
        yield from _compare_limits(pair)
        yield from self._names(pair)
        for name, at in _inner_schemas(pair):
            yield from self.run(
                _Inner(name[0], f"{there.path}{at}", above_there),
                _Inner(name[1], f"{here.path}{at}", above_here),
            )
        if isinstance(there.items, Mapping) and there.items and not isinstance(here.items, Mapping):
            yield pair.lacks("items", "items", there.items, ".items")
        if there.branches:
            yield from self._branches(pair, above_there, above_here)

    def _enum(self, pair: _Pair) -> Iterator[SchemaDifference]:
        """Compare the values of an enum. Values that are no texts are limits: Google's Schema
        takes them as texts, and they may also be words, or a range without other values.
        """
        if pair.asked.values is None:
            return
        asked, sent = list(pair.asked.values), list(pair.sent.values or ())
        for branch in pair.sent.branches:  # an enum may be sent in pieces
            sent += self._sent.node(branch, "", ())[0].values or ()
        texts = all(isinstance(value, str) for value in asked)
        words = pair.sent.description
        takes_texts = _takes_texts(pair.sent)
        missing = [value for value in asked if not _has(sent, value, as_text=takes_texts)]
        is_said = all(_said(value, words) for value in missing)
        if not texts and (is_said or _are_range(asked, pair.sent)):
            missing = []
        word = "const" if pair.asked.is_constant else "enum"
        if missing:
            subject = f"{word} {_short(missing)}"
            red = pair.lacks(word, subject, missing)
            if not takes_texts and all(_has(sent, value, as_text=True) for value in missing):
                kind = ", ".join(sorted(pair.sent.types))
                red = pair.differs(word, subject, f"is sent as texts, of the type {kind}", missing)
            yield red if texts else replace(red, aspect="limits")
        elif made := [
            value for value in sent if texts and value is not None and value not in asked
        ]:
            yield pair.differs(word, word, f"has also {_short(made)}", asked)

    def _names(self, pair: _Pair) -> Iterator[SchemaDifference]:
        there, here = pair
        for name, schema in there.properties.items():
            if name not in here.properties and not here.branches:
                yield pair.lacks("property", f'property "{name}"', schema, f".properties.{name}")
        made = [name for name in here.properties if name not in there.properties]
        # an object without properties may get a placeholder
        if made and (there.properties or len(made) > 1):
            subject = f"property {_short(made)}"
            yield pair.differs("property", subject, "was not asked for", [*there.properties])
        if here.branches or not here.properties or not there.properties:
            return
        required = sorted(there.required)
        lost = [
            name
            for name in required
            if name in there.properties
            and name not in here.required
            and not self._asked.node(there.properties[name], "", ())[0].nullable
        ]
        if lost:
            yield pair.lacks("required", f"required {_short(lost)}", required)
        if more := sorted(here.required - there.required):
            yield pair.differs("required", f"{_short(more)}", "was made required", required)
        asked = [name for name in there.order if name in here.properties]
        sent = [name for name in here.order if name in there.properties]
        if self._ordered and not made and sent != asked:
            yield pair.differs("order", "the order", f"is sent as {', '.join(sent)}", asked)

    def _branches(
        self, pair: _Pair, above_there: tuple[str, ...], above_here: tuple[str, ...]
    ) -> Iterator[SchemaDifference]:
        """Compare each alternative with the sent alternative that is most like it."""
        there, here = pair
        free = {f".anyOf[{at}]": branch for at, branch in enumerate(here.branches)}
        for number, branch in enumerate(there.branches):
            at = f".anyOf[{number}]"
            asked = _Inner(branch, f"{there.path}{at}", above_there)
            candidates = free if here.branches else {"": here.raw}
            tries = {
                own: [*self.run(asked, _Inner(sent, f"{here.path}{own}", above_here))]
                for own, sent in candidates.items()
            }
            best = min(tries, key=lambda own: len(tries[own]), default="")
            if best:
                del free[best]
                yield from tries[best]
            elif tries.get(best, True) and not self._is_enum_in(asked, pair):
                yield pair.lacks("alternatives", "an alternative", branch, at)

    def _is_enum_in(self, branch: _Inner, pair: _Pair) -> bool:
        """Return whether an alternative is an enum whose values another node has."""
        inner, _ = self._asked.node(*branch)
        lost = (each for each in self._enum(_Pair(inner, pair.sent)) if each.verdict == "lost")
        return inner.values is not None and not [*lost]


def _compare_type(pair: _Pair) -> Iterator[SchemaDifference]:
    there, here = pair
    sent_types = here.types or frozenset({"object"} if here.properties else ())
    number_enum = there.values is not None and not all(
        isinstance(each, str) for each in there.values
    )
    as_texts = number_enum and here.values  # Google's Schema takes only texts in enums
    if there.types and not here.branches and not there.types <= sent_types and not as_texts:
        subject = f"type {', '.join(sorted(there.types))}"
        if here.types:
            fact = f"is sent as {', '.join(sorted(here.types))}"
            yield pair.differs("type", subject, fact, sorted(there.types))
        else:
            yield pair.lacks("type", subject, sorted(there.types))
    accepts_null = here.nullable or "null" in here.types or None in (here.values or ())
    if there.nullable and not accepts_null:
        yield pair.lacks("null", "null", None)
    if there.description and there.description not in here.description:
        yield pair.lacks("description", f"description {there.description}", there.description)


def _compare_limits(pair: _Pair) -> Iterator[SchemaDifference]:
    there, here = pair
    for name, value in there.rest.items():
        sent = here.rest.get(name)
        if name != "additionalProperties":
            if _same(value, sent) or _said(value, here.description):
                continue
            subject = f"{name} {_short(value)}"
            difference = (
                pair.lacks(name, subject, value)
                if sent is None
                else pair.differs(name, subject, f"is sent as {_short(sent)}", value)
            )
            yield replace(difference, aspect="limits")
        elif value is False and sent is not False:
            closed = pair.differs(
                "closed", "the object", "is not closed", {name: False}, verdict="lost"
            )
            yield replace(closed, aspect="limits")
        elif isinstance(value, Mapping) and not isinstance(sent, Mapping):
            yield pair.lacks("map", "the schema of the values", value)


def _inner_schemas(pair: _Pair) -> Iterator[tuple[tuple[Json, Json], str]]:
    """Yield the schemas inside both nodes, with their path."""
    there, here = pair
    for name, schema in there.properties.items():
        if name in here.properties:
            yield (schema, here.properties[name]), f".properties.{name}"
    if isinstance(there.items, Mapping) and isinstance(here.items, Mapping):
        yield (there.items, here.items), ".items"
    values = (node.rest.get("additionalProperties") for node in pair)
    asked, sent = values
    if isinstance(asked, Mapping) and isinstance(sent, Mapping):
        yield (asked, sent), ".additionalProperties"


def _takes_texts(node: _Node) -> bool:
    """Return whether texts in an enum can be its values: not of a number or a boolean, unless it
    has the format ``enum`` of Vertex AI.
    """
    formatted = isinstance(node.raw, Mapping) and node.raw.get("format") == "enum"
    return formatted or not node.types & {"integer", "number", "boolean"}


def _has(values: list[Json], value: Json, *, as_text: bool) -> bool:
    """Return whether an enum has a value. ``as_text``: also as a text."""
    if isinstance(value, str):
        return value in values
    return any(same_json(each, value) or (as_text and each == _text(value)) for each in values)


def _are_range(values: list[Any], sent: _Node) -> bool:
    """Return whether a minimum and a maximum allow the same numbers."""
    if any(type(value) not in (int, float) for value in values):
        return False
    low, high = min(values), max(values)
    is_whole = sent.types == {"integer"} and high - low + 1 == len({*values})
    limits = sent.rest.get("minimum"), sent.rest.get("maximum")
    return (low == high or is_whole) and limits == (low, high)


def _text(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(asked: Json, sent: Json) -> bool:
    if isinstance(asked, int | float) and isinstance(sent, str):
        return sent == _text(asked)
    return same_json(asked, sent)


def _said(value: Json, description: str) -> bool:
    """Return whether a description has the value as words."""
    return _text(value) in description


def _short(value: Json) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return f'"{value}"' if isinstance(value, str) else str(value)
