"""The strict reading of the Interactions API: one step after the other, by their index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from harness.providers.answer_reader import AnswerReader
from harness.providers.interactions.facts import count_interactions
from harness.providers.interactions.messages import REMOVED_SCHEMA
from harness.providers.interactions.normalizer import InteractionsNormalizer
from harness.providers.interactions.order import WEB_SOCKET
from harness.stream.events import Usage
from harness.stream.json_codec import Json

from .view import WireView
from .wire_reader import Framing, Unreadable

_STRING: Final = "is {value}; expected a string"
_OBJECT: Final = "is {value}; expected an object"
_OBJECTS: Final = "is {value}; expected a list of objects"


class Interactions(WireView):
    """The state of one answer."""

    framing: ClassVar[Framing] = Framing(done="[DONE]")
    reader: ClassVar[type[AnswerReader]] = InteractionsNormalizer
    faults: ClassVar[Mapping[str, str]] = {
        "unknown frame": "{value} is neither an event nor an interaction",
        "unknown event": "the event_type is unknown: {value}",
        "event_type": f"event_type {_STRING}",
        REMOVED_SCHEMA: "it has the removed schema: {value}",
        WEB_SOCKET: "only the WebSocket form has it: {value}",
        "interaction": f"interaction {_OBJECT}",
        "interaction.steps": f"steps {_OBJECTS}",
        "index": "index is {value}; expected the number of the step",
        "step.start in a step": "step {value} starts before the step before it stops",
        "step.start again": "step {value} starts again",
        "step.start back": "step {value} starts after a later step",
        **{
            f"{kind} {where} a step": f"{kind} is for step {{value}}, which is not open"
            for kind in ("step.delta", "step.stop")
            for where in ("without", "before")
        },
        "step": f"step {_OBJECT}",
        "step.type": f"step.type {_STRING}",
        "step.content": f"step.content {_OBJECTS}",
        "step.summary": f"step.summary {_OBJECTS}",
        "step.id": f"step.id {_STRING}",
        "step.name": f"step.name {_STRING}",
        "step.arguments": f"step.arguments {_OBJECT}",
        "delta": f"delta {_OBJECT}",
        "delta.type": "the delta is in a step of another type: {value}",
        "delta.content": f"delta.content {_OBJECT}",
        "delta.arguments": f"delta.arguments {_STRING}",
        "content.text": f"content.text {_STRING}",
        "status": f"status {_STRING}",
        "usage": f"usage {_OBJECT}",
        "errors": f"errors {_OBJECTS}",
    }

    def _read(self, message: dict[str, Json]) -> None:
        if self._framed and "event_type" not in message and message.get("error") is None:
            raise Unreadable("it is no event: it has no event_type")
        super()._read(message)

    def _count(self, usage: Usage) -> None:
        self._counts |= count_interactions(usage.raw)
