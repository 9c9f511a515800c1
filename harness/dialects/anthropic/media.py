"""Translates texts, images, documents and results of tools in Messages into parts of a prompt.

Sources: https://docs.anthropic.com/en/docs/build-with-claude/vision and
https://docs.anthropic.com/en/docs/build-with-claude/pdf-support.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from harness.stream.fields import Fields
from harness.stream.prompt import Call, Media, Result, Text, media_kind

EMPTY: Final = "[{} omitted: empty base64 data]"
"""Replaces a part without data, which the API refuses."""

_SOURCES: Final = ("base64", "url")
_DOCUMENT_SOURCES: Final = (*_SOURCES, "text", "content")
_RESULT_BLOCKS: Final = ("text", "image", "document")
_CONTENT_BLOCKS: Final = ("text", "image")


def translate_block(block: Fields) -> list[Text | Media]:
    """Return the parts of a text, an image or a document. The cache mark of a block is at its last
    part. Raises `TranslationError` for a source that Gemini can't reach (a file of the Messages
    API).
    """
    match block.need("type", str):
        case "text":
            parts: list[Text | Media] = [Text(block.need("text", str), place=block.place)]
        case "image":
            parts = [_image(block)]
        case _:
            parts = _document(block)
    if mark := block.get("cache_control", dict):
        parts[-1:] = [replace(part, cache=mark) for part in parts[-1:]]
    return parts


def _image(block: Fields) -> Text | Media:
    source = _source(block, _SOURCES)
    kind = source.need("type", str)
    part = _from_url(source, "image") if kind == "url" else _from_base64(source, "image")
    source.leave_rest()
    return replace(part, place=block.place)


def _document(block: Fields) -> list[Text | Media]:
    """Return the parts of a document: its title and context, then the document."""
    about = [text for key in ("title", "context") if (text := block.get(key, str))]
    source = _source(block, _DOCUMENT_SOURCES)
    parts: list[Text | Media]
    match source.need("type", str):
        case "url":
            parts = [_from_url(source, "document")]
        case "text":
            source.get("media_type", str)
            parts = [Text(source.need("data", str))]
        case "content":
            content = source.need("content", str, list)
            is_text = isinstance(content, str)
            parts = [Text(content)] if is_text else _blocks(source, _CONTENT_BLOCKS)
        case _:
            parts = [_from_base64(source, "document")]
    source.leave_rest()
    parts = [part if part.place else replace(part, place=block.place) for part in parts]
    return [Text("\n".join(about), place=block.place), *parts] if about else parts


def _blocks(holder: Fields, known: tuple[str, ...]) -> list[Text | Media]:
    """Return the parts of the blocks in ``content``."""
    parts: list[Text | Media] = []
    for block in holder.items("content"):
        block.choose("type", known)
        parts += translate_block(block)
        block.leave_rest()
    return parts


def _source(block: Fields, known: tuple[str, ...]) -> Fields:
    source = Fields(block.need("source", dict), block.at("source"), block.warnings, block.unread)
    source.choose("type", known)
    return source


def _from_url(source: Fields, kind: str) -> Media:
    return Media(media_kind(kind, None), url=source.need("url", str))


def _from_base64(source: Fields, kind: str) -> Text | Media:
    data, media_type = source.need("data", str), source.need("media_type", str)
    if data:
        return Media(media_kind(kind, media_type), media_type, data)
    source.leave("data", "it is empty")
    return Text(EMPTY.format(kind))


def translate_result(block: Fields, call: Call) -> Result:
    """Return the result of a call: a text, or a list of texts, images and documents."""
    content = block.get("content", str, list)
    is_text = content is None or isinstance(content, str)
    return Result(
        call.id,
        call.name,
        (content or "") if is_text else None,
        None if is_text else tuple(_blocks(block, _RESULT_BLOCKS)),
        call.wire_id,
        bool(block.get("is_error", bool)),
        "content",
        place=block.place,
        cache=block.get("cache_control", dict),
    )
