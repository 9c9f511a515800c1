"""Reads a generate request in the form *as given* (`harness.stream.generation`), for the wires that
are not generateContent's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.stream.generation import GenerateRequest, TranslationError

from .gemini.canonical_request import canonical_request

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Medium:
    """A part with media. ``kind``: image, audio, video or document. Either ``data`` (base64) or
    ``uri`` is present. ``level``: the resolution, as a word in lower case.
    """

    kind: str
    media_type: str | None
    data: str | None
    uri: str | None
    name: str | None
    level: str | None


def text_item(text: str) -> dict[str, Any]:
    """A text among the contents of a message or step."""
    return {"type": "text", "text": text}


def function_of(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """A declared function. Its schema is JSON Schema, as in the prompt."""
    fields = {
        "name": declaration["name"],
        "description": declaration.get("description") or None,
        "parameters": declaration.get("parametersJsonSchema"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def medium_of(part: Part) -> Medium | None:
    """The media of a part; None for a part of another kind."""
    inline, file = part.get("inlineData"), part.get("fileData")
    held = inline or file
    if not isinstance(held, Mapping):
        return None
    media_type = held.get("mimeType")
    family = str(media_type or "").partition("/")[0]
    kind = family if family in ("image", "audio", "video") else part.get("kind", "document")
    resolution = part.get("mediaResolution")
    level = resolution.get("level") if isinstance(resolution, Mapping) else None
    return Medium(
        kind,
        media_type,
        held.get("data"),
        held.get("fileUri"),
        part.get("fileName"),
        str(level).removeprefix("MEDIA_RESOLUTION_").lower() if level else None,
    )


def without_contents(body: Mapping[str, Any]) -> dict[str, Any]:
    """The other fields of a body, in one spelling: options of the prompt may have another one."""
    fields = canonical_request({key: value for key, value in body.items() if key != "contents"})
    assert isinstance(fields, dict)
    return fields


def texts_of(instruction: Any) -> list[str]:
    """The texts of a ``systemInstruction``."""
    parts = instruction.get("parts", ()) if isinstance(instruction, Mapping) else ()
    return [part["text"] for part in parts if part.get("text")]


def written(value: Any) -> str:
    """A value as the text of a result: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def known_fields(
    values: Mapping[str, Any], names: Mapping[str, str], place: str, wire: str
) -> tuple[dict[str, Any], list[str]]:
    """The fields of ``values`` that are in ``names``, under their names on the wire, and a warning
    for each other field.
    """
    taken = {names[key]: value for key, value in values.items() if key in names}
    unsaid = [
        f"{place}{key}: is left out; {wire} has no field for it"
        for key in values
        if key not in names
    ]
    return taken, unsaid


def with_options(body: dict[str, Any], request: GenerateRequest, provider: str) -> dict[str, Any]:
    """The body with the options of the prompt for this wire: objects are merged, tools are added,
    any other value replaces ours.
    """
    options = request.options.get(provider) or {}
    if not isinstance(options, Mapping):
        raise TranslationError(f"provider_options.{provider}", "must be an object")
    tools = [*body.get("tools", []), *(options.get("tools") or [])]
    merged = _merged(body, options)
    return {**merged, "tools": tools} if tools else merged


def _merged(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(body[key], value)
        for key, value in more.items()
        if isinstance(body.get(key), Mapping) and isinstance(value, Mapping)
    }
    return {**body, **more, **both}
