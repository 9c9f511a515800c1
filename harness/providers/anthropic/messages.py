"""The vocabulary of Anthropic's Messages API: its paths, its events and stop reasons, and the
recognition of its bodies.

Sources: https://platform.claude.com/docs/en/build-with-claude/streaming,
https://platform.claude.com/docs/en/api/errors and, for types, the client `anthropic`.
"""

from __future__ import annotations

import re
from typing import Final

from harness.stream.events import FinishClass
from harness.stream.json_codec import Json

from ..provider import FirstMessages, Identity

NAME: Final = "anthropic"

CREATE: Final = re.compile(
    r"/v1/messages/?$"
    r"|/publishers/anthropic/models/(?!count-tokens:)(?P<model>[^/:]+):(?P<method>rawPredict|streamRawPredict)$"
)
"""The paths of requests that generate, of Anthropic and of Claude on Vertex AI."""
PATHS: Final = re.compile(r"/v1/messages(?:/|$)")
"""The paths that only this API has."""

FINISHES: Final[dict[str, FinishClass]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "pause_turn": "continuation",
    "compaction": "continuation",
}
"""The class of each stop reason; an unknown one is ``other``."""

EVENTS: Final = frozenset(
    {
        *("message_start", "content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    }
)
"""The types of the events of a stream, except ``ping`` and ``error``."""


def detect(first: FirstMessages) -> Identity | None:
    """Recognize a body by any of its messages, so that also the rest of a stream is recognized.
    The body of an error is recognized if no request was recorded.
    """
    if any(map(is_own, first.messages)) or (
        not first.has_request and any(map(is_error, first.messages))
    ):
        return Identity(NAME, generates=True, streamed=first.streamed)
    return None


def is_own(message: dict[str, Json]) -> bool:
    """Return whether a message is a whole answer or an event of a stream. Other programs write
    lines with the same types, but without the fields.
    """
    match message:
        case {"type": "message_start", "message": {}}:
            return True
        case {"type": "message", "role": "assistant", "content": [*_]}:
            return True
        case {"type": "content_block_start", "index": int(), "content_block": {}}:
            return True
        case {"type": "content_block_delta", "index": int(), "delta": {}}:
            return True
        case {"type": "message_delta", "delta": {"stop_reason": _}}:
            return True
    return False


def is_error(message: dict[str, Json]) -> bool:
    """Return whether a message is the body of an error."""
    match message:
        case {"type": "error", "error": {"type": str(), "message": _}}:
            return True
    return False
