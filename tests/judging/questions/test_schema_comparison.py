"""Schemas in another form are kept, and each lost or changed value has its own difference."""

from __future__ import annotations

from typing import Any

import pytest

from harness.judging.questions.schema_comparison import compare_schemas

TOWN = {"type": "object", "properties": {"town": {"type": "string", "description": "D"}}}
STOP = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def one_of(*branches: Any, name: str = "anyOf") -> dict[str, Any]:
    return {name: list(branches)}


NULLABLE = {"type": ["string", "null"]}
CONSTANT = {"const": "A"}
NUMBERS = {"type": "integer", "enum": [1, 2]}
REFERENCES = {**of(a={"$ref": "#/$defs/S"}), "$defs": {"S": STOP}}
RECURSIVE = {
    **of(root={"$ref": "#/$defs/N"}),
    "$defs": {
        "N": of(label={"type": "string"}, below={"type": "array", "items": {"$ref": "#/$defs/N"}})
    },
}
BRANCHES = one_of(of(k={"const": "A"}, v={"type": "string"}), of(k={"const": "B"}), name="oneOf")
MERGED = {"allOf": [of(p={"type": "string"}), {**of(r={"type": "string"}), "required": ["r"]}]}

KEPT = {
    "the same": (TOWN, TOWN),
    "a type in capitals": ({"type": "string"}, {"type": "STRING"}),
    "null as nullable": (NULLABLE, {"type": "string", "nullable": True}),
    "null as an alternative": (NULLABLE, one_of({"type": "string"}, {"type": "null"})),
    "an alternative null as a list of types": (one_of(TOWN, {"type": "null"}), {**TOWN, "type": ["object", "null"]}),
    "null in the only alternative": ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "B"}, {"anyOf": [{"type": "string", "nullable": True, "description": "B"}]}),
    "null in an enum": ({"type": ["string", "null"], "enum": ["A", None]}, {"type": "string", "nullable": True, "enum": ["A"]}),
    "a nullable name that is no longer required": ({**of(a=NULLABLE), "required": ["a"]}, of(a=NULLABLE)),
    "a constant as an enum": (CONSTANT, {"type": "string", "enum": ["A"]}),
    "an enum in pieces as one": (one_of({"enum": ["A"]}, {"enum": ["B"]}), {"type": "string", "enum": ["A", "B"]}),
    "numbers as texts": (NUMBERS, {"type": "INTEGER", "format": "enum", "enum": ["1", "2"]}),
    "numbers as texts of another type": (NUMBERS, {"type": "string", "enum": ["1", "2"]}),
    "numbers as words": (NUMBERS, {"type": "integer", "description": "one of 1, 2"}),
    "numbers as a range": (NUMBERS, {"type": "integer", "minimum": 1, "maximum": 2}),
    "a constant number as a range": ({"const": 0.5}, {"type": "number", "minimum": 0.5, "maximum": 0.5}),
    "a boolean as a text": ({"type": "boolean", "enum": [True]}, {"type": "string", "enum": ["true"]}),
    "a reference inlined": (REFERENCES, of(a=STOP)),
    "a reference kept": (REFERENCES, REFERENCES),
    "a recursion cut below its first level": (RECURSIVE, of(root=of(label={"type": "string"}, below={"type": "array", "items": {"type": "object"}}))),
    "oneOf as anyOf": (BRANCHES, one_of(*BRANCHES["oneOf"])),
    "alternatives in another order": (BRANCHES, one_of(*reversed(BRANCHES["oneOf"]))),
    "allOf merged": (MERGED, {**of(p={"type": "string"}, r={"type": "string"}), "required": ["r"]}),
    "a limit as a text": ({"type": "integer", "minimum": 3}, {"type": "integer", "minimum": "3"}),
    "a limit as words": ({"type": "string", "pattern": "^P$"}, {"type": "string", "description": "matches ^P$"}),
    "an undocumented limit dropped": ({"type": "number", "multipleOf": 0.5}, {"type": "number"}),
    "more words": ({"type": "string", "description": "D"}, {"type": "string", "description": "D. Any."}),
    "a placeholder in an empty object": (of(), of(reason={"type": "string"})),
    "required of nothing": ({**of(x={"type": "string"}), "required": []}, of(x={"type": "string"})),
    "names in another order": (of(a={}, b={}), of(b={}, a={})),
    "items of any kind": ({"type": "array", "items": {}}, {"type": "array"}),
    "an open object": ({"type": "object", "additionalProperties": True}, {"type": "object"}),
}  # fmt: skip

RED = {
    "numbers as a range with others": ({"type": "integer", "enum": [1, 3]}, {"type": "integer", "minimum": 1, "maximum": 3}, "limits lost enum"),
    "fractions as a range": ({"type": "number", "enum": [1, 2]}, {"type": "number", "minimum": 1, "maximum": 2}, "limits lost enum"),
    "numbers as half a range": (NUMBERS, {"type": "integer", "minimum": 1}, "limits lost enum"),
    "another type": ({"type": "string"}, {"type": "object"}, "schema wrong type"),
    "no type": ({"type": "string"}, {}, "schema lost type"),
    "no null": (NULLABLE, {"type": "string"}, "schema lost null"),
    "no constant": (of(k=CONSTANT), of(k={"type": "string"}), "schema lost const"),
    "a value less": ({"enum": ["A", "B"]}, {"enum": ["A"]}, "schema lost enum"),
    "a value more": ({"enum": ["A"]}, {"enum": ["A", "B"]}, "schema wrong enum"),
    "numbers as texts of a number": (NUMBERS, {"type": "integer", "enum": ["1", "2"]}, "limits wrong enum"),
    "no numbers": (NUMBERS, {"type": "integer"}, "limits lost enum"),
    "no first level": (REFERENCES, of(a={"type": "object"}), "schema lost property"),
    "a branch less": (BRANCHES, one_of(BRANCHES["oneOf"][0]), "schema lost alternatives"),
    "no branch": (BRANCHES, {}, "schema lost alternatives"),
    "a part of allOf": (MERGED, of(p={"type": "string"}), "schema lost property"),
    "no name": (TOWN, {"type": "object"}, "schema lost property"),
    "another name": (TOWN, of(town=TOWN["properties"]["town"], x={}), "schema wrong property"),  # type: ignore[index]  # a literal
    "no description": (TOWN, of(town={"type": "string"}), "schema lost description"),
    "no longer required": (STOP, of(name={"type": "string"}), "schema lost required"),
    "made required": (of(a={}, b={}), {**of(a={}, b={}), "required": ["a"]}, "schema wrong required"),
    "no items": ({"type": "array", "items": TOWN}, {"type": "array"}, "schema lost items"),
    "a map": ({"type": "object", "additionalProperties": TOWN}, {"type": "object"}, "schema lost map"),
    "not closed": ({"type": "object", "additionalProperties": False}, {"type": "object", "description": "additionalProperties False"}, "limits lost closed"),
    "no limit": ({"type": "string", "pattern": "^P$"}, {"type": "string"}, "limits lost pattern"),
    "another limit": ({"type": "integer", "maximum": 9}, {"type": "integer", "maximum": 99}, "limits wrong maximum"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_other_forms_with_the_same_meaning_are_kept(name: str) -> None:
    asked, sent = KEPT[name]

    assert compare_schemas(asked, sent) == []


@pytest.mark.parametrize("name", RED)
def test_each_other_difference_has_its_word(name: str) -> None:
    asked, sent, expected = RED[name]

    differences = compare_schemas(asked, sent)

    given = {f"{each.aspect} {each.verdict} {each.word}" for each in differences}
    assert expected in given


def test_the_order_of_names_counts_only_in_a_structured_answer() -> None:
    asked, sent = of(a={}, b={}), of(b={}, a={})

    [difference] = compare_schemas(asked, sent, ordered=True)

    assert difference.word == "order"
    for order in (["a", "b"], ["a"]):
        assert compare_schemas(asked, {**sent, "propertyOrdering": order}, ordered=True) == []
    assert compare_schemas({**asked, "propertyOrdering": ["b"]}, sent, ordered=True) == []


def test_a_difference_has_both_places() -> None:
    [difference] = compare_schemas(of(place=TOWN), of(place={"type": "object"}))

    assert difference.path == "properties.place.properties.town"
    assert difference.sent_path == "properties.place"
    assert difference.sent == {"type": "object"}


def test_a_schema_of_a_million_nodes_ends() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(19):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}

    assert compare_schemas(schema, schema) == []
