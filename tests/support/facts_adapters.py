"""Adapters that state their facts: a faithful one over our canonical events, and changes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from harness.adapters import Adapter, Output, RunOptions
from harness.adapters.adapter import FACTS, Effort
from harness.facts import Entry, Fact, Transcript
from harness.pipeline.replay import replay
from harness.providers.plain_events import gather_events
from harness.stream.exchange import Exchange

from .facts import as_stated

Change = Callable[[Transcript], Transcript]
FEW = Effort(24, 8, 60, bytewise=False)


def faithful(exchange: Exchange, options: RunOptions) -> Transcript:
    """The canonical events as native events; the last one has the facts."""
    events = replay(
        exchange, provider=options.provider, layer="events", tool_code=options.tool_code
    )
    facts = as_stated(gather_events(events))
    entries = [Entry(event) for event in events]
    return Transcript((*entries, Entry(None, tuple(facts))))


def facts_adapter(change: Change = lambda transcript: transcript, name: str = "planted") -> Adapter:
    """The faithful adapter with a change to every transcript."""

    def run(exchange: Exchange, options: RunOptions) -> Output:
        return Output.of_transcript(change(faithful(exchange, options)))

    return Adapter(name=name, model=FACTS, run=run, effort=FEW)


def with_facts(change: Callable[[Fact], Iterator[Fact]]) -> Change:
    """Changes each fact of a transcript."""

    def changed(transcript: Transcript) -> Transcript:
        entries = (
            Entry(entry.native, tuple(new for fact in entry.facts for new in change(fact)))
            for entry in transcript.entries
        )
        return replace(transcript, entries=tuple(entries))

    return changed


def with_native(change: Callable[[Any], Any]) -> Change:
    """Changes each native event of a transcript."""

    def changed(transcript: Transcript) -> Transcript:
        entries = (Entry(change(entry.native), entry.facts) for entry in transcript.entries)
        return replace(transcript, entries=tuple(entries))

    return changed
