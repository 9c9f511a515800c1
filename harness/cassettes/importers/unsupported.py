"""Describes content that no format recognises, and lists the known kinds that are not supported
yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from harness.providers import GENERATE_CONTENT, PROVIDERS, detect_provider, is_decision
from harness.stream.exchange import CassetteError

from .content import Content, parse_json

UNREAD: Final = ("a session of the Live API in another format", "Decisions of the Gemini API")
"""Kinds that are recognised but not supported yet. In a recording with requests, their exchanges
are kept like others.
"""

_LIVE, _DECISIONS = UNREAD

_LIVE_KEYS: Final = frozenset(
    {
        *("setup", "client_content", "realtime_input", "tool_response", "context_update"),
        *("clientContent", "realtimeInput", "toolResponse", "contextUpdate"),
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "goAway"),
        *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal"),
        *("setup_complete", "server_content", "tool_call", "tool_call_cancellation", "go_away"),
        *("session_resumption_update", "voice_activity", "voice_activity_detection_signal"),
    }
)
"""A message of the Live API has one of these, and perhaps counts beside it."""
_BESIDE: Final = frozenset({"usageMetadata", "usage_metadata"})
_LISTS: Final = ("interactions", "messages", "events", "frames", "recordings", "log")
"""The keys of the list of messages in a recording of a WebSocket."""
_HOLDERS: Final = ("data", "body", "message", "payload", "json", "content", "text")
"""The keys of the message in an item of such a list."""
_FIRST: Final = 50
"""The number of messages that are searched."""
_FIRST_DATA: Final = re.compile(r"^data: ?([^\r\n]+)", re.MULTILINE)
_MAGIC: Final = (
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd file; unpack it first"),
    (b"PK\x03\x04", "a zip file; unpack it first"),
    (b"\xff\xfe", "UTF-16 text, such as output of a Windows shell; save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
)


def unread_kind(content: Content) -> str | None:
    """Return the kind of the content in `UNREAD`, by its first messages; None for another kind."""
    if content.data.startswith(tuple(magic for magic, _ in _MAGIC)) or not content.is_text:
        return None
    if any(map(_is_live, _messages(content))):
        return _LIVE
    message = _first_message(content)
    return _DECISIONS if isinstance(message, dict) and is_decision(message) else None


def _messages(content: Content) -> Iterator[Any]:
    """Yield the first messages of a session: lines, the elements of an array, or the items of a
    list in a recording.
    """
    if content.first_character == "[":
        yield from content.first_elements(_FIRST)
        return
    document = content.document
    if document is None and content.first_character == "{":
        for _, line in islice(content.lines, _FIRST):
            with suppress(CassetteError, RecursionError):
                yield parse_json(line)
    elif isinstance(document, dict):
        yield document
        for name in _LISTS:
            items = document.get(name)
            yield from items[:_FIRST] if isinstance(items, list) else ()


def _is_live(item: Any) -> bool:
    """Return whether an item of a session is a message of the Live API, or holds one, also as
    text.
    """
    if not isinstance(item, dict):
        return False
    if item.keys() & _LIVE_KEYS and item.keys() <= _LIVE_KEYS | _BESIDE:
        return True
    for name in _HOLDERS:
        held = item.get(name)
        if isinstance(held, str) and held.lstrip().startswith("{"):
            with suppress(CassetteError, RecursionError):
                held = parse_json(held)
        if isinstance(held, dict) and held.keys() & _LIVE_KEYS:
            return held.keys() <= _LIVE_KEYS | _BESIDE
    return False


def is_known_wire(content: Content) -> bool:
    """Return whether the messages of a body are from a provider that does not use Gemini's
    messages.
    """
    provider = detect_provider("", "", b"", content.data).provider
    known = PROVIDERS.get(provider or "")
    return known is not None and known.wire != GENERATE_CONTENT and not known.program


def _first_message(content: Content) -> Any:
    """Return the document, its first element, the first line, or the first data of SSE text, as
    JSON.
    """
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
    """Return a description of unsupported content, for an error message."""
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
