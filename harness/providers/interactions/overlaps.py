"""Puts the events of steps that overlap into a legal order: one open call at a time.

The events of a call go out as they come. The events of other steps wait until that call ends, and
then follow in the order of the wire.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from harness.stream.events import CallEnd, CallInvalid, CallStart, Event
from harness.stream.json_codec import Json


class Overlaps:
    """The events that wait, by the number of their step, and the order in which they came."""

    def __init__(self) -> None:
        self._calling: int | None = None  # the step whose call is open in the output
        self._order: deque[int] = deque()
        self._waiting: defaultdict[int, deque[tuple[Json, Sequence[Event]]]] = defaultdict(deque)
        self._given: defaultdict[int, int] = defaultdict(int)  # places in the order that are empty

    @property
    def calling(self) -> bool:
        """Whether a call is open in the output."""
        return self._calling is not None

    def add(self, step: int, raw: Json, events: Sequence[Event], out: list[Event]) -> None:
        """Give the events of one message of a step to ``out``, or let them wait. ``raw``: the
        message.
        """
        if self._calling is not None and self._calling != step:
            self._order.append(step)
            self._waiting[step].append((raw, events))
            return
        self._give(step, events, out)
        while self._calling is None and self._order:
            self._give_next(out)

    def rest(self) -> list[Json]:
        """Return the messages whose events still wait, by step."""
        return [raw for waiting in self._waiting.values() for raw, _ in waiting]

    def _give_next(self, out: list[Event]) -> None:
        step = self._order.popleft()
        if self._given[step]:
            self._given[step] -= 1
            return
        self._give(step, self._waiting[step].popleft()[1], out)
        while self._calling == step and self._waiting[step]:
            self._given[step] += 1
            self._give(step, self._waiting[step].popleft()[1], out)

    def _give(self, step: int, events: Sequence[Event], out: list[Event]) -> None:
        out += events
        for event in events:
            if type(event) is CallStart:
                self._calling = step
            elif type(event) is CallEnd or type(event) is CallInvalid:
                self._calling = None
