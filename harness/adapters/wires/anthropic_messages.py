"""The strict reading of Anthropic Messages: a stream is read as the client `anthropic` joins it.

The client (`anthropic.lib.streaming`) appends each ``content_block_start`` to a list; ``index`` of
a later event is the place in that list.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final

from harness.providers.answer_reader import AnswerReader
from harness.providers.anthropic.normalizer import MessagesNormalizer
from harness.stream.events import Usage
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from .view import WireView
from .wire_reader import Framing, Unreadable

_NUMBER: Final = "{value} is not a number"
_STRING: Final = "is {value}; expected a string"
_OBJECT: Final = "is {value}; expected an object"
_EARLY: Final = "comes before message_start"
_NO_BLOCK: Final = "its index is that of no open block of the official client: {value}"
_OVERLAP: Final = "content_block_delta of another block"


class AnthropicMessages(WireView):
    """The state of one answer, and its messages, if the client joins them in another order."""

    framing: ClassVar[Framing] = Framing(event_lines=True)
    reader: ClassVar[type[AnswerReader]] = MessagesNormalizer
    faults: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("unknown event", "unknown delta", "unknown frame"),
            "the official client ignores {value}",
        ),
        "an error without its type": "the official client ignores its type: {value}",
        "content_block_start before message_start": f"content_block_start {_EARLY}",
        "content_block_delta before message_start": f"content_block_delta {_EARLY}",
        "content_block_stop before message_start": f"content_block_stop {_EARLY}",
        "message_delta before message_start": f"message_delta {_EARLY}",
        "message_stop before message_start": f"message_stop {_EARLY}",
        **dict.fromkeys(
            [
                f"{kind} {state}"
                for kind in ("message_start", "message")
                for state in ("between", "in a block", "closing", "over")
            ],
            "the official client ignores a second message_start",
        ),
        # Anthropic's documentation: `message_start` "contains a `Message` object with empty
        # `content`".
        "content in message_start": "message_start has content, and blocks follow: {value}",
        "message.content": "message.content is {value}; expected a list of objects",
        "message.usage": f"message.usage {_OBJECT}",
        "usage": f"usage {_OBJECT}",
        # Anthropic's documentation: "The token counts shown in the `usage` field of the
        # `message_delta` event are cumulative."
        "usage.output_tokens": "usage.output_tokens is {value}; expected a number",
        "usage.input_tokens": "usage.input_tokens is {value}; expected a number",
        "usage.cache_read_input_tokens": "usage.cache_read_input_tokens is {value}",
        "stop_reason": f"stop_reason {_STRING}",
        "index of content_block_start": "index is {value}; expected the number of the block",
        "content_block_delta of no open block": _NO_BLOCK,
        "content_block_stop of no open block": _NO_BLOCK,
        "message_delta in a call": "message_delta comes before content_block_stop of a call",
        "partial_json": "partial_json is only white space",
        "block.type": f"content_block.type {_STRING}",
        "text.text": f"text of a block of the type text {_STRING}",
        "thinking.thinking": f"thinking of a block of the type thinking {_STRING}",
        "tool_use.id": f"content_block.id {_STRING}",
        "tool_use.name": f"content_block.name {_STRING}",
        "tool_use.input": f"content_block.input {_OBJECT}",
    }

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._usage: dict[str, Json] = {}
        self._messages: list[dict[str, Json]] = []

    def _read(self, message: dict[str, Json]) -> None:
        if self._framed and message.get("type") == "message":
            raise Unreadable("it is a whole message in a stream")
        super()._read(message)
        self._messages.append(message)

    def _count(self, usage: Usage) -> None:
        self._usage |= {name: count for name, count in usage.raw.items() if count is not None}
        self._counts = {name: count for name, count in self._usage.items() if type(count) is int}

    def close(self) -> None:
        if _OVERLAP in self._reader.oddities:
            self._join()
        super().close()

    def _join(self) -> None:
        """Read the blocks again, one after the other, as the client joins them."""
        self._begin()
        self.facts = [[] for _ in self.facts]
        latest = 0
        for at, message in sorted(enumerate(self._messages), key=lambda item: _block(item[1])):
            if facts := self._facts_of(at, self._reader.feed(Frame(at, message))):
                latest = max(latest, at)
                self.facts[latest] += facts


def _block(message: dict[str, Json]) -> float:
    """Return the place of a message: before, in, or after the blocks."""
    index = message.get("index")
    if type(index) is int:
        return index
    return -1 if message.get("type") == "message_start" else inf
