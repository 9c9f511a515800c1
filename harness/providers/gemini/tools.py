"""Reads the tools and the prompt of a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.stream.json_codec import Json, decode_json
from harness.stream.session import Tool

from .fields import Fields, spellings

_REQUEST: Final = spellings("request tools")
_TOOL: Final = spellings("functionDeclarations")
_DECLARATION: Final = spellings("name description parameters parametersJsonSchema")
_CONTENTS: Final = spellings("request contents")
_TYPES: Final = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
_SCHEMAS: Final = ("items", "additionalProperties", "not")
_SCHEMA_LISTS: Final = ("anyOf", "allOf", "oneOf", "prefixItems")
_SCHEMA_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")
_COUNTS: Final = (
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
)


def declared_tools(request_body: bytes) -> list[Tool]:
    """The functions that a request declares, in its order, bare or in Code Assist's envelope; none
    if it is no such request.
    """
    tools = _read_request(request_body, _REQUEST).take("tools", list)
    lists = [Fields(tool, _TOOL).take("functionDeclarations") for tool in _objects(tools)]
    return [
        tool
        for declarations in lists
        for declaration in _objects(declarations)
        if (tool := _read_declaration(declaration))
    ]


def user_prompt(request_body: bytes) -> str:
    """The text of the last content of the user that has text; "" if there is none."""
    contents = _read_request(request_body, _CONTENTS).take("contents", list)
    for content in reversed(_objects(contents)):
        if content.get("role", "user") == "user":
            texts = [part.get("text") for part in _objects(content.get("parts"))]
            if prompt := "".join(text for text in texts if type(text) is str):
                return prompt
    return ""


def json_schema(schema: Json) -> Json:
    """A schema of either of Gemini's schema dialects as JSON Schema: types in lower case,
    ``nullable`` as the type null, counts as numbers.
    """
    if type(schema) is not dict:
        return schema
    converted = {key: value for key, value in schema.items() if key != "nullable"}
    for key, value in schema.items():
        if key in _SCHEMAS:
            converted[key] = json_schema(value)
        elif key in _SCHEMA_LISTS and type(value) is list:
            converted[key] = [json_schema(item) for item in value]
        elif key in _SCHEMA_MAPS and type(value) is dict:
            converted[key] = {name: json_schema(item) for name, item in value.items()}
        elif key in _COUNTS and type(value) is str and value.isdecimal():
            converted[key] = int(value)
    kind = schema.get("type")
    if type(kind) is str and kind in _TYPES:
        converted["type"] = kind.lower()
    if schema.get("nullable") is True and type(converted.get("type")) is str:
        converted["type"] = [converted["type"], "null"]
    return converted


def _read_request(body: bytes, names: Mapping[str, str]) -> Fields:
    """The fields of a request, bare or in Code Assist's envelope; none if it is no such request."""
    try:
        request = decode_json(body)
    except ValueError:
        request = None
    fields = Fields(request if type(request) is dict else {}, names)
    inner = fields.take("request", dict)
    return fields if inner is None else Fields(inner, names)


def _read_declaration(declaration: dict[str, Json]) -> Tool | None:
    fields = Fields(declaration, _DECLARATION)
    name, schema = fields.take("name", str), fields.take("parametersJsonSchema", dict)
    schema = schema or fields.take("parameters", dict) or {}
    return Tool(name, schema, fields.take("description", str) or "") if name else None


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if type(item) is dict] if type(value) is list else []
