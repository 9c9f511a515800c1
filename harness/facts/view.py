"""The view of a list of facts: what the facts of each kind say together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from harness.stream.json_codec import Json

from .calls import NamedArguments, named_arguments
from .detail import (
    Blocked,
    Content,
    Counts,
    Fields,
    FinishMessage,
    GoodEnd,
    InvalidCall,
    Notice,
    OpenCall,
    Result,
    Signature,
    Unfinished,
    UnreadablePiece,
)
from .fact import Call, Error, Fact, Finish, Text, Thought, Usage
from .native import NativeSearch
from .order import Given

Kind = TypeVar("Kind")

COUNTS: Final = {
    "input": ("promptTokenCount", "input_tokens"),
    "output": ("candidatesTokenCount", "output_tokens"),
    "thoughts": ("thoughtsTokenCount",),
    "total": ("totalTokenCount",),
}
"""The counts of an adapter, and the names for them on wires and in payloads."""
_CACHED: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Counts of payloads that the wire counts as input."""
NO_FINISH: Final = Finish(None)


class View:
    """The facts of one side of a judgement.

    ``places``: for each fact of an adapter, the number of the first of the equal native events with
    which it came. ``natives``: all its native events.
    """

    def __init__(
        self, facts: Sequence[Fact], places: Sequence[int] = (), natives: Sequence[Json] = ()
    ) -> None:
        self.facts, self.places, self.natives = facts, places, natives
        self._kinds: dict[type[Any], list[Any]] = defaultdict(list)
        for fact in facts:
            self._kinds[type(fact)].append(fact)
        self.text = "".join([fact.text for fact in self.of(Text)])
        """All pieces of text, joined."""
        self.thoughts = "".join([fact.text for fact in self.of(Thought)])
        """All pieces of thoughts, joined."""
        self.whole_calls = self.of(Call)
        """The calls that ended."""
        self.end = next((e for e in reversed(self.of(Finish)) if e.finish_class), NO_FINISH)
        """The last reason that has a class."""
        self.finish = self.end.raw
        """The last reason, in its own word."""
        self.reasons = [end.raw or "" for end in self.of(Finish) if end.finish_class]
        """All reasons that have a class."""
        self.errors = self.of(Error)
        self.results = [(result.failed, result.text) for result in self.of(Result)]
        """The results of tools that the provider ran: whether each failed, and its text."""
        self.signatures = [(signature.kind, signature.value) for signature in self.of(Signature)]
        """The kind of part and the value of each signature."""
        self.invalid_calls = [(call.name, call.text) for call in self.of(InvalidCall)]
        """The name and the text of each whole call whose arguments are not a JSON object."""
        self.notices = [notice.text for notice in self.of(Notice)]
        """The texts of warnings."""
        self.unreadable = [piece.text for piece in self.of(UnreadablePiece)]
        """The pieces that are not JSON."""
        self.contents = Counter(part.kind for part in self.of(Content))
        """The number of parts with media, with code, and about tools of the server."""
        self.open_call = OpenCall in self._kinds
        """Whether the last call never ended."""
        self.ended_well = GoodEnd in self._kinds
        self.unfinished = Unfinished in self._kinds

    def of(self, kind: type[Kind]) -> list[Kind]:
        """Return the facts of a kind."""
        return self._kinds.get(kind, [])

    @cached_property
    def calls(self) -> list[NamedArguments]:
        """The name and the arguments of each call, with those so far of an open call at the end."""
        opened = [(call.name, call.arguments) for call in self.of(OpenCall)]
        return [*map(named_arguments, self.whole_calls), *opened]

    @property
    def finish_event(self) -> Json:
        """The native event with `end`."""
        facts = zip(self.facts, self.places, strict=True)
        return next((self.natives[at] for fact, at in facts if fact is self.end), None)

    @cached_property
    def finish_message(self) -> Json:
        """The text beside the finish reason."""
        messages = self.of(FinishMessage)
        return messages[-1].text if messages else None

    @cached_property
    def block_reason(self) -> str | None:
        blocks = self.of(Blocked)
        return blocks[-1].reason if blocks else None

    @cached_property
    def words(self) -> str:
        """All statements about errors, as one text."""
        return "\n".join(
            error.message if error.code is None else f"{error.code} {error.message}"
            for error in self.errors
        )

    @cached_property
    def usage(self) -> dict[str, int]:
        """The latest value of each count, by its name on the wire or in payloads."""
        usage: dict[str, int] = {}
        for fact in self.of(Counts):
            usage |= fact.counts
        return usage

    @cached_property
    def counts(self) -> dict[str, int]:
        """The latest value of each count, by the names of an adapter."""
        counts = counts_of(self.usage)
        for usage in self.of(Usage):
            for name in COUNTS:
                if (count := getattr(usage, name)) is not None:
                    counts[name] = count
        return counts

    @cached_property
    def others(self) -> set[str]:
        """The names of fields that no other fact covers."""
        return {name for fields in self.of(Fields) for name in fields.names}

    @cached_property
    def search(self) -> NativeSearch:
        """The search for values anywhere in the native events."""
        return NativeSearch(self.natives)

    @property
    def given(self) -> list[Given]:
        """The content of each native event, for the order of the content."""
        events: dict[int, Given] = {}
        number = 0
        for fact, at in zip(self.facts, self.places, strict=True):
            event = events.setdefault(at, Given())
            if isinstance(fact, Text):
                event.text += len(fact.text)
            elif isinstance(fact, Thought):
                event.thought += len(fact.text)
            elif isinstance(fact, Call):
                event.calls += (number,)
                number += 1
        return [events[at] for at in sorted(events)]


def counts_of(usage: dict[str, int]) -> dict[str, int]:
    """Return counts by the names of an adapter; only those that there are."""
    counts: dict[str, int] = {}
    for name, names in COUNTS.items():
        if values := [usage[count] for count in names if count in usage]:
            counts[name] = sum(values)
    for name in _CACHED:
        if name in usage:
            counts["input"] = counts.get("input", 0) + usage[name]
    return counts
