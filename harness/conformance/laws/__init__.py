"""The laws: what holds for every replay of every exchange, whatever the answer is, so that no
golden expectation is needed.

Each law is a function that replays one exchange in its own ways and says in one sentence each where
it does not hold. Everything that looks random is seeded by the body itself: the same exchange gives
the same findings on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from harness.cassettes import Exchange

from .corruption import bad_input_is_answered
from .cuts import cut_short, cuts_dont_matter
from .order_and_loss import legal_order, nothing_lost, same_twice
from .replayer import Replayer
from .respelling import no_other_spelling, spelling_doesnt_matter
from .round_trip import nothing_goes_back, what_goes_back

__all__ = ["LAWS", "Law", "Replayer", "check"]


@dataclass(frozen=True, slots=True)
class Law:
    """A law: its number and title, what it says, and ``findings(exchange, how)``: a sentence for
    each breach, none where it holds.

    ``layers`` are those that ``findings`` looks at. One that looks at events alone says the same
    for every dialect. ``feature`` is the line of the checklist that it belongs to, ``source`` its
    documentation. ``unasked(exchange, how)``: why it has nothing to look at; "" where it has.
    """

    id: int
    title: str
    sentence: str
    findings: Callable[[Exchange, Replayer], list[str]]
    layers: tuple[str, ...] = ("events", "payloads")
    feature: str = "text.streaming"
    source: str = "https://ai.google.dev/api/generate-content"
    unasked: Callable[[Exchange, Replayer], str] = lambda exchange, how: ""

    @property
    def name(self) -> str:
        """The law in lower case, words joined by ``-``: what items and cases call it."""
        return re.sub("[^a-z]+", "-", self.title.lower().replace("'", ""))

    def said_of(self, layer: str) -> str:
        """What it says, of the items of that layer: a law of events is asked of payloads too."""
        return self.sentence if layer in self.layers else self.sentence.replace("events", layer)


_SSE: Final = "https://html.spec.whatwg.org/multipage/server-sent-events.html"

LAWS: Final[tuple[Law, ...]] = (
    Law(
        1,
        "Cuts don't matter",
        "However the network cuts the bytes, the events are the same.",
        cuts_dont_matter,
        ("events",),
        "framing.split-reads",
        _SSE,
    ),
    Law(
        2,
        "Legal order",
        "Events and payloads walk the grammar that their kind declares.",
        legal_order,
    ),
    Law(
        3,
        "Nothing lost, nothing invented",
        "What the raw bytes say is what events and payloads carry.",
        nothing_lost,
    ),
    Law(
        4,
        "Cut short",
        "Every prefix gives a prefix of the events, then incomplete.",
        cut_short,
        ("events",),
        "stream-end.cut",
        _SSE,
    ),
    Law(5, "Same twice", "A second replay gives the same events and payloads.", same_twice),
    Law(
        6,
        "Spelling doesn't matter",
        "The same answer in other words has the same content.",
        spelling_doesnt_matter,
        ("events",),
        "spelling.snake-case",
        unasked=no_other_spelling,
    ),
    Law(
        7,
        "Bad input is answered",
        "Garbage gives an error or an unknown event, never an exception or silence.",
        bad_input_is_answered,
        feature="unknown.frames",
    ),
    Law(
        8,
        "What goes back",
        "After its calls have run, every call, id, name, argument and signature of the answer is"
        " sent back at its part.",
        what_goes_back,
        ("payloads",),
        "requests.signatures",
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
        nothing_goes_back,
    ),
)


def check(exchange: Exchange, how: Replayer | None = None) -> list[str]:
    """The breaches of all laws by one exchange, each with the law's number in front."""
    return [
        f"law {law.id}: {finding}"
        for law in LAWS
        for finding in law.findings(exchange, how or Replayer())
    ]
