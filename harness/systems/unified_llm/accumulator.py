"""Rebuilds a Response from the events of its stream.

Text, thinking and calls come from their own events. FINISH gives the rest, for which there are no
such events: the parts with media and of the provider, and the fields beside the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .errors import SDKError, StreamError, error_of
from .response import Response

StreamEvent = Mapping[str, Any]

_OWN_EVENTS: Final = ("text", "thinking", "tool_call")
"""The kinds of parts that have events of their own."""


class StreamAccumulator:
    """Takes every event in order; `response` is then equal to that of `Client.complete`."""

    def __init__(self, events: Iterable[StreamEvent] = ()) -> None:
        self._content: list[dict[str, Any]] = []
        self._pieces: list[str] = []
        self._finish: StreamEvent | None = None
        self._error: SDKError | None = None
        for event in events:
            self.add(event)

    def add(self, event: StreamEvent) -> None:
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
        content = self._placed(final["message"]["content"])
        return Response({**final, "message": {**final["message"], "content": content}})

    def _placed(self, final: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the parts of the message: ours in order, and the other parts at their positions in
        FINISH.
        """
        own = list(self._content)
        content: list[dict[str, Any]] = []
        for part in final:
            if part["kind"] not in _OWN_EVENTS:
                content.append(part)
            else:
                content += own[:1]
                del own[:1]
        return content + own


def _marks(event: StreamEvent) -> dict[str, Any]:
    """Return the keys of the end of a block that the part of the message also has."""
    names = ("signature", "refusal", "redacted", "id")
    return {name: event[name] for name in names if name in event}
