"""The vocabulary of the Interactions API: its paths, its events, and the recognition of its bodies.

Sources: https://ai.google.dev/gemini-api/docs/interactions and, for types, google-genai.
"""

from __future__ import annotations

import re
from typing import Final

from harness.stream.events import FinishClass
from harness.stream.json_codec import Json

from ..provider import FirstMessages, Identity

_BASE: Final = r"/v[0-9][^/]*(?:/projects/[^/]+/locations/[^/]+)?/interactions"
PATHS: Final = re.compile(rf"{_BASE}(?:/|$)")
"""Every path of the API, of the Gemini API and of Vertex AI."""
CREATE: Final = re.compile(rf"{_BASE}(?:/[^/]+/cancel)?/?$")
"""The paths of POST requests that are answered with an interaction."""
STORED: Final = re.compile(rf"{_BASE}/[^/]+$")
"""The paths of GET requests that are answered with an interaction, or with the rest of its stream.
"""

FINISHES: Final[dict[str, FinishClass]] = {
    "completed": "stop",
    "requires_action": "stop",
    "incomplete": "length",
    "budget_exceeded": "length",
    "failed": "failed",
    "cancelled": "other",
    "requires_continuation": "continuation",
    "reconnection_required": "continuation",
}
"""The statuses of an answer that has ended, and the event that ends a connection before that; an
unknown one is ``other``.
"""
WAITING: Final = frozenset({"in_progress", "queued", "idle"})
"""The statuses of an answer that has not ended."""
STOPS: Final = {
    "interaction.cancelled": "cancelled",
    "interaction.canceled": "cancelled",
    "reconnection_required": "reconnection_required",
}
"""The events of the WebSocket form that end a connection before the answer is complete, and the
status that each of them reports.
"""

REMOVED: Final = frozenset(
    {
        "interaction.start",
        "interaction.complete",
        "content.start",
        "content.delta",
        "content.stop",
    }
)
"""The events of the schema that Google removed on 8 June 2026."""
REMOVED_SCHEMA: Final = "schema removed on 2026-06-08"

_EVENTS: Final = re.compile(r"(?:interaction|step)\.[a-z_]+")


def is_removed(message: dict[str, Json]) -> bool:
    """Return whether a message has the schema from before 8 June 2026: other events, and
    ``outputs`` instead of ``steps``.
    """
    kind = message.get("event_type")
    return (type(kind) is str and kind in REMOVED) or type(message.get("outputs")) is list


def is_batch(message: dict[str, Json]) -> bool:
    """Return whether a message of the WebSocket form holds several events."""
    return "event_type" not in message and type(message.get("events")) is list


def is_interaction(message: dict[str, Json]) -> bool:
    """Return whether a message without an event type is an interaction: its ``object`` is
    ``interaction`` or, if that is missing, it has steps or a status of the API. Lines of programs
    and objects of other APIs have a status too, with another object or a type.
    """
    kind, status = message.get("object"), message.get("status")
    if type(kind) is str or "type" in message:
        return kind == "interaction"
    return "steps" in message or (type(status) is str and (status in FINISHES or status in WAITING))


def detect(first: FirstMessages) -> Identity | None:
    """Recognize a body by any of its messages, so that also the rest of a stream is recognized."""
    if any(map(_is_own, first.messages)):
        return Identity("interactions", generates=True, streamed=first.streamed)
    return None


def _is_own(message: dict[str, Json]) -> bool:
    kind = message.get("event_type")
    if type(kind) is str:
        return kind in REMOVED or kind in STOPS or _EVENTS.fullmatch(kind) is not None
    if is_batch(message):
        return any(type(event) is dict and _is_own(event) for event in message["events"])
    return message.get("object") == "interaction"
