"""Translates the tools of a Messages request into functions of a prompt.

A name that Gemini accepts stays; in other names, each character that Gemini refuses becomes ``_``.
The session keeps both names, so that the answer's calls have the caller's own names.

Restrictions in a schema that Code Assist refuses or ignores are written into the description, where
the model reads them. Keywords that do not help a model are removed without a warning.
The original schema goes with it, for wires that read JSON Schema.

Sources: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use and
https://ai.google.dev/gemini-api/docs/function-calling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from harness.stream.fields import Fields
from harness.stream.prompt import Choice, Function, Schema, ServerTool

HOME: Final = "anthropic"
"""The vendor whose wire has this event model: the name of its provider."""
# Gemini accepts 128 characters; older servers refuse more than 64.
MAX_NAME: Final = 64
CHOICES: Final[Mapping[str, Literal["auto", "none", "required", "named"]]] = {
    "auto": "auto",
    "any": "required",
    "none": "none",
    "tool": "named",
}
"""``tool_choice.type`` → mode of a choice."""

# Gemini: a letter or an underscore, then also digits, dots, colons and dashes.
_NAME: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_.:-]{{0,{MAX_NAME - 1}}}")
_REFUSED: Final = re.compile(r"[^A-Za-z0-9_.:-]")

HINTS: Final = frozenset(
    (
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "default",
        "examples",
    )
)
"""Keywords whose single value becomes ``(keyword: value)`` in the description, as the numbers of an
``enum`` do.
"""
SILENT: Final = frozenset({"$schema", "$id", "$comment"})
"""Keywords that do not restrict a value."""

_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_MAX_DEPTH: Final = 100
"""The depth below which no description is changed; the converter stops earlier."""


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Return the caller's names → unique names that Gemini accepts."""
    own = dict.fromkeys(names)
    taken = {name for name in own if _NAME.fullmatch(name)}
    wire = {name: name for name in taken}
    for name in own:
        if name in wire:
            continue
        clean = _REFUSED.sub("_", name) or "tool"
        clean = (clean if _NAME.match(clean) else f"_{clean}")[:MAX_NAME]
        fresh, number = clean, 2
        while fresh in taken:
            fresh = f"{clean[: MAX_NAME - len(str(number)) - 1]}_{number}"
            number += 1
        taken.add(fresh)
        wire[name] = fresh
    return wire


def declared_names(tools: Iterable[Fields]) -> list[str]:
    """Return the names of the tools, in order; raises `TranslationError` if one is missing or
    repeated.
    """
    names: list[str] = []
    for tool in tools:
        name = tool.need("name", str)
        if name in names:
            tool.fail("name", f"there are two tools {name!r}; the names of tools must differ")
        names.append(name)
    return names


def translate_tools(
    tools: Iterable[Fields], names: dict[str, str]
) -> tuple[Function | ServerTool, ...]:
    """Return the functions. Tools that the Messages API defines itself (``bash_20250124``,
    ``web_search_20250305``) have no schema; only the wire of the Messages API has them.
    """
    return tuple(_tool(tool, names) for tool in tools)


def _tool(tool: Fields, names: dict[str, str]) -> Function | ServerTool:
    kind = tool.get("type", str)
    name = tool.need("name", str)
    if kind not in (None, "custom"):
        return ServerTool(
            {"type": kind, "name": name, **tool.rest()},
            HOME,
            tool.at("type"),
            f"{kind!r} is the Messages API's own; only tools with an input_schema can be sent",
        )
    description, given = tool.get("description", str), tool.need("input_schema", dict)
    return Function(
        names[name],
        description or "",
        Schema(given, tool.at("input_schema"), worded=_hint(given, 0)),
        tool.get("strict", bool),
        tool.place,
        tool.get("cache_control", dict),
        tool.rest(),
    )


def translate_choice(
    choice: Fields | None, names: dict[str, str], declared: list[str]
) -> Choice | None:
    """Return the choice of functions; None without one, or without tools."""
    if choice is None:
        return None
    mode, name = CHOICES[choice.choose("type", CHOICES)], None
    if mode == "named":
        name = choice.need("name", str)
        if name not in declared:
            choice.fail(
                "name",
                f"no tool {name!r} is declared; declared tools: {', '.join(declared) or 'none'}",
            )
        name = names[name]
    alone = choice.get("disable_parallel_tool_use", bool)
    choice.leave_rest()
    if not declared:
        choice.leave("type", "there are no tools")
        return None
    return Choice(mode, name, False if alone else None, choice.at("disable_parallel_tool_use"))


def _hint(schema: Any, depth: int) -> Any:
    """Return one node and all below it."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return schema
    written: dict[str, Any] = {}
    hints: list[str] = []
    for keyword, value in schema.items():
        if keyword in HINTS and isinstance(value, str | int | float):
            hints.append(f"({keyword}: {_written(value)})")
        elif keyword in SILENT or (keyword == "additionalProperties" and isinstance(value, bool)):
            continue
        elif keyword in _NAMED and isinstance(value, Mapping):
            written[keyword] = {name: _hint(inner, depth + 1) for name, inner in value.items()}
        elif keyword in _MANY and isinstance(value, list):
            written[keyword] = [_hint(inner, depth + 1) for inner in value]
        else:
            if (
                keyword == "enum"
                and isinstance(value, list)
                and value
                and all(type(number) in (int, float) for number in value)
            ):
                hints.append(f"(enum: {', '.join(map(str, value))})")
            written[keyword] = _hint(value, depth + 1) if keyword == "items" else value
    if hints:
        description = schema.get("description")
        written["description"] = " ".join(
            [description, *hints] if isinstance(description, str) and description else hints
        )
    return written


def _written(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
