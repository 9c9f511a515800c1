"""The strict reading of Gemini's messages: the spelling and the types of the documented wire, as
the client `google-genai` reads it. The judge then reads the facts of all messages together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from harness.facts import Fact, Raw
from harness.providers.answer_reader import AnswerReader
from harness.providers.gemini.fields import SNAKE
from harness.providers.gemini.function_calls import TEXT
from harness.providers.gemini.normalizer import GeminiNormalizer
from harness.stream.events import Error, Event, Usage
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .view import WireView, left_over
from .wire_reader import Framing, Unreadable

_KNOWN: Final = ("candidates", "promptFeedback", "usageMetadata", "error")
"""The fields of a message, at least one of which it must have."""
_PROPER: Final = ("modelVersion", "responseId", "createTime", "sdkHttpResponse")
_FREE: Final = ("args", "response", "error")
"""Objects whose fields are named by a tool or a server."""
_TYPES: Final = {
    "a number": "count, candidate field index",
    "a string": (
        "finishReason, blockReason, candidate field finishReason, candidate field finishMessage,"
        " promptFeedback field blockReason, part field text, part field thoughtSignature,"
        " call field id"
    ),
    "a boolean": "part field thought",
    "an object": (
        "field error, field promptFeedback, field usageMetadata, candidate,"
        f" candidate field content, part, functionCall, functionCall.args, {TEXT}, call piece"
    ),
    "a list of objects": "field candidates, content field parts, call field partialArgs",
}
"""A type → the oddities of values of another type."""


class Gemini(WireView):
    """Checks each message."""

    framing: ClassVar[Framing] = Framing(data_only=True, closes_last=True)
    reader: ClassVar[type[AnswerReader]] = GeminiNormalizer
    faults: ClassVar[Mapping[str, str]] = {
        SNAKE: "the field {value} is in snake_case; the wire has camelCase",
        **{
            where: f"{where} is {{value}}; expected {kind}"
            for kind, places in _TYPES.items()
            for where in places.split(", ")
        },
    }

    def _read(self, message: dict[str, Json]) -> None:
        if not any(name in message for name in (*_KNOWN, *_PROPER)):
            raise Unreadable(
                f"it has none of the fields {', '.join(_KNOWN)}: {short_json(message)}"
            )
        super()._read(message)
        self._add(Raw(message))

    def _facts_of(self, place: int, events: list[Event]) -> list[Fact]:
        return []

    def _oddities(self, place: int, events: list[Event]) -> list[tuple[str, Json]]:
        odd = super()._oddities(place, events)
        odd += [(where, value) for where, value in left_over(events) if not _is_usual(where, value)]
        for event in events:
            raw = getattr(event, "raw", None)
            odd += [(SNAKE, name) for name in _snake_names(raw)]
            if isinstance(event, Usage):
                odd += [
                    ("count", count)
                    for name, count in event.raw.items()
                    if name.endswith("TokenCount") and type(count) not in (int, type(None))
                ]
            elif isinstance(event, Error) and isinstance(event.raw, dict):
                error = event.raw.get("error")
                odd += [] if isinstance(error, dict) else [("field error", error)]
        return odd


def _is_usual(where: str, value: Json) -> bool:
    """Return whether a field that the reader leaves over has its type."""
    if where == "call piece":
        return isinstance(value, dict)
    return where == "candidate field finishMessage" and isinstance(value, str)


def _snake_names(value: Json) -> Iterator[str]:
    """Yield the fields in snake_case, without those that a tool or a server names."""
    if isinstance(value, list):
        for item in value:
            yield from _snake_names(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if "_" in name:
                yield name
            elif name not in _FREE:
                yield from _snake_names(item)
