"""Requests of generateContent with the same meaning have one prompt, and no others."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.providers import PROVIDERS
from harness.providers.gemini.spelling import in_one_spelling
from harness.stream.prompt_data import as_data


def read(body: Any) -> str:
    return json.dumps(as_data(PROVIDERS["gemini-api"].compared_prompt(body)), sort_keys=True)


def part(**fields: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [fields]}]}


def declared(**fields: Any) -> dict[str, Any]:
    return {"tools": [{"functionDeclarations": [{"name": "f", **fields}]}]}


ALIKE: list[tuple[str, Any, Any]] = [
    (
        "snake_case",
        {"generation_config": {"thinking_config": {"include_thoughts": True}}},
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
    ),
    (
        "schema keywords",
        declared(parameters={"any_of": [{"min_length": 1}]}),
        declared(parameters={"anyOf": [{"minLength": 1}]}),
    ),
    (
        "a schema below a property whose name looks like a keyword",
        declared(parameters={"properties": {"any_of": {"min_length": 1}}}),
        declared(parameters={"properties": {"any_of": {"minLength": 1}}}),
    ),
    (
        "a schema of a result",
        declared(response={"max_items": 1}),
        declared(response={"maxItems": 1}),
    ),
    (
        "signature alphabets",
        part(text="a", thoughtSignature="+//+AA=="),
        part(text="a", thought_signature="-__-AA=="),
    ),
    (
        "padding",
        part(inlineData={"mimeType": "a/b", "data": "QQ=="}),
        part(inline_data={"mime_type": "a/b", "data": "QQ"}),
    ),
    (
        "a dummy signature",
        part(text="", thoughtSignature="skip_thought_signature_validator"),
        part(text="", thoughtSignature="c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="),
    ),
    (
        "the other dummy",
        part(text="", thoughtSignature="context_engineering_is_the_way_to_go"),
        part(text="", thoughtSignature="Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv"),
    ),
    (
        "1 and 1.0",
        {"generationConfig": {"temperature": 1, "topK": 40}},
        {"generationConfig": {"temperature": 1.0, "topK": 40.0}},
    ),
    (
        "1 and 1.0 in arguments",
        part(functionCall={"name": "f", "args": {"n": 1}}),
        part(functionCall={"name": "f", "args": {"n": 1.0}}),
    ),
    (
        "integers as strings",
        {"generationConfig": {"seed": 7, "thinkingConfig": {"thinkingBudget": -1}}},
        {"generationConfig": {"seed": "7", "thinkingConfig": {"thinking_budget": "-1"}}},
    ),
    (
        "limits as strings",
        declared(parameters={"maxItems": 3}),
        declared(parameters={"max_items": "3"}),
    ),
    (
        "types in either case",
        declared(parameters={"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}),
        declared(parameters={"type": "object", "properties": {"a": {"type": "string"}}}),
    ),
    ("a content without a role", {"contents": [{"parts": [{"text": "a"}]}]}, part(text="a")),
    (
        "a single content and part",
        {"contents": {"role": "user", "parts": {"text": "a"}}},
        part(text="a"),
    ),
    (
        "the role of a system instruction",
        {"systemInstruction": {"role": "user", "parts": [{"text": "a"}]}},
        {"system_instruction": {"parts": {"text": "a"}}},
    ),
    ("null is absent", {"contents": [], "cachedContent": None}, {}),
    (
        "what is empty and says nothing",
        {"generationConfig": {"seed": None}, "toolConfig": {}, "tools": [], "labels": {}},
        {},
    ),
    ("thought is false by default", part(text="a", thought=False), part(text="a")),
    (
        "in an envelope",
        {"model": "m", "request": {"generation_config": {"top_p": 1}}},
        {"model": "m", "request": {"generationConfig": {"topP": 1.0}}},
    ),
    (
        "countTokens",
        {"generateContentRequest": {"contents": {"role": "user", "parts": {"text": "a"}}}},
        {"generate_content_request": part(text="a")},
    ),
    ("an unknown field", {"newThing": {"someField": 1}}, {"new_thing": {"some_field": 1}}),
]
UNLIKE: list[tuple[str, Any, Any]] = [
    (
        "keys of arguments",
        part(functionCall={"name": "f", "args": {"a_b": 1}}),
        part(functionCall={"name": "f", "args": {"aB": 1}}),
    ),
    (
        "keys of a result",
        part(functionResponse={"name": "f", "response": {"a_b": 1}}),
        part(functionResponse={"name": "f", "response": {"aB": 1}}),
    ),
    (
        "names of properties",
        declared(parameters={"properties": {"a_b": {}}}),
        declared(parameters={"properties": {"aB": {}}}),
    ),
    (
        "keywords of a JSON Schema",
        declared(parametersJsonSchema={"min_length": 1}),
        declared(parametersJsonSchema={"minLength": 1}),
    ),
    (
        "types of a JSON Schema",
        declared(parametersJsonSchema={"type": "object"}),
        declared(parametersJsonSchema={"type": "OBJECT"}),
    ),
    ("labels", {"labels": {"a_b": "x"}}, {"labels": {"aB": "x"}}),
    (
        "null in arguments",
        part(functionCall={"name": "f", "args": {"a": None}}),
        part(functionCall={"name": "f", "args": {}}),
    ),
    (
        "base64 in arguments",
        part(functionCall={"name": "f", "args": {"data": "-_"}}),
        part(functionCall={"name": "f", "args": {"data": "+/"}}),
    ),
    ("other bytes", part(text="", thoughtSignature="QUJD"), part(text="", thoughtSignature="QUJE")),
    (
        "true and 1",
        part(functionCall={"name": "f", "args": {"a": True}}),
        part(functionCall={"name": "f", "args": {"a": 1}}),
    ),
    ("text that is a number", part(text="1"), part(text=1)),
    ("a tool that is empty", {"tools": [{"googleSearch": {}}]}, {"tools": [{}]}),
    ("empty text", part(text=""), part()),
    (
        "roles",
        {"contents": [{"role": "model", "parts": []}]},
        {"contents": [{"role": "user", "parts": []}]},
    ),
    (
        "order of contents",
        {"contents": [{"role": "user"}, {"role": "model"}]},
        {"contents": [{"role": "model"}, {"role": "user"}]},
    ),
    (
        "both spellings at once",
        {"cachedContent": "a", "cached_content": "b"},
        {"cachedContent": "a"},
    ),
    (
        "both spellings at once, the other one",
        {"cachedContent": "a", "cached_content": "b"},
        {"cachedContent": "b"},
    ),
]


@pytest.mark.parametrize(
    ("left", "other"), [case[1:] for case in ALIKE], ids=[case[0] for case in ALIKE]
)
def test_requests_with_the_same_meaning_are_equal(left: Any, other: Any) -> None:
    assert left != other or repr(left) != repr(other)
    assert read(left) == read(other)


@pytest.mark.parametrize(
    ("left", "other"), [case[1:] for case in UNLIKE], ids=[case[0] for case in UNLIKE]
)
def test_requests_with_another_meaning_differ(left: Any, other: Any) -> None:
    assert read(left) != read(other)


def test_a_request_in_the_usual_spelling_is_not_changed() -> None:
    body = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Oslo?"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"id": "a", "name": "w", "args": {"in_city": "Oslo"}},
                        "thoughtSignature": "QUI=",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "a",
                            "name": "w",
                            "response": {"out_side": {"celsius": 4}},
                        }
                    }
                ],
            },
        ],
        "tools": [
            {"functionDeclarations": [{"name": "w", "parametersJsonSchema": {"type": "object"}}]},
            {"googleSearch": {}},
        ],
        "generationConfig": {
            "temperature": 0.5,
            "stopSequences": ["END"],
            "thinkingConfig": {"thinkingLevel": "LOW"},
        },
    }
    before = copy.deepcopy(body)
    assert in_one_spelling(body) == body == before


KEYS = st.sampled_from(
    [
        *(
            "contents",
            "parts",
            "role",
            "text",
            "thought",
            "thoughtSignature",
            "thought_signature",
            "inline_data",
            "data",
        ),
        *(
            "functionCall",
            "args",
            "functionResponse",
            "response",
            "tools",
            "function_declarations",
            "parameters",
            "properties",
            "type",
        ),
        *(
            "any_of",
            "generation_config",
            "generationConfig",
            "seed",
            "a_1",
            "a1",
            "a__b",
            "a_b",
            "aB",
            "_b",
            "labels",
        ),
    ]
)
LEAVES = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        1.0,
        -0.5,
        1e300,
        "",
        "7",
        "1.50",
        "-0",
        "QQ",
        "QQ==",
        "-_-_",
        "object",
        "OBJECT",
        "é",
        "a b",
    ]
)
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(KEYS, BODIES, max_size=6))
def test_the_order_of_keys_does_not_matter(body: dict[str, Any]) -> None:
    assert read(dict(reversed(body.items()))) == read(body)
