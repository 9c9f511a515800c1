"""The reply of an adapter to one question: native events with their facts, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from harness.facts import Entry, Fact, NoFact, Raised, check_fact, fact_of_json
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .adapter import AdapterError

Level = Literal["facts", "payloads"]
"""``facts``: an adapter gives native events, each with its facts. ``payloads``: native events
alone, which are compared with the expectations of an event model.
"""

MAX_EVENTS: Final = 100_000
"""Events of one exchange; more is a flood."""


@dataclass(slots=True)
class Reply:
    """The events that came so far. ``times``: when each came, on the clock of `time.monotonic`;
    None where that is not known.

    ``exception``: the exception that ``raised`` describes, where it was raised in this process.
    """

    entries: list[Entry]
    times: list[float | None]
    raised: Raised | None = None
    exception: BaseException | None = None
    skipped: str = ""

    @classmethod
    def empty(cls) -> Reply:
        """A reply without events."""
        return cls([], [])

    def add(self, entry: Entry, at_s: float | None = None) -> None:
        """Add an event. Raises `AdapterError` for a flood."""
        if len(self.entries) >= MAX_EVENTS:
            raise AdapterError(
                f"it gave more than {MAX_EVENTS:,} events for one exchange; expected those of one"
                " answer"
            )
        self.entries.append(entry)
        self.times.append(at_s)


def checked_facts(facts: Any, place: str) -> tuple[Fact, ...]:
    """The facts of one event as a function gives them. Raises `AdapterError`."""
    if facts is None:
        return ()
    if not isinstance(facts, list | tuple):
        raise AdapterError(
            f"{place}: the facts are a {type(facts).__name__}; expected a list of facts, such as"
            ' [Text("Hi")]'
        )
    return tuple(
        _fact(check_fact, fact, f"{place}: fact {number}") for number, fact in enumerate(facts, 1)
    )


def _fact(read: Callable[[Any], Fact], given: Any, place: str) -> Fact:
    try:
        return read(given)
    except NoFact as error:
        raise AdapterError(f"{place}: {error}") from None


def entries_of_json(native: Json, facts: Json, place: str) -> list[Entry]:
    """The events of a program's line. Raises `AdapterError`.

    ``facts`` has a list for each event, or is one list, which then belongs to the last event.
    """
    for name, value in (("native", native), ("facts", facts)):
        if not isinstance(value, list):
            raise AdapterError(f"{place}: {name} is {short_json(value)}; expected a list")
    paired = len(facts) == len(native) and all(isinstance(some, list) for some in facts)
    lists = facts if paired else [*([[]] * (len(native) - 1)), facts]
    events = native if native or not facts else [None]
    return [
        Entry(event, tuple(_fact(fact_of_json, fact, place) for fact in some))
        for event, some in zip(events, lists, strict=False)
    ]
