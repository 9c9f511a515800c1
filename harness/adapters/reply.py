"""The reply of an adapter to one question: native events with their facts, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from harness.facts import Entry, Fact, NoFact, Raised, check_fact, fact_of_json
from harness.stream.json_codec import Json
from harness.stream.printable import plural, short_json
from harness.stream.prompt import Prompt

from .adapter import AdapterError

ReplyLevel = Literal["facts", "payloads", "wire"]
"""``facts``: an adapter gives native events, each with its facts. ``payloads``: an adapter gives
only native events. They are compared with the expectations of an event model. ``wire``: an adapter
gives the messages of a public wire, from which we read the facts.
"""

MAX_EVENTS: Final = 100_000
"""The maximum number of events for one exchange."""


@dataclass(slots=True)
class Reply:
    """The events so far."""

    entries: list[Entry] = field(default_factory=list)
    times: list[float | None] = field(default_factory=list)
    """The time of each event, on the clock of `time.monotonic`; None if it is not known."""
    raised: Raised | None = None
    exception: BaseException | None = None
    """The exception that ``raised`` describes, if it was raised in this process."""
    skipped: str = ""
    instead: str = ""
    """A sentence about the adapter's behaviour, for the message that it sent no request."""
    address: str = "at.base_url"
    """The words for the place with the address to which the adapter must send its request."""
    doubles: bool = False
    """Whether all numbers of the adapter's language are doubles."""
    read: frozenset[str] | None = None
    """The values of ``at`` that the adapter has read; None if that is not known."""
    asked: Prompt | None = None
    """The prompt that a gateway was asked, if its wire has no place for all of a question."""
    log: str = ""
    """The end of the text that the adapter wrote to stderr."""

    def add(self, entry: Entry, at_s: float | None = None) -> None:
        """Add an event. Raises `AdapterError` for more than `MAX_EVENTS`."""
        if len(self.entries) >= MAX_EVENTS:
            raise AdapterError(
                f"it gave more than {MAX_EVENTS:,} events for one exchange; expected those of one"
                " answer"
            )
        self.entries.append(entry)
        self.times.append(at_s)


def called(value: Any) -> str:
    """Return the type of a value in words: ``an int``; ``None`` for None."""
    name = type(value).__name__
    article = "an" if name[0].lower() in "aeiou" else "a"
    return "None" if value is None else f"{article} {name}"


def checked_facts(facts: Any, place: str) -> tuple[Fact, ...]:
    """Return the facts of one event as a function gives them. Raises `AdapterError`."""
    if facts is None:
        return ()
    if not isinstance(facts, list | tuple):
        raise AdapterError(
            f"{place}: the facts are {called(facts)}; expected a list of facts, such as"
            ' [Text("Hi")]'
        )
    return _read(check_fact, facts, place)


def _read(read: Callable[[Any], Fact], facts: Sequence[Any], place: str) -> tuple[Fact, ...]:
    """Return the facts of one event. Raises `AdapterError`."""
    given: list[Fact] = []
    for fact in facts:
        try:
            given.append(read(fact))
        except NoFact as error:
            raise AdapterError(f"{place}: fact {len(given) + 1}: {error}", error.group) from None
    return tuple(given)


def entries_of_json(native: Json, facts: Json, place: str) -> list[Entry]:
    """Return the events of a program's line. Raises `AdapterError`.

    ``facts`` has a list for each event, or is one list of facts. The last event gets the facts of
    one list.
    """
    for name, value in (("native", native), ("facts", facts)):
        if not isinstance(value, list):
            raise AdapterError(f"{place}: {name} is {short_json(value)}; expected a list")
    paired = len(facts) == len(native) and all(isinstance(some, list) for some in facts)
    if not paired and any(isinstance(some, list) for some in facts):
        raise AdapterError(
            f"{place}: facts has {plural(len(facts), 'item')} for"
            f" {plural(len(native), 'event')} in native; expected a list for each event, or one"
            " list of facts for all"
        )
    lists = facts if paired else [*([[]] * (len(native) - 1)), facts]
    events = native if native or not facts else [None]
    return [
        Entry(event, _read(fact_of_json, some, f"{place}: event {number}"))
        for number, (event, some) in enumerate(zip(events, lists, strict=False), 1)
    ]
