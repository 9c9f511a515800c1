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


def canonical(message: dict[str, Json]) -> dict[str, Json]:
    """Return a message of the client in the form in which messages with the same meaning are
    equal: outer names in camel case.
    """
    return {camel(name): value for name, value in message.items()}


def audio_bytes(message: Mapping[str, Json]) -> int | None:
    """Return the number of bytes of a message with audio or video of the client; None for another
    message. Python's client writes base64 in the alphabet of URLs.
    """
    sent = next((value for name, value in message.items() if camel(name) == "realtimeInput"), None)
    if not isinstance(sent, dict):
        return None
    media = [value for name, value in sent.items() if camel(name) in ("audio", "video")]
    for name, value in sent.items():
        if camel(name) == "mediaChunks" and isinstance(value, list):
            media += value
    blobs = [blob for blob in media if isinstance(blob, dict)]
    return sum(map(_size, blobs)) if blobs else None


def _size(blob: dict[str, Json]) -> int:
    if type(size := blob.get("bytes")) is int:
        return size
    data = blob.get("data")
    return len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else 0
