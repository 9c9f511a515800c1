"""The messages of the Live API: their members, and how a session is known by them.

https://ai.google.dev/api/live
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.stream.framing import FramingError
from harness.stream.json_codec import Json
from harness.stream.websocket import MessageFramer

SENT: Final = frozenset(
    {"setup", "clientContent", "realtimeInput", "toolResponse", "contextUpdate"}
)
"""The members of which a message of the client has one, in camel case."""
RECEIVED: Final = frozenset(
    {
        *("setupComplete", "serverContent", "toolCall", "toolCallCancellation", "goAway"),
        *("sessionResumptionUpdate", "voiceActivity", "voiceActivityDetectionSignal"),
        *("usageMetadata", "interactionStatus"),
    }
)
"""The members of a message of the server; it may have several."""
_FIRST: Final = 1 << 16
"""The number of bytes that are searched for a message."""


def camel(name: str) -> str:
    """Return a member of a message in camel case; Python's client sends ``realtime_input``."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def sent_member(message: Mapping[str, Json]) -> str | None:
    """Return the member of a message of the client, in camel case; None for another message."""
    names = [camel(name) for name in message]
    return names[0] if len(names) == 1 and names[0] in SENT else None


def is_session(body: bytes) -> bool:
    """Return whether the first messages of a log are those of a session of the Live API. The
    client's ``setup`` is first; a log that begins later is known by the server's messages.
    """
    framer = MessageFramer()
    try:
        frames = framer.feed(body[:_FIRST])
        frames += framer.close() if len(body) <= _FIRST else []
    except FramingError:
        return False
    for frame in frames:
        match frame.json:
            case {"from": "client", "message": dict(message)} if sent_member(message):
                return True
            case {"from": "server", "message": dict(message)} if message:
                return message.keys() <= RECEIVED
    return body[:_FIRST].startswith((b'> {"setup":', b'> {"setup" :'))
