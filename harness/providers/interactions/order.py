"""The order of the events of a stream, and the ways in which a body differs from the documented
wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from .messages import STOPS, is_batch, is_removed

_BOTH: Final = frozenset({"interaction.created", "interaction.completed"})
_OF_WEB_SOCKET: Final = frozenset({"interaction.connected", *STOPS})
_OPEN: Final = {
    "interaction.connected": "open",
    "interaction.status_update": "open",
    "step.start": "open",
    "step.delta": "open",
    "step.stop": "open",
    "interaction.completed": "completed",
    **dict.fromkeys(STOPS, "completed"),
    "error": "over",
}
ORDER: Final[dict[str, dict[str, str]]] = {
    "fresh": {"interaction.created": "open", **_OPEN},
    "open": _OPEN,
    "completed": {"[DONE]": "over"},
    "over": {"[DONE]": "over"},
}
"""State → event → next state. A stream may end in any state, and events of other types may be
anywhere. Steps may overlap: each delta and stop has the index of an open step, or, in a resumed
stream, of a step that began before. No step is open when the answer is complete.
"""


def variants_in(body: bytes, frames: Sequence[Frame]) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    messages = [frame.json if frame.raw is None else frame.raw.strip() for frame in frames]
    variants = set()
    if any(type(message) is dict and is_removed(message) for message in messages):
        variants.add("the removed schema")
    elif not is_in_order(messages):
        variants.add("events out of order")
    if any(type(message) is dict and _is_of_web_socket(message) for message in messages):
        variants.add("the WebSocket form")
    elif len(messages) > 1 and not re.search(rb"^data:", body, re.MULTILINE):
        variants.add("JSON lines")
    return sorted(variants)


def _is_of_web_socket(message: dict[str, Json]) -> bool:
    """Return whether only the WebSocket form has such a message. It is experimental, and no public
    recording has it.
    """
    kind = message.get("event_type")
    return is_batch(message) or (
        type(kind) is str
        and (kind in _OF_WEB_SOCKET or (kind in _BOTH and "interaction" not in message))
    )


def is_in_order(messages: Iterable[Json]) -> bool:
    """Return whether the events of a stream have the documented order."""
    state, steps = "fresh", _Steps()
    for message in _events(messages):
        known = type(message) is dict and type(message.get("event_type")) is str
        kind = message["event_type"] if known else message
        if type(kind) is not str or not any(kind in follows for follows in ORDER.values()):
            continue
        if state == "fresh":
            steps.resumed = kind != "interaction.created"
        following = ORDER[state].get(kind)
        if following is None or not steps.take(kind, message.get("index") if known else None):
            return False
        state = following
    return True


def _events(messages: Iterable[Json]) -> Iterator[Json]:
    for message in messages:
        if type(message) is dict and is_batch(message):
            yield from message["events"]
        else:
            yield message


class _Steps:
    """The indexes of the open steps and of all steps so far."""

    def __init__(self) -> None:
        self.resumed = False
        self._open: set[int] = set()
        self._all: set[int] = set()

    def take(self, kind: str, index: Json) -> bool:
        """Note an event; returns whether its index is right."""
        if not kind.startswith("step."):
            return kind != "interaction.completed" or not self._open
        if type(index) is not int:
            return False
        is_new = index not in self._all
        self._all.add(index)
        if kind == "step.start":
            self._open.add(index)
            return is_new
        known = index in self._open or (self.resumed and is_new)
        (self._open.discard if kind == "step.stop" else self._open.add)(index)
        return known
