"""Describes content that no format recognises, and lists the known kinds that are not supported
yet.
"""

from __future__ import annotations

import re
from typing import Any, Final

from harness.providers import GENERATE_CONTENT, PROVIDERS, detect_provider
from harness.stream.exchange import CassetteError

from .content import Content, parse_json

UNREAD: Final = (
    "the Live API",
    "Anthropic Messages",
)
"""Kinds that are recognised but not supported yet. In a recording with requests, their exchanges
are kept like others.
"""

_LIVE, _ANTHROPIC = UNREAD

_LIVE_KEYS: Final = frozenset(
    {
        "setup",
        "setupComplete",
        "serverContent",
        "clientContent",
        "realtimeInput",
        "toolCallCancellation",
    }
)
_LIVE_LOG: Final = re.compile(rb"[<>][0-9]+ \{")
"""The beginning of a WebSocket log of Google's SDKs for JavaScript and .NET."""
_FIRST_DATA: Final = re.compile(r"^data: ?([^\r\n]+)", re.MULTILINE)
_MAGIC: Final = (
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it first"),
    (b"PK\x03\x04", "a zip file; unpack it first"),
    (b"\xff\xfe", "UTF-16 text, such as output of a Windows shell; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


def unread_kind(content: Content) -> str | None:
    """The kind of the content in `UNREAD`, by its first message; None for another kind."""
    if content.data.startswith(tuple(magic for magic, _ in _MAGIC)) or not content.is_text:
        return None
    if _LIVE_LOG.match(content.data):
        return _LIVE
    match _first_message(content):
        case {"type": "message_start", "message": _} | {
            "type": "message",
            "role": "assistant",
            "content": [*_],
        }:
            return _ANTHROPIC
        case {"request": _} | {"interactions": _}:
            return None
        case dict(message) if _LIVE_KEYS & message.keys():
            return _LIVE
    return None


def is_known_wire(content: Content) -> bool:
    """Whether the messages of a body are from a provider that does not use Gemini's messages."""
    provider = detect_provider("", "", b"", content.data).provider
    known = PROVIDERS.get(provider or "")
    return known is not None and known.wire != GENERATE_CONTENT and not known.program


def _first_message(content: Content) -> Any:
    """The document, its first element, the first line, or the first data of SSE text, as JSON."""
    if content.first_character == "[":
        return content.first_elements(1)[0] if content.is_array else None
    if content.first_character == "{":
        return content.first_line if content.document is None else content.document
    match = (
        _FIRST_DATA.search(content.text or "")
        if content.first_character in ("d", "e", "i", "r", ":")
        else None
    )
    try:
        return parse_json(match[1]) if match else None
    except (CassetteError, RecursionError):  # an event of a stream may contain anything
        return None


def describe(content: Content) -> str:
    """A description of unsupported content, for an error message."""
    if kind := unread_kind(content):
        return f"this looks like {kind}, which is not supported yet"
    for magic, words in _MAGIC:
        if content.data.startswith(magic):
            return f"this looks like {words}"
    if content.text is None or "\x00" in content.text:
        return f"not text ({content.problem or 'it contains NUL'})"
    match content.document:
        case dict(document):
            return (
                f"a JSON or YAML object of an unknown kind, with {_names(document)}"
                if document
                else "an empty JSON object"
            )
        case [dict(first), *_]:
            return f"a JSON array of an unknown kind; its first element has {_names(first)}"
        case list(document):
            return "a JSON array of an unknown kind" if document else "an empty JSON array"
    if content.first_character in ("{", "["):
        return content.problem or "JSON of an unknown kind"
    return f"text of an unknown kind, which begins with {content.text.strip()[:40]!r}"


def _names(document: dict[str, Any]) -> str:
    return ", ".join(repr(str(name)[:40]) for name in list(document)[:8])
