"""Rebuilds a Response from the events of its stream, without the Response in FINISH.

Two things come from FINISH, because no other event has them: id, model, provider and warnings; and
the positions of provider parts in the message, because an unknown part looks like an unknown fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..blocks import media_part
from .errors import SDKError, StreamError, error_of
from .response import Response

Event = Mapping[str, Any]

_MEDIA: Final = ("inlineData", "inline_data", "fileData", "file_data")
"""The keys of media parts, in both spellings of the wire."""
_STEP_MEDIA: Final = frozenset({"image", "audio", "video", "document"})
"""The types of media among the contents of the Interactions API."""
_UNPLACED: Final = "unplaced"
"""The kind of a PROVIDER_EVENT that may or may not be a part of the message."""


class StreamAccumulator:
    """Takes every event in order; `response` is then equal to that of `Client.complete`."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._content: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._finish: Event | None = None
        self._error: SDKError | None = None
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take the next event."""
        match event["type"]:
            case "TEXT_START" | "REASONING_START":
                self._pieces = []
            case "TEXT_DELTA":
                self._pieces.append(event["delta"])
            case "REASONING_DELTA":
                self._pieces.append(event["reasoning_delta"])
            case "TEXT_END":
                self._content.append(
                    {"kind": "text", "text": "".join(self._pieces), **_marks(event)}
                )
            case "REASONING_END":
                thinking = {"text": "".join(self._pieces), "redacted": False, **_marks(event)}
                self._content.append({"kind": "thinking", "thinking": thinking})
            case "TOOL_CALL_END":
                self._content.append(
                    {"kind": "tool_call", "tool_call": {**event["tool_call"], "type": "function"}}
                )
            case "PROVIDER_EVENT":
                self._content.append(
                    _media(event["raw"]) or {"kind": _UNPLACED, "raw": event["raw"]}
                )
            case "FINISH":
                self._finish = event
            case "ERROR":
                self._error = error_of(event)

    @property
    def text(self) -> str:
        """The text of all blocks that have ended."""
        return "".join(part["text"] for part in self._content if part["kind"] == "text")

    @property
    def response(self) -> Response:
        """The whole answer; raises the error of the stream, or `StreamError` before its end."""
        if self._error is not None:
            raise self._error
        if self._finish is None:
            raise StreamError("the stream has not ended yet, so there is no response")
        final = self._finish["response"]
        whole = {key: final[key] for key in ("id", "model", "provider")}
        whole["message"] = {
            "role": "assistant",
            "content": self._placed(final["message"]["content"]),
        }
        whole["finish_reason"] = self._finish["finish_reason"]
        if "usage" in self._finish:
            whole["usage"] = self._finish["usage"]
        return Response({**whole, "warnings": final["warnings"]})

    def _placed(self, final: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The parts of the message: ours in order, and the provider parts at their positions in
        FINISH.
        """
        own = [part for part in self._content if part["kind"] != _UNPLACED]
        unplaced = [part["raw"] for part in self._content if part["kind"] == _UNPLACED]
        content: list[dict[str, Any]] = []
        for part in final:
            if part["kind"] != "provider":
                content += own[:1]
                del own[:1]
            elif part["raw"] in unplaced:
                unplaced.remove(part["raw"])
                content.append({"kind": "provider", "raw": part["raw"]})
        return content + own


def _marks(event: Event) -> dict[str, Any]:
    """The keys of the end of a block that the part of the message also has."""
    names = ("signature", "refusal", "redacted", "id")
    return {name: event[name] for name in names if name in event}


def _media(raw: Any) -> dict[str, Any] | None:
    """The part of the message for a media part of the wire; None for any other."""
    if not isinstance(raw, dict):
        return None
    key = next((key for key in _MEDIA if isinstance(raw.get(key), dict)), None)
    if key is None and raw.get("type") not in _STEP_MEDIA:
        return None
    held = raw if key is None else raw[key]
    fields = {_camel(name): value for name, value in held.items() if isinstance(value, str)}
    url = fields.get("fileUri", fields.get("uri"))
    signature = raw.get("thoughtSignature") or raw.get("thought_signature") or None
    return media_part(fields.get("data"), url, fields.get("mimeType"), signature)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
