"""Strict decoders for the usual message: a fast way into the reader.

Nearly every message of a stream has one candidate with parts, counts, and the same names as the
message before. These types accept that form alone; any other field, spelling or type is refused and
left to the reader of `GeminiNormalizer`, which gives the same events for the usual message too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, ValidationError, convert

from harness.stream.json_codec import Json


class Content(Struct, forbid_unknown_fields=True):
    """The content of the answer."""

    parts: list[Any]
    role: Literal["model"] = "model"


class Candidate(Struct, forbid_unknown_fields=True):
    """The answer."""

    content: Content
    finishReason: str | None = None
    index: Literal[0] = 0


class Message(Struct, forbid_unknown_fields=True):
    """A GenerateContentResponse."""

    candidates: Annotated[list[Candidate], Meta(max_length=1)] = []
    usageMetadata: dict[str, Any] = {}
    modelVersion: str | None = None
    responseId: str | None = None
    createTime: str | None = None


class Envelope(Struct, forbid_unknown_fields=True):
    """A message in Code Assist's envelope."""

    response: Message
    traceId: str | None = None
    metadata: dict[str, Any] | None = None


def read_usual(message: dict[str, Json]) -> tuple[Message | None, tuple[Json, ...]]:
    """The usual message, None for any other, and its names: ``modelVersion``, ``responseId``,
    ``createTime``, ``traceId``, ``metadata``.
    """
    try:
        if "response" in message:
            envelope = convert(message, Envelope)
            usual, around = envelope.response, (envelope.traceId, envelope.metadata)
        else:
            usual, around = convert(message, Message), (None, None)
    except ValidationError:
        return None, ()
    return usual, (usual.modelVersion, usual.responseId, usual.createTime, *around)
