"""The tools and the prompt of a recorded request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.providers import PROVIDERS, declared_tools, json_schema
from harness.stream.session import Tool

GEMINI = PROVIDERS["gemini-api"]


def body(*contents: Any, **fields: Any) -> bytes:
    return json.dumps({"contents": list(contents), **fields}).encode()


def content(role: str | None, *parts: Any) -> dict[str, Any]:
    return {"parts": list(parts)} | ({"role": role} if role else {})


@pytest.mark.parametrize(
    ("request_body", "prompt"),
    [
        (body(content("user", {"text": "Hi"}, {"text": "?"})), "Hi?"),
        (body(content(None, {"text": "Hi"})), "Hi"),
        (body(content("user", {"text": "1"}), content("model", {"text": "2"}), content("user", {"text": "3"})), "3"),
        (body(content("user", {"text": "1"}), content("user", {"functionResponse": {}})), "1"),
        (json.dumps({"request": json.loads(body(content("user", {"text": "Hi"})))}).encode(), "Hi"),
        (body(content("user", {"text": 7}), 8), ""),
        (b"{", ""),
        (b"[]", ""),
    ],
)  # fmt: skip
def test_the_prompt_is_the_last_text_of_the_user(request_body: bytes, prompt: str) -> None:
    assert GEMINI.read_request(request_body).last_text == prompt


def test_declared_tools_have_their_descriptions() -> None:
    declarations = [
        {"name": "f", "description": "F.", "parameters": {"type": "OBJECT"}},
        {"name": "g"},
    ]
    asked = GEMINI.read_request(body(tools=[{"function_declarations": declarations}]))
    assert declared_tools(asked) == [
        Tool("f", {"type": "OBJECT"}, "F."),
        Tool("g"),
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "STRING", "description": "STRING"}, {"type": "string", "description": "STRING"}),
        ({"type": "INTEGER", "nullable": True}, {"type": ["integer", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": 2}, {"type": "array", "items": {"type": "number"}, "minItems": 2}),
        (
            {"type": "OBJECT", "properties": {"type": {"type": "STRING", "enum": ["STRING"]}, "x": {"anyOf": [{"type": "NULL"}]}}},
            {"type": "object", "properties": {"type": {"type": "string", "enum": ["STRING"]}, "x": {"anyOf": [{"type": "null"}]}}},
        ),
        ({"type": ["string", "null"], "additionalProperties": False}, {"type": ["string", "null"], "additionalProperties": False}),
        ({}, {}),
    ],
)  # fmt: skip
def test_both_schema_dialects_become_json_schema(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = json.dumps(schema)
    assert json_schema(schema) == expected
    assert json.dumps(schema) == before
