"""Helps to write the bodies of Gemini's other wires: the Interactions API and the OpenAI-compatible
endpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.stream.prompt import AnyPart, Media, Native, Opaque, Prompt, media_kind

from .request import settings_of
from .spelling import in_one_spelling

JsonObject = dict[str, Any]


def gemini_settings(prompt: Prompt, warnings: list[str]) -> JsonObject:
    """Return the fields of a generate request beside the messages, with JSON Schemas as in the
    prompt, in one spelling: options of the prompt may have another one.
    """
    fields = in_one_spelling(settings_of(prompt, warnings, exact=True))
    return {key: value for key, value in fields.items() if key != "contents"}


def plain(part: AnyPart) -> AnyPart:
    """Return a part of a Gemini answer as text or media, if it is one; any other part unchanged."""
    if not isinstance(part, Native):
        return part
    raw = part.raw
    held = raw.get("inlineData") or raw.get("fileData")
    if isinstance(held, Mapping):
        media_type, resolution = held.get("mimeType"), raw.get("mediaResolution")
        level = resolution.get("level") if isinstance(resolution, Mapping) else None
        return Media(
            media_kind("document", media_type),
            media_type,
            held.get("data"),
            held.get("fileUri"),
            detail=str(level).removeprefix("MEDIA_RESOLUTION_").lower() if level else None,
            place=part.place,
            signature=signature_in(raw),
        )
    return part


def signature_in(raw: Mapping[str, Any]) -> Opaque | None:
    """Return the signature of a part of a Gemini answer."""
    signature = raw.get("thoughtSignature")
    return Opaque(signature) if isinstance(signature, str) and signature else None


def text_item(text: str) -> JsonObject:
    """Return a text among the contents of a message or step."""
    return {"type": "text", "text": text}


def function_of(declaration: Mapping[str, Any]) -> JsonObject:
    """Return a declared function with its JSON Schema."""
    fields = {
        "name": declaration["name"],
        "description": declaration.get("description") or None,
        "parameters": declaration.get("parametersJsonSchema"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def named(part: AnyPart) -> str:
    """Return the kind of a part, for a warning that it is left out."""
    match part:
        case Media(kind=kind, media_type=media_type):
            return f"{kind} ({media_type or 'of no type'})"
        case Native(raw=raw):
            return ", ".join(raw)
    return type(part).__name__.lower()


def written(value: Any) -> str:
    """Return a value as the text of a result: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def known_fields(
    values: Mapping[str, Any], names: Mapping[str, str], place: str, wire: str
) -> tuple[JsonObject, list[str]]:
    """Return the fields of ``values`` that are in ``names``, under their names on the wire, and a
    warning for each other field.
    """
    taken = {names[key]: value for key, value in values.items() if key in names}
    unsaid = [
        f"{place}{key}: is left out; {wire} has no field for it"
        for key in values
        if key not in names
    ]
    return taken, unsaid
