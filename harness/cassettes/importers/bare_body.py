"""Reads bare response bodies: SSE text, a JSON array, one JSON response, or one JSON message per
line.

A file is one exchange without a request; its bytes are one read. The status is 200, or the code of
the error if the body is a single error.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from harness.stream.exchange import Cassette, CassetteError

from .build import build_cassette, build_exchange
from .content import Content, Format, parse_json
from .unsupported import is_known_wire, unread_kind

# WHATWG: a byte order mark may begin the stream, and a line that begins with a colon is a comment.
_SSE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")
_DATA: Final = re.compile(rb"(?:\A(?:\xef\xbb\xbf)?|[\r\n])data:")

_GENERATED: Final = frozenset(
    {
        "candidates", "promptFeedback", "prompt_feedback", "usageMetadata", "usage_metadata",
        "modelVersion", "model_version", "responseId", "response_id", "error",
    }
)  # fmt: skip
"""A response that generates has at least one of these."""

_OTHER_WIRES: Final = frozenset(
    {"event_type", "events", "object", "choices", "interaction", "type"}
)
"""A message of a wire that does not use Gemini's messages has one of these."""

_OTHER_REPLIES: Final = frozenset(
    {"embedding", "embeddings", "predictions", "totalTokens", "total_tokens"}
)
"""Responses of other methods have one of these; they are kept although they do not generate."""


def _is_reply(value: Any) -> bool:
    match value:
        case {"response": {**inner}} if _GENERATED & inner.keys():
            return True
        case dict():
            return bool((_GENERATED | _OTHER_REPLIES) & value.keys())
    return False


def _is_of_other_wire(content: Content, first: Any) -> bool:
    return isinstance(first, dict) and not _OTHER_WIRES.isdisjoint(first) and is_known_wire(content)


def _is_sse(content: Content) -> bool:
    return (
        bool(_SSE.match(content.data) and _DATA.search(content.data))
        and unread_kind(content) is None
    )


def _is_array(content: Content) -> bool:
    first = content.first_elements(1)
    return (
        bool(first)
        and (content.is_array_of(_is_reply) or _is_of_other_wire(content, first[0]))
        and content.is_array
        and unread_kind(content) is None
    )


def _is_single(content: Content) -> bool:
    return (
        _is_reply(content.mapping) or _is_of_other_wire(content, content.mapping)
    ) and unread_kind(content) is None


def _is_lines(content: Content) -> bool:
    return (
        (_is_reply(content.first_line) or _is_of_other_wire(content, content.first_line))
        and content.document is None
        and unread_kind(content) is None
    )


def _read_events(content: Content) -> Cassette:
    return _cassette(content, 200)


def _read_body(content: Content) -> Cassette:
    return _cassette(content, _status(content))


def _cassette(content: Content, status: int) -> Cassette:
    exchange = build_exchange(None, status, {}, content.data, end="unknown")
    return build_cassette([exchange], note="a bare body")


def body_of(content: Content, provider: str) -> Cassette:
    """Return the body as an answer of a provider that the caller names."""
    (exchange,) = _cassette(content, _status(content)).exchanges
    exchange = replace(exchange, provider=provider, generates=True, streamed=not content.mapping)
    return build_cassette([exchange], note="a bare body")


def _read_lines(content: Content) -> Cassette:
    for number, line in content.lines:
        try:
            parse_json(line)
        except CassetteError as error:
            raise CassetteError(f"line {number} of the responses: {error}") from None
    return _read_body(content)


def _status(content: Content) -> int:
    """Return the status of the response: the code of a single error, else 200."""
    match content.first_elements(2) or content.document:
        case {"error": {"code": int(code)}} | [{"error": {"code": int(code)}}] if 400 <= code < 600:
            return code
    return 200


BARE_SSE: Final = Format("sse", "bare SSE text", _is_sse, _read_events)
BARE_ARRAY: Final = Format("json-array", "bare JSON array of responses", _is_array, _read_body)
BARE_JSON: Final = Format("json", "bare JSON response", _is_single, _read_body)
BARE_LINES: Final = Format("json-lines", "JSON lines of responses", _is_lines, _read_lines)
