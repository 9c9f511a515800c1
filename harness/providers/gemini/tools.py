"""Reads the tools of a request on Gemini's wires, and whether it asks for thoughts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.stream.json_codec import Json, objects_in
from harness.stream.prompt import Function, Schema

from .fields import SpelledFields, spellings

_REQUEST: Final = spellings("tools")
_TOOL: Final = spellings("functionDeclarations")
_DECLARATION: Final = spellings("name description parameters parametersJsonSchema")
_FREE: Final = frozenset({"contents", "input", "messages", "tools"})
"""The fields whose names a user chooses."""
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


def read_tools(request: dict[str, Json]) -> Iterator[Function]:
    """Yield the functions that a request declares, in its order."""
    tools = SpelledFields(request, _REQUEST).take("tools", list)
    for index, tool in enumerate(objects_in(tools)):
        for declaration in _declarations(tool):
            yield from _read_declaration(declaration, f"tools[{index}]")


def _declarations(tool: dict[str, Json]) -> list[dict[str, Json]]:
    if tool.get("type") == "function":  # of the Interactions API
        return [tool]
    return objects_in(SpelledFields(tool, _TOOL).take("functionDeclarations"))


def requests_thoughts(request: Json) -> bool:
    """Return whether a request asks for thoughts, on any of Gemini's wires."""
    pending = [request]
    while pending:
        item = pending.pop()
        if type(item) is dict:
            shown = item.get("includeThoughts", item.get("include_thoughts"))
            if shown is True or item.get("thinking_summaries") == "auto":
                return True
            pending += [value for name, value in item.items() if name not in _FREE]
    return False


def json_schema(schema: Json) -> Json:
    """Return a schema of either of Gemini's schema dialects as JSON Schema: types in lower case,
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


def _read_declaration(declaration: dict[str, Json], place: str) -> Iterator[Function]:
    fields = SpelledFields(declaration, _DECLARATION)
    name, schema = fields.take("name", str), fields.take("parametersJsonSchema", dict)
    schema = schema or fields.take("parameters", dict)
    if name:
        described = fields.take("description", str)
        yield Function(name, described, Schema(schema) if schema else None, place=place)
