"""The schema of a tool's arguments, as models behind Code Assist take it: restrictions in words,
and the rest in Gemini's ``Schema``.

Gemini's own converter (`harness.dialects.gemini_schema`) says what a ``Schema`` can say. Before it,
what Code Assist refuses or ignores is written into the description, where the model reads it; and
what tells a model nothing is taken out, so that nobody is warned of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..gemini_schema import to_gemini_schema

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
"""Keywords that become ``(keyword: value)`` in the description. What is no single value stays for
the converter.

So do the numbers of an ``enum``, which the converter can only say as a range.
"""
SILENT: Final = frozenset({"$schema", "$id", "$comment"})
"""Keywords that say nothing about a value."""

_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED: Final = frozenset({"properties", "$defs", "definitions"})
_MAX_DEPTH: Final = 100
"""Below this nothing is hinted; the converter stops before."""


def sanitize_schema(schema: dict[str, Any], place: str) -> tuple[dict[str, Any], list[str]]:
    """A JSON Schema as Gemini's ``Schema``, and a warning with its place for each thing that is
    lost; ``schema`` is not touched.
    """
    return to_gemini_schema(_hint(schema, 0), place=place)


def _hint(schema: Any, depth: int) -> Any:
    """One node and all below it."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return schema
    written: dict[str, Any] = {}
    hints: list[str] = []
    for keyword, value in schema.items():
        if keyword in HINTS and isinstance(value, str | int | float):
            hints.append(f"({keyword}: {_say(value)})")
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
                and all(type(one) in (int, float) for one in value)
            ):
                hints.append(f"(enum: {', '.join(map(str, value))})")
            written[keyword] = _hint(value, depth + 1) if keyword == "items" else value
    if _is_array(schema) and "items" not in schema and "prefixItems" not in schema:
        written["items"] = {}
    if hints:
        description = schema.get("description")
        written["description"] = " ".join(
            [description, *hints] if isinstance(description, str) and description else hints
        )
    return written


def _is_array(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return any(isinstance(one, str) and one.lower() == "array" for one in kinds)


def _say(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
