"""The strict reading of the Responses API, as the client `openai` reads the events of a stream.

The client (`openai.lib.streaming.responses`) keeps the items by their index, and takes the whole
answer from the last event. An event of an item that has not begun, an item that begins twice or
changes its identity, and a last event whose items are not those of the stream are faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import ClassVar, Final

from harness.facts import Call, Fact, Text, Thought
from harness.providers.answer_reader import AnswerReader
from harness.providers.openai.facts import count_responses
from harness.providers.openai.items import CALLS
from harness.providers.openai.order import ENDS, IN_ITEM
from harness.providers.openai.responses import ResponsesReader
from harness.stream.events import Event, Finish, Metadata, Unknown, Usage
from harness.stream.json_codec import Json, same_json
from harness.stream.printable import short_json

from .view import WireView
from .wire_reader import Framing, Unreadable, WireMessage

_JOINS: Final = "{value}; the official client joins the events by the index of an open item"
_READ: Final = ("response.content_part.added", "response.output_text.done")
"""The events in an item that the client reads, beside the pieces."""
_HARMLESS: Final = (
    *("a second response.created", "an item whose id changes", "a text without its pieces"),
    "a response that ends without its items",
)
_TYPES: Final = (
    *("field response.usage", "field response.status", "field response.output"),
    *("field response.incomplete_details", "content part", "content part output_text"),
    *("content part refusal", "summary part", "summary part summary_text"),
    *("content part reasoning_text", "part output_text"),
)
"""The places of values of another type."""


class _Reader(ResponsesReader):
    strict: ClassVar[bool] = True


class OpenAIResponses(WireView):
    """The state of one answer."""

    framing: ClassVar[Framing] = Framing(done="[DONE]")
    reader: ClassVar[type[AnswerReader]] = _Reader
    faults: ClassVar[Mapping[str, str]] = {
        "a message without a type": "{value} is neither an event nor a response",
        "an event before response.created": "{value} comes before response.created",
        "an event after the end": "{value} follows the last event",
        "keepalive after the end": "{value} follows the last event",
    }

    def _read(self, message: dict[str, Json]) -> None:
        kind = message.get("type")
        if self._framed and not (message.get("error") or isinstance(kind, str)):
            raise Unreadable(f"{short_json(message)} is neither an event nor a response")
        self._kind = kind
        super()._read(message)
        if isinstance(kind, str) and kind in ENDS and not self._over:
            self._compare(message["response"])

    def _compare(self, response: dict[str, Json]) -> None:
        """Read the last response as a whole answer. Its content must be that of the stream."""
        if response.get("output") is None:
            return
        last = OpenAIResponses(None)
        last.read(WireMessage({**response, "object": "response", "type": None}, 0))
        said, final = _content(self.facts[:-1]), _content(last.facts)
        for name, before, after in zip(("text", "thoughts", "calls"), said, final, strict=True):
            if before and not same_json(before, after):
                raise Unreadable(
                    f"the last response has the {name} {short_json(after)}; those of the stream are"
                    f" {short_json(before)}, and the official client takes the response"
                )

    def _facts_of(self, place: int, events: list[Event]) -> list[Fact]:
        """Return the facts of an event. The client reads the finish reason and the counts of the
        last event only, and no response of an event that it does not know.
        """
        kind = self._kind
        if isinstance(kind, str) and kind not in ENDS and kind != "error":
            events = [event for event in events if not isinstance(event, Finish | Usage)]
        facts = super()._facts_of(place, events)
        if self._over:  # nor the status of a failed answer
            self._finish = "", 0
        return facts

    def _oddities(self, place: int, events: list[Event]) -> list[tuple[str, Json]]:
        odd = super()._oddities(place, events)
        for event in events:
            if isinstance(event, Unknown) and event.where in _TYPES:
                odd.append((event.where, event.raw))
            elif isinstance(event, Metadata) and not CALLS.keys().isdisjoint(event.raw):
                odd.append(("other arguments at the end of a call", event.raw))
        return odd

    def _sentence(self, name: str) -> str | None:
        kind = name.split()[0 if name.startswith("response.") else -1]
        is_read = kind in _READ or kind.endswith(".delta") or kind not in IN_ITEM
        if name in _HARMLESS or name.startswith("unknown ") or not is_read:
            return None
        way = _JOINS if "index" in name or "open item" in name else "{value}"
        return self.faults.get(name, f"{name}: {way}")

    def _count(self, usage: Usage) -> None:
        self._counts |= count_responses(usage.raw)


def _content(facts: list[list[Fact]]) -> tuple[str, str, list[Json]]:
    """Return the text, the thoughts and the calls."""
    flat = list(chain.from_iterable(facts))
    return (
        "".join(fact.text for fact in flat if isinstance(fact, Text)),
        "".join(fact.text for fact in flat if isinstance(fact, Thought)),
        [[fact.id, fact.name, fact.arguments] for fact in flat if isinstance(fact, Call)],
    )
