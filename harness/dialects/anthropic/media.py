"""Translates images, documents and results of tools in Messages into Gemini parts.

Sources: https://docs.anthropic.com/en/docs/build-with-claude/vision,
https://docs.anthropic.com/en/docs/build-with-claude/pdf-support and
https://ai.google.dev/gemini-api/docs/function-calling#multimodal.
"""

from __future__ import annotations

from typing import Any, Final

from ..dialect import Payload
from ..fields import Fields

EMPTY: Final = "[{} omitted: empty base64 data]"
"""Replaces a part without data, which the API refuses."""

_SOURCES: Final = ("base64", "url")
_DOCUMENT_SOURCES: Final = (*_SOURCES, "text", "content")
_RESULT_BLOCKS: Final = ("text", "image", "document")
_CONTENT_BLOCKS: Final = ("text", "image")


def translate_block(block: Fields, as_given: bool = False) -> list[Payload]:
    """The parts of a text, an image or a document. ``as_given``: each part with media has its
    ``kind``. Raises `TranslationError` for a source that Gemini can't reach (a file of the Messages
    API).
    """
    kind = block.need("type", str)
    match kind:
        case "text":
            return [{"text": block.need("text", str)}]
        case "image":
            parts = [_image(block)]
        case _:
            parts = _document(block)
    if not as_given:
        return parts
    if block.need("source", dict).get("type") == "content":
        kind = "image"  # the blocks of a document are texts and images
    return [part if "text" in part else {**part, "kind": kind} for part in parts]


def _image(block: Fields) -> Payload:
    source = _source(block, _SOURCES)
    kind = source.need("type", str)
    part = _from_url(source) if kind == "url" else _from_base64(source, "image")
    source.leave_rest()
    return part


def _document(block: Fields) -> list[Payload]:
    """The parts of a document: its title and context, then the document."""
    about = [text for key in ("title", "context") if (text := block.get(key, str))]
    source = _source(block, _DOCUMENT_SOURCES)
    match source.need("type", str):
        case "url":
            parts = [_from_url(source)]
        case "text":
            source.get("media_type", str)
            parts = [{"text": source.need("data", str)}]
        case "content":
            content = source.need("content", str, list)
            is_text = isinstance(content, str)
            parts = [{"text": content}] if is_text else _blocks(source, _CONTENT_BLOCKS)
        case _:
            parts = [_from_base64(source, "document")]
    source.leave_rest()
    return [{"text": "\n".join(about)}, *parts] if about else parts


def _blocks(holder: Fields, known: tuple[str, ...], as_given: bool = False) -> list[Payload]:
    """The parts of the blocks in ``content``."""
    parts: list[Payload] = []
    for block in holder.items("content"):
        block.choose("type", known)
        parts += translate_block(block, as_given)
        block.leave_rest()
    return parts


def _source(block: Fields, known: tuple[str, ...]) -> Fields:
    source = Fields(block.need("source", dict), block.at("source"), block.warnings)
    source.choose("type", known)
    return source


def _from_url(source: Fields) -> Payload:
    return {"fileData": {"fileUri": source.need("url", str)}}


def _from_base64(source: Fields, kind_of_block: str) -> Payload:
    data, kind = source.need("data", str), source.need("media_type", str)
    if data:
        return {"inlineData": {"mimeType": kind, "data": data}}
    source.leave("data", "it is empty")
    return {"text": EMPTY.format(kind_of_block)}


def translate_result(block: Fields, as_given: bool = False) -> Payload:
    """``response`` of a ``functionResponse``, and ``parts`` if there are files in the result.

    The result is under ``content``, that of a failed tool under ``error``. A reference replaces
    each file. ``as_given``: see `harness.stream.generation`.
    """
    content = block.get("content", str, list)
    failed = block.get("is_error", bool)
    is_text = content is None or isinstance(content, str)
    parts = [] if is_text else _blocks(block, _RESULT_BLOCKS, as_given)
    if as_given:
        given = {"response": content or ""} if is_text else {"parts": parts}
        return {**given, **({"isError": True} if failed else {})}
    items: list[Any] = []
    files: list[Payload] = []
    for part in parts:
        if "text" in part:
            items.append({"type": "text", "text": part["text"]})
        else:
            [(place, file)] = part.items()
            name = f"file_{len(files) + 1}"
            files.append({place: {**file, "displayName": name}})
            items.append({"$ref": name})
    result = (content or "") if is_text else items
    response = {"error" if failed else "content": result}
    return {"response": response, **({"parts": files} if files else {})}
