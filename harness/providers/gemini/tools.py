"""Reads schemas of requests on Gemini's wires, and whether a request asks for thoughts."""

from __future__ import annotations

from typing import Final

from harness.stream.json_codec import Json

_FREE: Final = frozenset({"contents", "input", "messages", "tools"})
"""The fields whose names a user chooses."""
_TYPES: Final = frozenset(("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"))
_SCHEMAS: Final = ("items", "additionalProperties", "not")
_SCHEMA_LISTS: Final = ("anyOf", "allOf", "oneOf", "prefixItems")
_SCHEMA_MAPS: Final = ("properties", "$defs", "definitions", "patternProperties")


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
    ``nullable`` as the type null.
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
    kind = schema.get("type")
    if type(kind) is str and kind in _TYPES:
        converted["type"] = kind.lower()
    if schema.get("nullable") is True and type(converted.get("type")) is str:
        converted["type"] = [converted["type"], "null"]
    return converted
