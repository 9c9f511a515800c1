"""Reads the tools and the prompt of a request, on any of Gemini's wires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, overload

from harness.stream.json_codec import Json, decode_object, objects_in
from harness.stream.session import Tool

from .fields import SpelledFields, spellings

_REQUEST: Final = spellings("request tools")
_TOOL: Final = spellings("functionDeclarations")
_DECLARATION: Final = spellings("name description parameters parametersJsonSchema")
_CONTENTS: Final = spellings("request contents input messages")
_OF_THE_USER: Final = frozenset({"user", "user_input", "text"})
"""Roles of contents and messages, and types of steps and contents."""
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


def declared_tools(request_body: bytes) -> list[Tool]:
    """Return the functions that a request declares, in its order, bare or in Code Assist's
    envelope; none for any other body.
    """
    tools = _read_request(request_body, _REQUEST).take("tools", list)
    return [
        tool
        for item in objects_in(tools)
        for declaration in _declarations(item)
        if (tool := _read_declaration(declaration))
    ]


class DeclaredTools(Sequence[Tool]):
    """The functions that a request declares: see `declared_tools`. The body is read on demand; only
    a call without a name needs it.
    """

    def __init__(self, request_body: bytes) -> None:
        self._body = request_body

    @cached_property
    def _tools(self) -> list[Tool]:
        return declared_tools(self._body)

    @overload
    def __getitem__(self, index: int) -> Tool: ...

    @overload
    def __getitem__(self, index: slice) -> list[Tool]: ...

    def __getitem__(self, index: int | slice) -> Tool | list[Tool]:
        return self._tools[index]

    def __len__(self) -> int:
        return len(self._tools)


def _declarations(tool: dict[str, Json]) -> list[dict[str, Json]]:
    if tool.get("type") == "function":
        # A function of the Interactions API; Chat Completions has it in a field.
        function = tool.get("function", tool)
        return [function] if type(function) is dict else []
    return objects_in(SpelledFields(tool, _TOOL).take("functionDeclarations"))


def user_prompt(request_body: bytes) -> str:
    """Return the text of the last content of the user that has text; "" if there is none."""
    fields = _read_request(request_body, _CONTENTS)
    contents = next(filter(None, map(fields.values.get, ("contents", "input", "messages"))), None)
    if type(contents) is str:
        return contents
    for content in reversed(objects_in([contents] if type(contents) is dict else contents)):
        if content.get("role", content.get("type", "user")) in _OF_THE_USER:
            parts = content.get("parts", content.get("content", [content]))
            texts = [part.get("text") for part in objects_in(parts)]
            texts = [parts] if type(parts) is str else texts
            if prompt := "".join(text for text in texts if type(text) is str):
                return prompt
    return ""


def requests_thoughts(request_body: bytes) -> bool:
    """Return whether a request asks for thoughts, on any of Gemini's wires."""
    pending: list[Json] = [decode_object(request_body)]
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


def _read_request(body: bytes, names: Mapping[str, str]) -> SpelledFields:
    """Return the fields of a request, bare or in Code Assist's envelope. Other bodies have none."""
    fields = SpelledFields(decode_object(body) or {}, names)
    inner = fields.take("request", dict)
    return fields if inner is None else SpelledFields(inner, names)


def _read_declaration(declaration: dict[str, Json]) -> Tool | None:
    fields = SpelledFields(declaration, _DECLARATION)
    name, schema = fields.take("name", str), fields.take("parametersJsonSchema", dict)
    schema = schema or fields.take("parameters", dict) or {}
    return Tool(name, schema, fields.take("description", str) or "") if name else None
