"""The pieces of a unified-llm stream: an open block, an open call, provider events and media."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from harness.stream.events import Media
from harness.stream.json_path import Assembly

from ..dialect import Payload


class OpenBlock:
    """A run of pieces of one kind."""

    __slots__ = ("id", "is_usual", "kind", "marks", "pieces", "signatures")

    def __init__(self, kind: str, block_id: str, marks: Mapping[str, Any]) -> None:
        self.kind = kind
        """``text``, ``reasoning``, or ``none`` if no block is open."""
        self.id = block_id
        self.marks = marks
        """The keys that the whole block has."""
        self.is_usual = False
        """Whether the block has text and no marks."""
        self.pieces: list[str] = []
        self.signatures: list[str] = []

    def signature(self) -> dict[str, str | list[str]]:
        """Return the key ``signature``, if the block has a signature; several signatures are a
        list.
        """
        if not self.signatures:
            return {}
        return {"signature": self.signatures[0] if len(self.signatures) == 1 else self.signatures}


NO_MARKS: Final[Mapping[str, Any]] = {}
NO_BLOCK: Final = OpenBlock("none", "", NO_MARKS)


class OpenCall:
    """A call whose arguments are not complete yet. ``streamed``: their pieces were passed on."""

    __slots__ = ("arguments", "id", "name", "signature", "streamed")

    def __init__(self, call_id: str, name: str, signature: str | None) -> None:
        self.id = call_id
        self.name = name
        self.signature = signature
        self.arguments = Assembly()
        self.streamed = False

    def broken_off(self) -> Payload:
        """Return the received part of a call in which the stream ends, without the pieces that were
        passed on.
        """
        so_far = self.arguments.value()
        arguments = "" if self.streamed else json.dumps(so_far, ensure_ascii=False)
        tool_call = {"id": self.id, "name": self.name}
        if self.signature is not None:
            tool_call["signature"] = self.signature
        return {"type": "TOOL_CALL_DELTA", "delta": arguments, "tool_call": tool_call}


def provider_event(raw: Any) -> Payload:
    """Return an object of the wire for which the event model has no field."""
    return {"type": "PROVIDER_EVENT", "raw": raw}


def media_part(media: Media) -> dict[str, Any]:
    """Return media as a part of the message: an image, a sound, or a document."""
    family = media.family or (media.mime_type or "").partition("/")[0]
    kind = family if family in ("image", "audio") else "document"
    fields = {
        "data": media.data,
        "url": media.uri,
        "media_type": media.mime_type,
        "signature": media.signature,
    }
    return {"kind": kind, kind: {key: value for key, value in fields.items() if value is not None}}
