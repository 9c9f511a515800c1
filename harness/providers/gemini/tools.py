"""Reads the tools that a request declares."""

from __future__ import annotations

from typing import Final

from harness.stream.json_codec import Json, decode_json
from harness.stream.session import Tool

from .fields import Fields, spellings

_REQUEST: Final = spellings("request tools")
_TOOL: Final = spellings("functionDeclarations")
_DECLARATION: Final = spellings("name parameters parametersJsonSchema")


def declared_tools(request_body: bytes) -> list[Tool]:
    """The functions that a request declares, in its order, bare or in Code Assist's envelope; none
    if it is no such request.
    """
    try:
        request = decode_json(request_body)
    except ValueError:
        return []
    if type(request) is not dict:
        return []
    fields = Fields(request, _REQUEST)
    inner = fields.take("request", dict)
    tools = (fields if inner is None else Fields(inner, _REQUEST)).take("tools", list)
    lists = [Fields(tool, _TOOL).take("functionDeclarations") for tool in _objects(tools)]
    return [
        tool
        for declarations in lists
        for declaration in _objects(declarations)
        if (tool := _read_declaration(declaration))
    ]


def _read_declaration(declaration: dict[str, Json]) -> Tool | None:
    fields = Fields(declaration, _DECLARATION)
    name, schema = fields.take("name", str), fields.take("parametersJsonSchema", dict)
    return Tool(name, schema or fields.take("parameters", dict) or {}) if name else None


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if type(item) is dict] if type(value) is list else []
