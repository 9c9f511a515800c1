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


def translate_image(block: Fields) -> Payload:
    """One part; raises `TranslationError` for a source that Gemini can't reach (a file of the
    Messages API).
    """
    source = _source(block, _SOURCES)
    kind = source.need("type", str)
    part = _from_url(source) if kind == "url" else _from_base64(source, "image")
    source.leave_rest()
    return part


def translate_document(block: Fields) -> list[Payload]:
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
            parts = _inner_parts(source)
        case _:
            parts = [_from_base64(source, "document")]
    source.leave_rest()
    return [{"text": "\n".join(about)}, *parts] if about else parts


def _source(block: Fields, known: tuple[str, ...]) -> Fields:
    block.need("source", dict)
    source = block.inner("source")
    assert source is not None  # `need` has raised otherwise
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


def _inner_parts(source: Fields) -> list[Payload]:
    """The parts of a document that is made of blocks."""
    content = source.need("content", str, list)
    if isinstance(content, str):
        return [{"text": content}]
    parts: list[Payload] = []
    for block in source.items("content"):
        kind = block.choose("type", _CONTENT_BLOCKS)
        parts.append(
            {"text": block.need("text", str)} if kind == "text" else translate_image(block)
        )
        block.leave_rest()
    return parts


def named_kinds(block: Fields, parts: list[Payload]) -> list[Payload]:
    """The parts of an image or a document, each with media with its ``kind``; those of a document
    that is made of blocks are images.
    """
    kind = block.need("type", str)
    if block.need("source", dict).get("type") == "content":
        kind = "image"
    return [part if "text" in part else {**part, "kind": kind} for part in parts]


def translate_result(block: Fields, as_given: bool = False) -> Payload:
    """``response`` of a ``functionResponse``, and ``parts`` if there are files in the result.

    The result stands under ``content``, that of a failed tool under ``error``. A reference stands
    at the place of each file. ``as_given``: see `harness.stream.generation`.
    """
    content = block.get("content", str, list)
    failed = block.get("is_error", bool)
    if as_given:
        return {**_given_result(block, content), **({"isError": True} if failed else {})}
    key = "error" if failed else "content"
    if content is None or isinstance(content, str):
        return {"response": {key: content or ""}}
    items: list[Any] = []
    files: list[Payload] = []
    for item in block.items("content"):
        kind = item.choose("type", _RESULT_BLOCKS)
        parts = [{"text": item.need("text", str)}] if kind == "text" else _result_parts(kind, item)
        item.leave_rest()
        for part in parts:
            if "text" in part:
                items.append({"type": "text", "text": part["text"]})
            else:
                [(place, file)] = part.items()
                name = f"file_{len(files) + 1}"
                files.append({place: {**file, "displayName": name}})
                items.append({"$ref": name})
    return {"response": {key: items}, **({"parts": files} if files else {})}


def _given_result(block: Fields, content: str | list[Any] | None) -> Payload:
    if content is None or isinstance(content, str):
        return {"response": content or ""}
    parts: list[Payload] = []
    for item in block.items("content"):
        kind = item.choose("type", _RESULT_BLOCKS)
        parts += (
            [{"text": item.need("text", str)}]
            if kind == "text"
            else named_kinds(item, _result_parts(kind, item))
        )
        item.leave_rest()
    return {"parts": parts}


def _result_parts(kind: str, item: Fields) -> list[Payload]:
    return [translate_image(item)] if kind == "image" else translate_document(item)
