"""The order of the events of a stream, and the ways in which a body differs from the documented
wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from harness.stream.exchange import Request
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

_BETWEEN: Final = {
    "content_block_start": "in a block",
    "message_delta": "closing",
    "error": "over",
}
ORDER: Final[dict[str, dict[str, str]]] = {
    "fresh": {"message_start": "between", "error": "over", "message": "over"},
    "between": _BETWEEN,
    "in a block": {
        "content_block_delta": "in a block",
        "content_block_stop": "between",
        "error": "over",
    },
    "closing": {"message_delta": "closing", "message_stop": "over", "error": "over"},
    "over": {},
}
"""State → event → next state. A stream may end in any state; a ``ping``, and events of other types,
may be anywhere. Blocks do not overlap: each delta and stop has the index of the block that is open.
"""


def variants_in(body: bytes, frames: Sequence[Frame]) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    messages = [frame.json for frame in frames]
    variants = set()
    if not is_in_order(messages):
        variants.add("events out of order")
    is_stream = sum(type(message) is dict for message in messages) > 1
    if is_stream and not re.search(rb"^data:", body, re.MULTILINE):
        variants.add("JSON lines")
    elif is_stream and not re.search(rb"^event:", body, re.MULTILINE):
        variants.add("no event: lines")
    return sorted(variants)


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one whole answer, or ""."""
    kinds = [frame.json.get("type") for frame in frames if isinstance(frame.json, dict)]
    if kinds.count("message_start") > 1:
        return "has two answers"
    is_whole = "message_start" not in kinds or "message_stop" in kinds
    return "" if is_whole else "has no message_stop"


def is_in_order(messages: Iterable[Json]) -> bool:
    """Return whether the events of a stream have the documented order."""
    state, block = "fresh", None
    for message in messages:
        kind = message.get("type") if type(message) is dict else None
        if type(kind) is not str or not any(kind in follows for follows in ORDER.values()):
            continue
        following = ORDER[state].get(kind)
        if following is None:
            return False
        if kind.startswith("content_block"):
            if kind != "content_block_start" and message.get("index") != block:
                return False
            block = message.get("index")
        state = following
    return True
