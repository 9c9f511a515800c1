"""What one conversation remembers between its turns: ids that were given out, tool names by id,
signatures by id.

A fresh `Session` is made for every replay unless the caller passes one; passing the same one to
several replays is how a later request can send back what the earlier answers contained. It is
bounded: the oldest entry goes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the request declared: its name and the JSON Schema of its arguments (either of
    Gemini's two schema dialects).
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """A call: what a later turn needs to send it back. ``name`` is the wire's; ``wire_id`` is what
    the wire called it, if it did.
    """

    name: str
    signature: str | None = None
    wire_id: str | None = None


class Session:
    """Ids, tool names and signatures of one conversation, and where the replay of its present
    answer stands.

    ``ids`` makes the next id for a prefix (``"call"`` → ``"call_1"``, ``"call_2"``, …); a caller
    may replace it. ``context`` is what the caller says about the conversation, for event models
    that carry it (names as in the model). At most ``limit`` calls are remembered.

    ``own_names`` are the caller's tools whose names the latest request had to change: the wire's
    name → the caller's.

    ``at_ms`` is the recording's clock: milliseconds from the request to the read that completed the
    present frame, None if it has none. ``streamed`` tells a streamed answer from a unary one. Both
    are set by whoever replays.
    """

    def __init__(
        self,
        *,
        ids: Callable[[str], str] | None = None,
        context: Mapping[str, Any] | None = None,
        limit: int = 1000,
    ) -> None:
        self._ids = ids or counted_ids()
        self._limit = limit
        self._given: dict[str, None] = {}
        self.calls: dict[str, RememberedCall] = {}
        self.context: Mapping[str, Any] = context or {}
        self.own_names: Mapping[str, str] = {}
        self.at_ms: float | None = None
        self.streamed = True

    def next_id(self, prefix: str) -> str:
        """A new id that this session has not given out before."""
        fresh = self._ids(prefix)
        while fresh in self._given:
            fresh = self._ids(prefix)
        return self._give(fresh)

    def call_id(self, wire_id: str | None, prefix: str) -> str:
        """The wire's own id; a counted one where there is none, or where another call of this
        session has it already.
        """
        if wire_id and wire_id not in self._given:
            return self._give(wire_id)
        return self.next_id(prefix)

    def reserve(self, call_id: str) -> None:
        """Never give out an id that the caller's history has from elsewhere."""
        if call_id not in self._given:
            self._give(call_id)

    def remember(
        self, call_id: str, name: str, signature: str | None, wire_id: str | None = None
    ) -> None:
        """Keep a call's name, signature and id on the wire for the turns to come."""
        self.calls.pop(call_id, None)
        self.calls[call_id] = RememberedCall(name, signature, wire_id)
        if len(self.calls) > self._limit:
            del self.calls[next(iter(self.calls))]

    def _give(self, given: str) -> str:
        self._given[given] = None
        if len(self._given) > 10 * self._limit:
            del self._given[next(iter(self._given))]
        return given


def counted_ids() -> Callable[[str], str]:
    """Ids that are the same in every run: each prefix counts from 1."""
    counters: dict[str, count[int]] = {}

    def next_id(prefix: str) -> str:
        return f"{prefix}_{next(counters.setdefault(prefix, count(1)))}"

    return next_id
