"""The memory of one conversation between its turns: ids that were given out, tool names and
signatures by id.

A replay makes a fresh `Session` unless the caller passes one. With the same one in several replays,
a later request can send back the ids and signatures of earlier answers. A session is bounded; its
oldest entry is dropped first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

SignedPart = Literal["empty thought", "lost part"]
"""A part whose signature stands alone in an event model: the thought is empty, or the part itself
has no place there.
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request declares: its name, the JSON Schema of its arguments, in either of
    Gemini's two schema dialects, and its description.
    """

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """A call that a later turn sends back. ``name`` is the wire's; ``wire_id`` is the id on the
    wire, None if it had none.
    """

    name: str
    signature: str | None = None
    wire_id: str | None = None


class Session:
    """Ids, tool names and signatures of one conversation, and the state of the present replay.

    ``ids`` makes the next id for a prefix (``"call"`` → ``"call_1"``, ``"call_2"``, …); a caller
    may replace it. ``context`` are the caller's values for the conversation, named as in the event
    model. At most ``limit`` calls are remembered, and as many entries of ``signed``.

    ``own_names`` maps the wire's names of tools to the caller's, for tools that the latest request
    had to rename.

    The pipeline sets ``at_ms``, the milliseconds from the request to the read that completed the
    present frame (None if not recorded), and ``streamed``, which tells a streamed answer from a
    unary one.
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
        self.invented: set[str] = set()
        self.calls: dict[str, RememberedCall] = {}
        self.signed: dict[str, SignedPart] = {}
        self.context: Mapping[str, Any] = context or {}
        self.own_names: Mapping[str, str] = {}
        self.at_ms: float | None = None
        self.streamed = True

    def next_id(self, prefix: str) -> str:
        """A new id that this session has not given out before."""
        fresh = self._ids(prefix)
        while fresh in self._given:
            fresh = self._ids(prefix)
        self.invented.add(fresh)
        return self._give(fresh)

    def call_id(self, wire_id: str | None, prefix: str) -> str:
        """The wire's id; a counted one if there is none or another call of this session has it."""
        if wire_id and wire_id not in self._given:
            return self._give(wire_id)
        return self.next_id(prefix)

    def reserve(self, call_id: str) -> None:
        """Reserve an id of the caller's history, so that it is never given out."""
        if call_id not in self._given:
            self._give(call_id)

    def remember(
        self, call_id: str, name: str, signature: str | None, wire_id: str | None = None
    ) -> None:
        """Keep name, signature and wire id of a call for later turns."""
        self.calls.pop(call_id, None)
        self.calls[call_id] = RememberedCall(name, signature, wire_id)
        if len(self.calls) > self._limit:
            del self.calls[next(iter(self.calls))]

    def remember_signature(self, signature: str, part: SignedPart) -> None:
        """Keep which part a signature is of, where the event model does not tell it."""
        self.signed[signature] = part
        if len(self.signed) > self._limit:
            del self.signed[next(iter(self.signed))]

    def _give(self, given: str) -> str:
        self._given[given] = None
        if len(self._given) > 10 * self._limit:
            del self._given[next(iter(self._given))]
        return given


def counted_ids() -> Callable[[str], str]:
    """Ids that are the same in every run: every prefix counts from 1."""
    counters: dict[str, count[int]] = {}

    def next_id(prefix: str) -> str:
        return f"{prefix}_{next(counters.setdefault(prefix, count(1)))}"

    return next_id
