"""Oddities: the ways in which an answer differs from the documented wire.

The reader of a wire notes them, and gives its events all the same. It never decides what one means.
Its caller does:

- An adapter's own output must be as the official client reads it: an oddity is a fault if it is in
  the wire's table of faults (`harness.adapters.wires`).
- A recording may differ: an oddity is a variant (`harness.judging.wire_variants`).
- A caller that needs only the content ignores them.

A wire adds one in one line, on the branch of its reader that is not the usual one::

    self.oddities.note("message.usage", usage)

The name is one of a fixed set: the place of a field whose value has another type, or a phrase such
as ``content_block_delta before message_start``. What the answer itself names is in the value. A
field, a message or a piece that the wire does not have is an `Unknown` event, and not noted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from .json_codec import Json


class Oddity(NamedTuple):
    """One way in which an answer differs from the documented wire."""

    name: str
    place: int
    """The offset of its frame."""
    value: Json = None
    """The odd value, or the message or block that is odd."""


class Oddities(Struct):
    """The oddities of one answer: the first of each name, so that a long answer has few."""

    place: int = 0
    """The offset of the frame that is being read."""
    first: dict[str, Oddity] = {}
    """The first oddity of each name, in wire order."""

    def note(self, name: str, value: Json = None) -> None:
        """Note an oddity of the frame that is being read."""
        if name not in self.first:
            self.first[name] = Oddity(name, self.place, value)

    def named(self, names: Mapping[str, str]) -> set[str]:
        """Return the other names of the oddities that have one."""
        return {names[name] for name in self.first if name in names}

    def __iter__(self) -> Iterator[Oddity]:
        return iter(self.first.values())

    def __contains__(self, name: str) -> bool:
        return name in self.first
