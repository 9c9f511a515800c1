"""Reads and judges facts by the name of a dialect, as the laws do; ``events`` is a name too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.adapters import ADAPTERS, EVENTS, Output, RunOptions
from harness.facts import Call, Error, Fact, Text, Thought, Usage, View, WireFacts
from harness.facts.detail import Blocked, Unfinished
from harness.facts.stated import plain_fact
from harness.judging.aspects import compare_output
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange
from harness.stream.session import Session

EXCHANGE = Exchange(None, 200, {}, (), "complete")


def _output(
    payloads: Sequence[dict[str, Any]], signatures: Mapping[str, str | None] | None
) -> Output:
    session = Session()
    for call_id, signature in (signatures or {}).items():
        session.remember(call_id, "f", signature)
    return Output(list(payloads), session)


def gather(
    dialect: str,
    payloads: Sequence[dict[str, Any]],
    signatures: Mapping[str, str | None] | None = None,
) -> View:
    """The facts in payloads; ``signatures``: tool id → signature that the session remembers."""
    adapter = EVENTS if dialect == "events" else ADAPTERS[dialect]
    assert adapter.facts
    return View(adapter.facts(_output(payloads, signatures)))


def as_stated(facts: Iterable[Fact]) -> list[Fact]:
    """The facts as a shim states them: thoughts, text, calls, the end, counts and errors."""
    view = View([*facts])
    stated: list[Fact] = [Thought(view.thoughts)] if view.thoughts else []
    stated += [Text(view.text)] if view.text else []
    stated += [*view.of(Call), *([view.end] if view.finish else [])]
    stated += [Usage(**view.counts)] if view.counts else []
    others = (fact for fact in view.facts if isinstance(fact, Error | Blocked | Unfinished))
    return stated + [fact for fact in map(plain_fact, others) if fact]


def reading_of(wire: WireFacts, provider: str = "gemini-api") -> Reading:
    """The reading of an answer with these facts."""
    reading = Reading(EXCHANGE, RunOptions(provider=provider))
    reading.facts = wire
    return reading


def losses(
    wire: WireFacts,
    payloads: Sequence[dict[str, Any]],
    dialect: str,
    *,
    signatures: Mapping[str, str | None] | None = None,
    interrupted: bool = False,
    program: bool = False,
) -> list[str]:
    """A sentence for each aspect that payloads lose or invent, without the declared losses.
    ``program``: the wire is the output of a program.
    """
    adapter = EVENTS if dialect == "events" else ADAPTERS[dialect]
    reading = reading_of(wire, "gemini-cli" if program else "gemini-api")
    reading.interrupted = interrupted
    judged = compare_output(reading, adapter, _output(payloads, signatures))
    return [judged.error] if judged.error else [*map(judged.sentence, judged.red)]
