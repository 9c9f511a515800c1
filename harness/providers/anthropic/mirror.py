"""Anthropic's stream in a normal form, to compare what came with what an adapter of the same event
model gives.

The form has the content that the event model `anthropic` carries: pieces are joined, input is
parsed, counts are the last ones. What the event model declares as lost is left out: ids of
messages, tools of the service, citations, further counts, and reasons and errors that are none of
the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from harness.stream.json_codec import Json, decode_json

from .messages import FINISHES

ERRORS: Final = frozenset(
    {
        *("invalid_request_error", "authentication_error", "billing_error", "permission_error"),
        *("not_found_error", "request_too_large", "rate_limit_error", "timeout_error"),
        *("overloaded_error", "api_error"),
    }
)
"""The types of errors of the protocol."""

_CONTENT: Final = {
    "text": {"text": "text"},
    "thinking": {"thinking": "thinking", "signature": "signature"},
    "redacted_thinking": {"data": "data"},
    "tool_use": {"id": "id", "name": "name"},
}
"""The type of a block → its fields."""
_DELTAS: Final = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}
_COUNTS: Final = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)
_ENDS: Final = ("stop_sequence", "stop_details", "container")
_OF_MESSAGE: Final = ("container", "context_management", "diagnostics", "input_transformations")


@dataclass(slots=True)
class _Message:
    """One message so far."""

    blocks: list[tuple[dict[str, Json], list[str]]] = field(default_factory=list)
    """Each block with the pieces of its input."""
    places: dict[Json, int] = field(default_factory=dict)
    """The index of an open block → its number."""
    usage: dict[str, Json] = field(default_factory=dict)
    form: dict[str, Json] = field(default_factory=dict)

    def read(self, event: dict[str, Json]) -> None:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._begin(message)
            case {"type": "message", "content": list(content)}:
                self._begin(event)
                for index, part in enumerate(content):
                    self._start(index, part if isinstance(part, dict) else {})
                    self.places.pop(index, None)
                self._end(event)
            case {"type": "content_block_start", "content_block": dict(block)}:
                self._start(event.get("index"), block)
            case {"type": "content_block_delta", "delta": dict(delta)}:
                self._delta(event.get("index"), delta)
            case {"type": "content_block_stop"}:
                self.places.pop(event.get("index"), None)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._count(event.get("usage"))
                self._note(event)
                self._end(delta)
            case {"error": dict(error)}:
                kind = error.get("type")
                known = kind if kind in ERRORS else None
                self.form["error"] = {"type": known, "message": error.get("message")}

    def _begin(self, message: dict[str, Json]) -> None:
        self.form["model"] = message.get("model")
        self._count(message.get("usage"))
        self._note(message)

    def _note(self, holder: dict[str, Json]) -> None:
        self.form |= {name: holder[name] for name in _OF_MESSAGE if holder.get(name)}

    def _start(self, index: Json, block: dict[str, Json]) -> None:
        names = _CONTENT.get(str(block.get("type")))
        if names is None:
            self.places.pop(index, None)
            return
        kept = {name: block.get(name) or "" for name in names}
        self.places[index] = len(self.blocks)
        given = {"input": block.get("input") or {}} if block["type"] == "tool_use" else {}
        self.blocks.append(({"type": block["type"], **kept, **given}, []))

    def _delta(self, index: Json, delta: dict[str, Json]) -> None:
        if index not in self.places:
            return
        block, pieces = self.blocks[self.places[index]]
        kind = str(delta.get("type"))
        if kind == "input_json_delta" and block["type"] == "tool_use":
            pieces.append(str(delta.get("partial_json")))
        elif (name := _DELTAS.get(kind)) in block:
            block[str(name)] += str(delta.get(name))

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self.usage |= {name: usage[name] for name in _COUNTS if usage.get(name) is not None}

    def _end(self, delta: dict[str, Json]) -> None:
        reason = delta.get("stop_reason")
        self.form["stop_reason"] = reason if reason in FINISHES else None
        self.form |= {name: delta[name] for name in _ENDS if delta.get(name)}

    def whole(self) -> dict[str, Json]:
        """Return the message in its normal form."""
        content = [_finished(block, pieces) for block, pieces in self.blocks]
        content = [block for block in content if not _is_empty(block)]
        called = any(block["type"] == "tool_use" for block in content)
        if called and self.form.get("stop_reason") == "end_turn":
            self.form["stop_reason"] = "tool_use"  # clients run no tool after end_turn
        usage = {name: self.usage.get(name) or 0 for name in _COUNTS}
        return {**self.form, "content": content, "usage": usage}


def _finished(block: dict[str, Json], pieces: list[str]) -> dict[str, Json]:
    if not "".join(pieces).strip():
        return block
    try:
        return {**block, "input": decode_json("".join(pieces).encode("utf-8", "surrogatepass"))}
    except ValueError:
        return {**block, "input": "".join(pieces)}


def _is_empty(block: dict[str, Json]) -> bool:
    return not any(value for name, value in block.items() if name not in ("type", "input"))


def normal_form(messages: Iterable[Json]) -> dict[str, Json]:
    """Return the message that the events of one answer make, or that a whole answer is."""
    message = _Message()
    for event in messages:
        if isinstance(event, dict):
            message.read(event)
    return message.whole()
