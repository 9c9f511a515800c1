"""Rebuilds a Response from the events of its stream, piece by piece, without looking at the one
that FINISH carries.

Two things are in no piece, and are taken from FINISH: id, model, provider and warnings; and which
PROVIDER_EVENTs stand for parts of the message, and between which others, since an unknown part
looks like an unknown fact beside the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .errors import SDKError, StreamError, error_of
from .response import Response

Event = Mapping[str, Any]

_MEDIA: Final = ("inlineData", "inline_data", "fileData", "file_data")
"""The keys of parts that are images, sounds or files, in both of the wire's spellings."""
_ASIDE: Final = "aside"


class StreamAccumulator:
    """Feed it every event in order; `response` is then what `Client.complete` returns for the same
    answer.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._content: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._finish: Event | None = None
        self._error: SDKError | None = None
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """One event of the stream."""
        match event["type"]:
            case "TEXT_START" | "REASONING_START":
                self._pieces = []
            case "TEXT_DELTA":
                self._pieces.append(event["delta"])
            case "REASONING_DELTA":
                self._pieces.append(event["reasoning_delta"])
            case "TEXT_END":
                self._content.append(
                    {"kind": "text", "text": "".join(self._pieces), **_signature(event)}
                )
            case "REASONING_END":
                thinking = {"text": "".join(self._pieces), "redacted": False, **_signature(event)}
                self._content.append({"kind": "thinking", "thinking": thinking})
            case "TOOL_CALL_END":
                self._content.append(
                    {"kind": "tool_call", "tool_call": {**event["tool_call"], "type": "function"}}
                )
            case "PROVIDER_EVENT":
                self._content.append(_media(event["raw"]) or {"kind": _ASIDE, "raw": event["raw"]})
            case "FINISH":
                self._finish = event
            case "ERROR":
                self._error = error_of(event)

    @property
    def text(self) -> str:
        """The text so far, of blocks that have ended."""
        return "".join(part["text"] for part in self._content if part["kind"] == "text")

    @property
    def response(self) -> Response:
        """The whole answer. Raises the stream's error if it ended in one, `StreamError` if it has
        not ended.
        """
        if self._error is not None:
            raise self._error
        if self._finish is None:
            raise StreamError("the stream has not ended yet, so there is no response")
        told = self._finish["response"]
        whole = {key: told[key] for key in ("id", "model", "provider")}
        whole["message"] = {
            "role": "assistant",
            "content": self._settled(told["message"]["content"]),
        }
        whole["finish_reason"] = self._finish["finish_reason"]
        if "usage" in self._finish:
            whole["usage"] = self._finish["usage"]
        return Response({**whole, "warnings": told["warnings"]})

    def _settled(self, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The content: our own parts in their order, and between them those of the provider's
        events that FINISH tells for parts.
        """
        own = [part for part in self._content if part["kind"] != _ASIDE]
        asides = [part["raw"] for part in self._content if part["kind"] == _ASIDE]
        content: list[dict[str, Any]] = []
        for part in told:
            if part["kind"] != "provider":
                content += own[:1]
                del own[:1]
            elif part["raw"] in asides:
                asides.remove(part["raw"])
                content.append({"kind": "provider", "raw": part["raw"]})
        return content + own


def _signature(event: Event) -> dict[str, Any]:
    return {"signature": event["signature"]} if "signature" in event else {}


def _media(raw: Any) -> dict[str, Any] | None:
    """The wire's part as the message has it; None if it is no image, sound or file."""
    key = next(
        (key for key in _MEDIA if isinstance(raw, dict) and isinstance(raw.get(key), dict)), None
    )
    if key is None:
        return None
    fields = {_camel(name): value for name, value in raw[key].items() if isinstance(value, str)}
    family = fields.get("mimeType", "").partition("/")[0]
    kind = family if family in ("image", "audio") else "document"
    part = {_camel(name): value for name, value in raw.items()}
    found = {
        "data": fields.get("data"),
        "url": fields.get("fileUri"),
        "media_type": fields.get("mimeType"),
        "signature": part.get("thoughtSignature") or None,
    }
    return {"kind": kind, kind: {name: value for name, value in found.items() if value is not None}}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
