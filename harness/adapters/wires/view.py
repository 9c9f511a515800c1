"""The view of a wire's one reader as a strict reader: events are facts, and the oddities that the
table of the wire calls faults are errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from harness.facts import Call, Fact, Finish, Text, Thought, Usage, counts_of
from harness.providers import Answer
from harness.providers.answer_reader import AnswerReader
from harness.stream import events as canonical
from harness.stream.framing import Frame
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Unreadable, WireReader, error_of


class WireView(WireReader):
    """The state of one answer: its reader, the calls that began, the last finish reason and the
    counts.
    """

    reader: ClassVar[type[AnswerReader]]
    """The reader of the wire."""
    faults: ClassVar[Mapping[str, str]]
    """The name of an oddity → why the client can't read it, with ``{value}``. An `Unknown` event
    has the name ``unknown``, with the first word of its ``where``.
    """

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._begin()

    def _begin(self) -> None:
        self._reader = self.reader(Answer())
        self._calls: dict[int, tuple[str | None, str]] = {}
        self._finish: tuple[str, int] = ("", 0)
        self._counts: dict[str, int] = {}
        self._counted = 0

    def _read(self, message: dict[str, Json]) -> None:
        place = len(self.facts) - 1
        events = self._reader.feed(Frame(place, message))
        for name, value in self._oddities(place, events):
            if sentence := self._sentence(name):
                raise Unreadable(sentence.format(value=short_json(value)))
        self._add(*self._facts_of(place, events))

    def _sentence(self, name: str) -> str | None:
        """Return why the client can't read an oddity of this name, or None."""
        return self.faults.get(name)

    def _oddities(self, place: int, events: list[canonical.Event]) -> list[tuple[str, Json]]:
        return [(odd.name, odd.value) for odd in self._reader.oddities if odd.place == place] + [
            (f"unknown {event.where.partition(' ')[0]}", event.raw)
            for event in events
            if isinstance(event, canonical.Unknown)
        ]

    def _facts_of(self, place: int, events: list[canonical.Event]) -> list[Fact]:
        """Return the facts of a message; note the finish reason and the counts."""
        facts: list[Fact] = []
        for event in events:
            match event:
                case canonical.Text(text=text) if text:
                    facts.append(Text(text))
                case canonical.Reasoning(text=text) if text:
                    facts.append(Thought(text))
                case canonical.CallStart(call=number, id=call_id, name=name):
                    self._calls[number] = call_id, name
                case canonical.CallEnd(call=number, arguments=arguments):
                    facts.append(Call(*self._calls[number], arguments))
                case canonical.CallInvalid(call=number, text=text):
                    facts.append(Call(*self._calls[number], text))
                case canonical.Finish(raw=raw):
                    self._finish = raw, place
                case canonical.Usage():
                    self._count(event)
                    self._counted = place
                case canonical.Error(raw=dict(raw)):
                    facts.append(error_of(raw.get("error", raw)))
                    self._over = True
        return facts

    def _count(self, usage: canonical.Usage) -> None:  # a wire may have no facts
        """Add the counts of an event to `_counts`."""

    def close(self) -> None:
        """Note the finish reason and the counts where they came last."""
        reason, place = self._finish
        if reason:
            self.facts[place].append(Finish(reason))
        if counts := counts_of(self._counts):
            self.facts[self._counted].append(Usage(**counts))


def left_over(events: Iterable[canonical.Event]) -> Iterator[tuple[str, Json]]:
    """Yield the place and the value of each unknown item, and of each field that is not known or
    whose value has another type.
    """
    for event in events:
        if isinstance(event, canonical.Unknown):
            for where in event.where.split(", "):
                name = where.rpartition(" ")[2]
                raw = event.raw
                yield where, raw[name] if isinstance(raw, dict) and name in raw else raw
