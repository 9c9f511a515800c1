"""The order of the events of a stream, and the variants of a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.stream.exchange import Request
from harness.stream.framing import Frame, sse
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

DELTA: Final = "content_block_delta"
IN_BLOCK: Final = "in a block"
_BETWEEN: Final = {
    "content_block_start": IN_BLOCK,
    "message_delta": "closing",
    "error": "over",
}
ORDER: Final[dict[str, dict[str, str]]] = {
    "fresh": {"message_start": "between", "error": "over", "message": "over"},
    "between": _BETWEEN,
    IN_BLOCK: {
        DELTA: IN_BLOCK,
        "content_block_stop": "between",
        "error": "over",
    },
    "closing": {"message_delta": "closing", "message_stop": "over", "error": "over"},
    "over": {},
}
"""State → event → next state. A stream may end in any state; a ``ping``, and events of other types,
may be anywhere. Blocks do not overlap: each delta and stop has the index of the block that is open.
"""
_AFTER: Final = {kind: after for follows in ORDER.values() for kind, after in follows.items()}
"""Event → the state after it, also where it is out of order."""


class Order:
    """The order of one stream, in which it notes oddities."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._state = "fresh"
        self._block: Json = None  # the index of the block that began last
        self._begun = 0  # the number of blocks
        self._open: set[int] = set()  # the indexes of the open blocks

    def read(self, kind: str, message: dict[str, Json]) -> None:
        """Note whether an event is in order; those that are not in the table may be anywhere."""
        index = message.get("index")
        if kind == DELTA and index == self._block and self._state == IN_BLOCK:
            return  # this is the usual event
        following, note = ORDER[self._state].get(kind), self._oddities.note
        if following is None:
            if kind not in _AFTER:
                return
            note(f"{kind} {'before message_start' if self._state == 'fresh' else self._state}")
            following = _AFTER[kind]
        self._state = following
        if kind == "content_block_start":
            if index != self._begun:
                note("index of content_block_start", index)
            self._open.add(self._begun)
            self._block = self._begun
            self._begun += 1
        elif kind.startswith("content_block"):
            if type(index) is not int or index not in self._open:
                note(f"{kind} of no open block", message)
                return
            if index != self._block:
                note(f"{kind} of another block")
            if kind == "content_block_stop":
                self._open.remove(index)


def variants_in(frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    variants = set()
    if any(oddity.name.partition(" ")[0] in _AFTER for oddity in oddities):
        variants.add("events out of order")
    is_stream = sum(type(frame.json) is dict for frame in frames) > 1
    if is_stream and sse.NAMED not in oddities:
        variants.add("no event: lines" if sse.UNNAMED in oddities else "JSON lines")
    return sorted(variants)


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one whole answer, or ""."""
    kinds = [frame.json.get("type") for frame in frames if isinstance(frame.json, dict)]
    if kinds.count("message_start") > 1:
        return "has two answers"
    is_whole = "message_start" not in kinds or "message_stop" in kinds
    return "" if is_whole else "has no message_stop"
