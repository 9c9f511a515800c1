"""The order of the events of a stream, and the variants of a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.stream.framing import Frame, sse
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from .messages import REMOVED_SCHEMA, STOPS

DELTA: Final = "step.delta"
WEB_SOCKET: Final = "the WebSocket form"
"""A message that only this form has. It is experimental, and no public recording has it."""
_OPEN: Final = {
    "interaction.connected": "open",
    "interaction.status_update": "open",
    "step.start": "open",
    DELTA: "open",
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
_AFTER: Final = {kind: after for follows in ORDER.values() for kind, after in follows.items()}
"""Event → the state after it, also where it is out of order."""


class Order:
    """The order of one stream, in which it notes oddities."""

    def __init__(self, oddities: Oddities) -> None:
        self._note = oddities.note
        self._state = "fresh"
        self._resumed = False
        self._latest = -1  # the index of the step that began last
        self._open: set[int] = set()
        self._all: set[int] = set()

    def read(self, kind: str, index: Json = None) -> None:
        """Note whether an event of the table is in order."""
        if kind == DELTA and index == self._latest and index in self._open:
            return  # this is the usual event
        if self._state == "fresh":
            self._resumed = kind != "interaction.created"
        if kind not in ORDER[self._state]:
            self._note(f"{kind} {self._state}")
        self._state = _AFTER[kind]
        if kind.startswith("step."):
            self._read_step(kind, index)
        elif kind == "interaction.completed" and self._open:
            self._note("interaction.completed in a step")

    def _read_step(self, kind: str, index: Json) -> None:
        if type(index) is not int:
            self._note("index", index)
            return
        is_new = index not in self._all
        if kind == "step.start":
            if self._open:
                self._note("step.start in a step", index)
            if index <= self._latest:
                self._note("step.start again" if index in self._all else "step.start back", index)
            self._latest = index
        elif index not in self._open:
            where = "before" if self._resumed and is_new else "without"
            self._note(f"{kind} {where} a step", index)
        elif index != self._latest:
            self._note(f"{kind} of another step", index)
        self._all.add(index)
        (self._open.discard if kind == "step.stop" else self._open.add)(index)


OUT_OF_ORDER: Final = frozenset(
    {
        *("index", "step.start again", "step.delta without a step", "step.stop without a step"),
        *("interaction.completed in a step",),
        *(f"{kind} {state}" for kind in _AFTER for state in ORDER),
    }
)
"""The oddities of a stream that has not the documented order."""


def variants_in(frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    names = {oddity.name for oddity in oddities}
    variants = set()
    if REMOVED_SCHEMA in names:
        variants.add("the removed schema")
    elif names & OUT_OF_ORDER:
        variants.add("events out of order")
    if WEB_SOCKET in names:
        variants.add(WEB_SOCKET)
    elif len(frames) > 1 and sse.UNNAMED not in names and sse.NAMED not in names:
        variants.add("JSON lines")
    return sorted(variants)
