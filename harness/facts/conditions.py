"""The conditions under which an adapter is asked for an answer."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from .finding import Aspect
from .wire_facts import WireFacts


class Conditions(Struct, frozen=True):
    """The conditions of one answer and one adapter."""

    end: str = "complete"
    """The end of the exchange in a word."""
    interrupted: bool = False
    """Whether the exchange was cut, reset or aborted."""
    program: bool = False
    """Whether the answer is the output of a program."""
    unasked: Mapping[Aspect, str] = {}
    """Aspects that this adapter is not asked for, each with the reason, a name in `REASONS`."""
    tools: frozenset[str] = frozenset()
    """The names of the tools that the request declares; empty if they are not known."""
    streamed: bool = True
    """Whether the answer came as a stream."""
    asks_thoughts: bool = True
    """Whether the adapter can ask for thoughts."""

    def has_end(self, wire: WireFacts) -> bool:
        """Return whether the answer reports its end. A program may report it without a word."""
        return bool(wire.finish) or (self.program and wire.finish is not None)

    def has_fault(self, wire: WireFacts) -> bool:
        """Return whether the answer is cut, can't be read to its end, or never reports its end."""
        return bool(self.interrupted or wire.unreadable or not self.has_end(wire))

    def excuse_exceptions(self, wire: WireFacts) -> bool:
        """Return whether every exception is an answer, even a crash: the wire has an error or a
        fault, so that the answer has no good end and is not refused either.
        """
        return bool(
            wire.errors
            or self.interrupted
            or wire.unreadable
            or not (self.has_end(wire) or wire.block_reason is not None)
            or not wire.understood
            or wire.invalid_calls
            or (self.program and not wire.ended_well)
        )
