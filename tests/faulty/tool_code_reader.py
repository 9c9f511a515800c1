"""Finds tool calls in answer text like our provider, but in canonical events.

Faults are subclasses of `ToolCodeReader`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Protocol

from harness.stream import events as ev
from harness.stream.tool_code import Splitter, ToolCodeBlock, parse_body

CONTENT = (
    *(ev.Reasoning, ev.CallStart, ev.Media, ev.Code, ev.CodeResult),
    *(ev.ServerCall, ev.ServerResult, ev.ToolResult),
)
ENDS = (ev.Finish, ev.Error, ev.Blocked, ev.Incomplete)


class AnySplitter(Protocol):
    """The interface of `Splitter`."""

    def feed(self, text: str) -> list[str | ToolCodeBlock]: ...
    def close(self) -> str: ...


class ToolCodeReader:
    """The calls of one answer in which our provider was configured not to search for calls."""

    def __init__(self) -> None:
        self.splitters: dict[int, AnySplitter] = {}
        self.numbers = count(1000)  # the wire's own calls have lower numbers

    def make_splitter(self) -> AnySplitter:
        return Splitter()

    def ends_block(self, event: ev.Event) -> bool:
        """Whether an open block ends at this event and becomes text."""
        if isinstance(event, ev.Unknown):
            return event.where.startswith("part")
        return isinstance(event, CONTENT)

    def read(self, events: Iterator[ev.Event]) -> Iterator[ev.Event]:
        for event in events:
            if isinstance(event, ev.Text) and event.text and not event.role:
                yield from self.split(event)
                continue
            if isinstance(event, ENDS):
                yield from self.release_all()
            elif self.ends_block(event):
                yield from self.release(getattr(event, "candidate", 0))
            yield event
        yield from self.release_all()

    def split(self, event: ev.Text) -> Iterator[ev.Event]:
        """The texts and calls in a text; the last of them gets the signature."""
        splitter = self.splitters.setdefault(event.candidate, self.make_splitter())
        signed: ev.Text | ev.CallStart | ev.NamelessCall | None = None
        completed: list[ev.Event] = []
        for piece in splitter.feed(event.text):
            signed, others = (
                (ev.Text(piece, None, event.candidate), [])
                if isinstance(piece, str)
                else self.read_block(piece, event.candidate)
            )
            completed += [signed, *others]
        if event.signature is not None:
            if signed is None:
                signed = ev.Text("", None, event.candidate)
                completed.append(signed)
            signed.signature = event.signature
        yield from completed

    def read_block(
        self, block: ToolCodeBlock, candidate: int
    ) -> tuple[ev.Text | ev.CallStart | ev.NamelessCall, list[ev.Event]]:
        """The event of a block that can be signed, and the events after it."""
        body = parse_body(block.body)
        if body is None:
            return ev.Text(block.raw, None, candidate), []
        number = next(self.numbers)
        if body.name is None:
            return ev.NamelessCall(number, body.arguments, block.raw, None, candidate), []
        extra = [
            ev.Unknown(f"tool_code field {key}", {key: value}, candidate)
            for key, value in body.extra.items()
        ]
        start = ev.CallStart(number, body.name, None, None, candidate)
        return start, [ev.CallEnd(number, body.arguments), *extra]

    def release(self, candidate: int) -> Iterator[ev.Event]:
        """The text of an unfinished block, or of the beginning of a tag."""
        if (splitter := self.splitters.get(candidate)) and (held := splitter.close()):
            yield ev.Text(held, None, candidate)

    def release_all(self) -> Iterator[ev.Event]:
        for candidate in self.splitters:
            yield from self.release(candidate)
