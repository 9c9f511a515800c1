"""The messages of the Live API: their members, and how a session is known by them.

https://ai.google.dev/api/live
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Final, NamedTuple

from harness.stream.framing import FramingError
from harness.stream.json_codec import Json, decode_object
from harness.stream.websocket import MessageFramer, read_messages

URL_PATH: Final = "/ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"
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
CONTINUES: Final = "IN_PROGRESS"
"""The status beside a ``turnComplete`` after which the exchange goes on."""
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


def setup_of(body: bytes) -> dict[str, Json]:
    """Return the setup in the first message of a log; empty if that is another message."""
    first = next(iter(read_messages(body[: body.find(b"\n>", 1) + 1 or None], cut=True)), None)
    message = decode_object(first.data) if first and first.side == "client" else None
    setup = (message or {}).get("setup")
    return setup if isinstance(setup, dict) else {}


def canonical(message: dict[str, Json]) -> dict[str, Json]:
    """Return a message of the client in the form in which messages with the same meaning are
    equal: outer names in camel case.
    """
    return {camel(name): value for name, value in message.items()}


def asks(message: dict[str, Json]) -> bool:
    """Return whether a message of the client is a turn that is complete, so that it is answered."""
    content = canonical(message).get("clientContent")
    return isinstance(content, dict) and canonical(content).get("turnComplete") is True


def ends_turn(message: Mapping[str, Json]) -> bool:
    """Return whether a message of the server ends a turn, and the exchange does not go on."""
    content = message.get("serverContent")
    fields = {**message, **(content if isinstance(content, dict) else {})}
    return fields.get("turnComplete") is True and fields.get("interactionStatus") != CONTINUES


class Blob(NamedTuple):
    """A piece of audio or video."""

    mime_type: str
    data: bytes


def audio_bytes(message: Mapping[str, Json]) -> int | None:
    """Return the number of bytes of a message with audio or video of the client; None for another
    message.
    """
    blobs = blobs_of(message)
    return sum(map(_size, blobs)) if blobs else None


def media_of(message: Mapping[str, Json]) -> list[Blob]:
    """Return the audio and video of a message of the client. Where a recorder has kept only the
    number of bytes, they are zeros. Python's client writes base64 in the alphabet of URLs.
    """
    return [
        Blob(_text(blob.get("mimeType") or blob.get("mime_type")), _data(blob))
        for blob in blobs_of(message)
    ]


def blobs_of(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the objects with audio or video in a message of the client."""
    sent = next((value for name, value in message.items() if camel(name) == "realtimeInput"), None)
    if not isinstance(sent, dict):
        return []
    media = [value for name, value in sent.items() if camel(name) in ("audio", "video")]
    for name, value in sent.items():
        if camel(name) == "mediaChunks" and isinstance(value, list):
            media += value
    return [blob for blob in media if isinstance(blob, dict)]


def _size(blob: dict[str, Json]) -> int:
    if type(size := blob.get("bytes")) is int:
        return size
    return len(_text(blob.get("data")).rstrip("=")) * 3 // 4


def _data(blob: dict[str, Json]) -> bytes:
    data = _text(blob.get("data")).translate(_STANDARD).rstrip("=")
    try:
        return b64decode(data + "=" * (-len(data) % 4))
    except binascii.Error:
        return bytes(_size(blob))


_STANDARD: Final = str.maketrans("-_", "+/")
"""From the alphabet of URLs to the usual one."""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def called(message: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the id and the name of each call in a message of the server; "" for none."""
    return _named(message.get("toolCall"), "functionCalls")


def results_in(message: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the id and the name of each result in a message of the client; "" for none."""
    sent = next((value for name, value in message.items() if camel(name) == "toolResponse"), None)
    return _named(sent, "functionResponses")


def _named(value: Json, name: str) -> list[tuple[str, str]]:
    listed = value.get(name) if isinstance(value, dict) else None
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [(_text(item.get("id")), _text(item.get("name"))) for item in items]


def cancelled(message: Mapping[str, Json]) -> list[str]:
    """Return the ids of the calls that a message of the server cancels."""
    value = message.get("toolCallCancellation")
    ids = value.get("ids") if isinstance(value, dict) else None
    return [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []
