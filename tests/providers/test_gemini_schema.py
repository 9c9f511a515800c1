"""JSON Schema → Gemini's Schema: every keyword, references, joins, and limits that hold for any
input.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.providers.gemini.schema import to_gemini_schema

GEMINI_KEYWORDS = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minLength",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "anyOf",
        "propertyOrdering",
        "default",
        "example",
    ]
)


def convert(schema: Any) -> tuple[dict[str, Any], list[str]]:
    before = deepcopy(schema)
    written, warnings = to_gemini_schema(schema, place="P")
    assert schema == before, "the schema itself is not touched"
    return written, warnings


SAID_EXACTLY: dict[str, tuple[Any, dict[str, Any]]] = {
    "type": ({"type": "string"}, {"type": "STRING"}),
    "number": ({"type": "number"}, {"type": "NUMBER"}),
    "integer": ({"type": "integer"}, {"type": "INTEGER"}),
    "boolean": ({"type": "boolean"}, {"type": "BOOLEAN"}),
    "null": ({"type": "null"}, {"type": "NULL"}),
    "Gemini's own spelling": (
        {"type": "OBJECT", "nullable": True},
        {"type": "OBJECT", "nullable": True},
    ),
    "anything": ({}, {}),
    "true": (True, {}),
    "title and description": (
        {"type": "string", "title": "T", "description": "D"},
        {"type": "STRING", "title": "T", "description": "D"},
    ),
    "string limits": (
        {"type": "string", "minLength": 1, "maxLength": 9.0, "pattern": "^a"},
        {"type": "STRING", "minLength": 1, "maxLength": 9, "pattern": "^a"},
    ),
    "number limits": (
        {"type": "number", "minimum": -1.5, "maximum": 2},
        {"type": "NUMBER", "minimum": -1.5, "maximum": 2},
    ),
    "list limits": (
        {"type": "array", "minItems": 1, "maxItems": 2},
        {"type": "ARRAY", "minItems": 1, "maxItems": 2, "items": {}},
    ),
    "object limits": (
        {"type": "object", "minProperties": 0, "maxProperties": 2},
        {"type": "OBJECT", "minProperties": 0, "maxProperties": 2},
    ),
    "date-time": (
        {"type": "string", "format": "date-time"},
        {"type": "STRING", "format": "date-time"},
    ),
    "int64": ({"type": "integer", "format": "int64"}, {"type": "INTEGER", "format": "int64"}),
    "double": ({"type": "number", "format": "double"}, {"type": "NUMBER", "format": "double"}),
    "default and example": (
        {"type": "string", "default": None, "example": "x"},
        {"type": "STRING", "default": None, "example": "x"},
    ),
    "one of the examples": (
        {"type": "string", "examples": ["x"]},
        {"type": "STRING", "example": "x"},
    ),
    "items": (
        {"type": "array", "items": {"type": "string"}},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ),
    "items without a type": (
        {"items": {"type": "string"}},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ),
    "properties": (
        {
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "propertyOrdering": ["a"],
            "additionalProperties": True,
        },
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING"}},
            "required": ["a"],
            "propertyOrdering": ["a"],
        },
    ),
    "properties named like keywords": (
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "$ref": {"const": "k"},
                "properties": {"type": "null"},
            },
        },
        {
            "type": "OBJECT",
            "properties": {
                "title": {"type": "STRING"},
                "$ref": {"type": "STRING", "enum": ["k"]},
                "properties": {"type": "NULL"},
            },
        },
    ),
    "enum of strings": ({"enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}),
    "enum with null": ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
    "enum whose type forbids a value": (
        {"type": "string", "enum": ["a", 1, None]},
        {"type": "STRING", "enum": ["a"]},
    ),
    "enum of one of two types": (
        {"type": ["string", "boolean"], "enum": ["a"]},
        {"type": "STRING", "enum": ["a"]},
    ),
    "a keyword of another type": (
        {"type": ["string", "integer"], "items": {}},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
    ),
    "enum of numbers without gaps": (
        {"type": "integer", "enum": [3, 1, 2]},
        {"type": "INTEGER", "minimum": 1, "maximum": 3},
    ),
    "enum of both booleans": ({"enum": [True, False]}, {"type": "BOOLEAN"}),
    "const": ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    "const of a number": (
        {"type": "number", "const": 1.5},
        {"type": "NUMBER", "minimum": 1.5, "maximum": 1.5},
    ),
    "const null": ({"const": None}, {"type": "NULL"}),
    "a type or null": (
        {"type": ["string", "null"], "minLength": 1},
        {"type": "STRING", "minLength": 1, "nullable": True},
    ),
    "two types": (
        {
            "type": ["string", "integer", "null"],
            "description": "D",
            "minLength": 1,
            "minimum": 2,
            "enum": ["a", 7],
        },
        {
            "description": "D",
            "nullable": True,
            "anyOf": [
                {"type": "STRING", "minLength": 1, "enum": ["a"]},
                {"type": "INTEGER", "minimum": 7, "maximum": 7},
            ],
        },
    ),
    "anyOf": (
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
    ),
    "oneOf": (
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
    ),
    "anyOf with null": (
        {
            "anyOf": [{"type": "string", "description": "inner"}, {"type": "null"}],
            "description": "outer",
        },
        {"type": "STRING", "description": "outer", "nullable": True},
    ),
    "anyOf of null": ({"anyOf": [{"type": "null"}]}, {"type": "NULL"}),
    "anyOf with null and two others": (
        {"anyOf": [{"type": "string"}, {"const": None}, {"type": "integer"}]},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
    ),
    "open limits of integers": (
        {
            "type": "integer",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 10,
            "maximum": 20,
            "minimum": -5,
        },
        {"type": "INTEGER", "minimum": 1, "maximum": 9},
    ),
    "draft 4's open limit": (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        {"type": "INTEGER", "minimum": 2},
    ),
    "allOf": (
        {
            "allOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "required": ["a"],
                    "title": "first",
                },
                {
                    "properties": {"a": {"minLength": 2}, "b": {"type": "integer"}},
                    "required": ["b", "a"],
                    "title": "second",
                },
            ],
            "minProperties": 1,
        },
        {
            "type": "OBJECT",
            "properties": {"a": {"type": "STRING", "minLength": 2}, "b": {"type": "INTEGER"}},
            "required": ["a", "b"],
            "title": "first",
            "minProperties": 1,
        },
    ),
    "allOf of limits": (
        {
            "type": ["integer", "null"],
            "minimum": 1,
            "allOf": [{"minimum": 3, "maximum": 9}, {"type": "integer", "maximum": 8}],
        },
        {"type": "INTEGER", "minimum": 3, "maximum": 8},
    ),
    "allOf of values": (
        {"enum": ["a", "b"], "allOf": [{"enum": ["b", "c"]}]},
        {"type": "STRING", "enum": ["b"]},
    ),
    "$defs": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/S"}},
            "$defs": {"S": {"type": "string"}},
        },
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    ),
    "definitions": (
        {"items": {"$ref": "#/definitions/S"}, "definitions": {"S": {"type": "string"}}},
        {"type": "ARRAY", "items": {"type": "STRING"}},
    ),
    "a reference beside a description": (
        {
            "$ref": "#/$defs/S",
            "description": "near",
            "$defs": {"S": {"type": "string", "description": "far"}},
        },
        {"type": "STRING", "description": "near"},
    ),
    "escapes in a pointer": (
        {"$ref": "#/$defs/a~1b~0c%20d", "$defs": {"a/b~c d": {"type": "string"}}},
        {"type": "STRING"},
    ),
    "an escaped escape in a pointer": (
        {"$ref": "#/$defs/a~01", "$defs": {"a~1": {"type": "string"}, "a/": {"type": "null"}}},
        {"type": "STRING"},
    ),
    "items said twice": (
        {"type": "array", "items": {"type": "string"}, "allOf": [{"items": {"minLength": 1}}]},
        {"type": "ARRAY", "items": {"type": "STRING", "minLength": 1}},
    ),
    "a pointer into a list": (
        {"$ref": "#/$defs/L/1", "$defs": {"L": [{"type": "null"}, {"type": "string"}]}},
        {"type": "STRING"},
    ),
    "the same reference twice": (
        {
            "allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}],
            "properties": {"x": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"type": "object"}},
        },
        {"type": "OBJECT", "properties": {"x": {"type": "OBJECT"}}},
    ),
}


@pytest.mark.parametrize("name", SAID_EXACTLY)
def test_a_keyword_with_a_counterpart_is_converted(name: str) -> None:
    schema, expected = SAID_EXACTLY[name]
    assert convert(schema) == (expected, [])


LEFT_OUT: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "additionalProperties": (
        {"type": "object", "additionalProperties": False},
        {"type": "OBJECT"},
        ["P: 'additionalProperties' is left out; Gemini's Schema has no word for it"],
    ),
    "a map": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "OBJECT"},
        ["P: 'additionalProperties' is left out; Gemini's Schema has no word for it"],
    ),
    "$schema": (
        {"$schema": "s", "type": "null"},
        {"type": "NULL"},
        ["P: '$schema' is left out; Gemini's Schema has no word for it"],
    ),
    "not": (
        {"type": "object", "properties": {"a": {"items": {"not": {}}}}},
        {"type": "OBJECT", "properties": {"a": {"type": "ARRAY", "items": {}}}},
        ["P.properties.a.items: 'not' is left out; Gemini's Schema has no word for it"],
    ),
    "in a branch": (
        {"anyOf": [{"type": "string"}, {"type": "number", "multipleOf": 2}]},
        {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
        ["P.anyOf[1]: 'multipleOf' is left out; Gemini's Schema has no word for it"],
    ),
    "format": (
        {"type": "string", "format": "uri"},
        {"type": "STRING"},
        ["P: 'format' 'uri' is left out; Gemini's Schema has no such format for this type"],
    ),
    "unknown type": ({"type": "file"}, {}, ["P: 'type' is left out; there is no type 'file'"]),
    "false": (
        {"properties": {"a": False}},
        {"type": "OBJECT", "properties": {"a": {}}},
        ["P.properties.a: 'False' is left out; it allows no value"],
    ),
    "no schema": (["string"], {}, ["P: '['string']' is left out; a schema must be an object"]),
    "enum of numbers with gaps": (
        {"type": "integer", "enum": [1, 5]},
        {"type": "INTEGER", "minimum": 1, "maximum": 5},
        ["P: 'enum' is left out; Gemini's Schema lists strings only"],
    ),
    "enum of objects": (
        {"enum": [{"a": 1}]},
        {"type": "OBJECT"},
        ["P: 'enum' is left out; Gemini's Schema lists strings only"],
    ),
    "const true": (
        {"const": True},
        {"type": "BOOLEAN"},
        ["P: 'enum' is left out; Gemini's Schema lists strings only"],
    ),
    "empty enum": (
        {"type": "string", "enum": []},
        {"type": "STRING"},
        ["P: 'enum' is left out; no value is allowed by it"],
    ),
    "empty enum of items": (
        {"enum": [], "items": {}},
        {"type": "ARRAY", "items": {}},
        ["P: 'enum' is left out; no value is allowed by it"],
    ),
    "enum that the types forbid": (
        {"type": ["string", "integer"], "enum": [[]]},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        ["P: 'enum' is left out; no value is allowed by it"],
    ),
    "two types beside a choice": (
        {
            "type": ["array", "string"],
            "enum": ["a", []],
            "items": {},
            "anyOf": [{"minLength": 1}, {"minItems": 1}],
        },
        {"anyOf": [{"minLength": 1}, {"minItems": 1}]},
        [
            "P: 'type' is left out beside a choice; Gemini's Schema has one type",
            "P: 'enum' is left out beside a choice; Gemini's Schema has one type",
            "P: 'items' is left out beside a choice of several types",
        ],
    ),
    "open limit of a number": (
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "NUMBER"},
        [
            "P: 'exclusiveMinimum' is left out; Gemini's Schema has no exclusive limits; only those of integers can be converted"
        ],
    ),
    "tuple": (
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
        ["P: 'prefixItems' by position cannot be expressed; any of them may be at any position"],
    ),
    "required without a property": (
        {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
        {"type": "OBJECT", "properties": {"a": {}}, "required": ["a"]},
        ["P: 'required' has names that are not among the properties; they are left out"],
    ),
    "wrong values": (
        {"type": "string", "minLength": -1, "pattern": 3, "nullable": "yes"},
        {"type": "STRING"},
        [
            "P: 'minLength' is left out; it is not a whole number",
            "P: 'pattern' is left out; it is not a string",
            "P: 'nullable' is left out; it is not true or false",
        ],
    ),
    "anyOf and oneOf": (
        {
            "anyOf": [{"type": "string"}, {"type": "null"}, {"type": "number"}],
            "oneOf": [{"minLength": 1}, {"minLength": 2}],
        },
        {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
        ["P: 'oneOf' is left out beside 'anyOf'; Gemini's Schema has one list of choices"],
    ),
    "allOf that cannot be joined": (
        {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b$"}, {"type": "integer"}]},
        {"type": "STRING", "pattern": "^a"},
        [
            "P: 'pattern' is given twice with values that cannot be joined; the first one stays",
            "P: 'type' is given twice with values that cannot be joined; the first one stays",
        ],
    ),
    "a reference to nothing": (
        {"properties": {"a": {"$ref": "#/$defs/No", "description": "D"}}},
        {"type": "OBJECT", "properties": {"a": {"description": "D"}}},
        ["P.properties.a: '$ref' is left out; this schema has nothing at '#/$defs/No'"],
    ),
    "a reference to elsewhere": (
        {"$ref": "https://example.com/schema.json"},
        {},
        ["P: '$ref' is left out; this schema has nothing at 'https://example.com/schema.json'"],
    ),
    "a tree": (
        {
            "$ref": "#/$defs/Node",
            "$defs": {
                "Node": {
                    "type": "object",
                    "description": "a node",
                    "properties": {
                        "value": {"type": "string"},
                        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                    },
                }
            },
        },
        {
            "type": "OBJECT",
            "description": "a node",
            "properties": {
                "value": {"type": "STRING"},
                "children": {"type": "ARRAY", "items": {"type": "OBJECT", "description": "a node"}},
            },
        },
        [
            "P.properties.children.items: '$ref' to '#/$defs/Node' is recursive; from here on only its type is sent"
        ],
    ),
    "the root again": (
        {"properties": {"next": {"$ref": "#"}}},
        {"type": "OBJECT", "properties": {"next": {"type": "OBJECT"}}},
        ["P.properties.next: '$ref' to '#' is recursive; from here on only its type is sent"],
    ),
    "a circle of references": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        {},
        ["P: '$ref' to '#/$defs/A' is recursive; from here on only its type is sent"],
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_loss_is_a_warning_with_keyword_and_path(name: str) -> None:
    schema, expected, warnings = LEFT_OUT[name]
    assert convert(schema) == (expected, warnings)


def doubling(keyword: str, levels: int) -> dict[str, Any]:
    def twice(at: int) -> Any:
        ref = {"$ref": f"#/$defs/d{at}"}
        return (
            {"a": ref, "b": ref} if keyword == "properties" else [ref, {**ref, "title": "second"}]
        )

    definitions: dict[str, Any] = {f"d{at}": {keyword: twice(at + 1)} for at in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


@pytest.mark.slow
@pytest.mark.parametrize("keyword", ["properties", "anyOf", "allOf", "oneOf"])
def test_references_that_multiply_are_cut_off(keyword: str) -> None:
    written, warnings = convert(doubling(keyword, 30))
    assert len(json.dumps(written)) < 3_000_000
    assert [warning for warning in warnings if "cut off" in warning] == [
        "P: 'schema' is cut off at 40 levels or 50000 values, including references"
    ]


def test_a_schema_within_the_bounds_is_whole() -> None:
    assert convert(doubling("properties", 8))[1] == []


def test_deep_nesting_is_cut_off() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "array", "items": schema}
    written, warnings = to_gemini_schema(schema, place="P")
    assert json.dumps(written).count("ARRAY") == 41
    assert warnings == ["P: 'schema' is cut off at 40 levels or 50000 values, including references"]


NAMES = st.sampled_from(
    [
        *sorted(GEMINI_KEYWORDS),
        "$ref",
        "$defs",
        "definitions",
        "const",
        "oneOf",
        "allOf",
        "exclusiveMinimum",
        "prefixItems",
        "not",
        "x",
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**400),
    st.floats(),
    st.sampled_from(
        ["string", "null", "integer", "object", "#", "#/$defs/x", "#/properties/x", "#/items", "é"]
    ),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=30,
)


@pytest.mark.slow
@settings(max_examples=300)
@given(ANYTHING)
def test_any_input_becomes_a_schema_of_geminis_keywords(schema: Any) -> None:
    written, _ = to_gemini_schema(schema, place="P")
    waiting = [written]
    while waiting:
        node = waiting.pop()
        assert set(node) <= GEMINI_KEYWORDS
        assert node.get("type", "STRING") in (
            "STRING",
            "NUMBER",
            "INTEGER",
            "BOOLEAN",
            "ARRAY",
            "OBJECT",
            "NULL",
        )
        assert all(isinstance(value, str) for value in node.get("enum", []))
        waiting += [
            *node.get("properties", {}).values(),
            *node.get("anyOf", []),
            *([node["items"]] if "items" in node else []),
        ]


TYPES = st.sampled_from(["string", "null", "integer", "number", "object", "array", "file"])
VALUES = LEAVES | st.sampled_from(["a", "b", 1, [], {}])


def schemas_of(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas of one level whose keywords have values of the right types."""
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, max_size=3),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "items": inner,
        "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), st.lists(inner, max_size=3)),
        **dict.fromkeys(("minimum", "exclusiveMaximum", "minLength"), st.integers(-2, 3)),
        "nullable": st.booleans(),
        "$ref": st.sampled_from(["#", "#/items", "#/properties/a", "#/anyOf/0"]),
    }
    names = st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True)
    return names.flatmap(
        lambda drawn: st.fixed_dictionaries({name: keywords[name] for name in drawn})
    )


SCHEMAS = st.recursive(
    st.booleans() | TYPES.map(lambda name: {"type": name}), schemas_of, max_leaves=8
)

READ_TWICE: dict[str, Any] = {
    "no allowed value, and items": {"enum": [], "items": {}},
    "no allowed value, and properties": {"enum": [], "properties": {"a": {}}},
    "no allowed value, and items by position": {"enum": [], "prefixItems": [{}]},
    "two types, and the items of a third": {"type": ["string", "integer"], "items": {}},
    "values of two types, and items": {"enum": [1, "a"], "items": {}},
    "two types beside a choice": {"type": ["array", "string"], "items": {}, "anyOf": [{}, {}]},
    "two types, and a value of one": {"type": ["string", "boolean"], "enum": [False]},
    "two types, and a value of neither": {"type": ["string", "integer"], "enum": [[]]},
    "null in a choice of one": {"anyOf": [{}, {"anyOf": [{"type": "null"}]}]},
    "null in a join": {"anyOf": [{}, {"allOf": [{"type": "null"}]}]},
    "null in a join at a position": {"prefixItems": [{}, {"allOf": [{"type": "null"}]}]},
    "two values that are null": {"anyOf": [{"type": "string"}, {"enum": [None, None]}]},
}


@pytest.mark.parametrize("name", READ_TWICE)
def test_converting_a_converted_schema_changes_nothing(name: str) -> None:
    written, _ = to_gemini_schema(READ_TWICE[name], place="P")
    assert to_gemini_schema(written, place="P") == (written, [])


@pytest.mark.slow
@settings(max_examples=200)
@given(ANYTHING | SCHEMAS)
def test_converting_twice_changes_nothing(schema: Any) -> None:
    written, _ = to_gemini_schema(schema, place="P")
    again, _ = to_gemini_schema(written, place="P")
    assert repr(again) == repr(written) or again == written
