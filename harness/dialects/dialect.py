"""The shape of a dialect: what every event model gives the pipeline, the judge and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.stream.events import Event
from harness.stream.generation import GenerateRequest, ToolOutcome
from harness.stream.session import Session, Tool

Payload = dict[str, Any]
"""One item of a dialect's stream, as plain JSON data."""


class Translator(Protocol):
    """Canonical events in, payloads out; one instance a stream."""

    def feed(self, event: Event) -> list[Payload]:
        """The payloads that this event completes, perhaps none."""

    def close(self) -> list[Payload]:
        """What is still owed when the stream has ended; called once, also after an `Incomplete`."""


@dataclass(frozen=True, slots=True)
class RequestTranslator:
    """The request half of an event model.

    ``translate(prompt, options, session)`` gives the request that a prompt asks for; it raises
    `TranslationError` and nothing else for what is wrong with the prompt. ``session`` is the one
    that the replays of earlier answers filled. ``follow_up(prompt, payloads, then)`` is what an
    application does next: the prompt with the answer that ``payloads`` are appended to it, and
    after that the outcomes of its calls, in call order, or what the user says. It changes neither
    argument.
    """

    translate: Callable[[Any, Mapping[str, Any], Session], GenerateRequest]
    follow_up: Callable[[Any, Sequence[Payload], Sequence[ToolOutcome] | str], Any]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One event model.

    ``translator(tools, session)`` makes a stage for one stream. ``losses`` are the declared losses:
    a name for use in specs → its meaning. ``order`` is the grammar of the stream, a table state →
    label → next state, from ``fresh``; ``label`` names a payload for it; ``final`` are the states
    in which a whole stream may end. ``requests`` is None where the event model only listens.
    """

    name: str
    title: str
    translator: Callable[[Sequence[Tool], Session], Translator]
    losses: Mapping[str, str]
    order: Mapping[str, Mapping[str, str]]
    label: Callable[[Payload], str]
    final: frozenset[str]
    requests: RequestTranslator | None = None
