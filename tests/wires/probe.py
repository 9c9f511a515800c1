"""Feeds samples to the reader and to the oracle of a provider, and names what they do not know."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness import replay
from harness.adapters import EVENTS, RunOptions
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading
from harness.providers import PROVIDERS
from harness.proving.second_reader import compare_readers
from harness.stream.exchange import Exchange
from harness.stream.websocket import SWITCHED, Message, write_message
from tests.readers import READERS

from .shapes import Sample, samples
from .sources import Root, Source


@dataclass(frozen=True, order=True)
class Gap:
    """A thing that is not known. ``outcome``: ``unknown`` (an unknown event), ``other`` (a finish
    reason without a class), ``nowhere`` (it changes no event), ``reader and oracle differ`` (law 3 is
    broken).
    """

    source: str
    outcome: str
    label: str


def gaps(source: Source) -> tuple[list[Gap], set[str]]:
    """The gaps of one SDK, and the labels of everything that was fed."""
    found: set[Gap] = set()
    labels: set[str] = set()
    for root in source.roots():
        for sample in samples(root.shape, source.beside):
            labels.add(sample.label)
            outcomes = _outcomes(source.provider, root, sample)
            found |= {Gap(source.name, outcome, sample.label) for outcome in outcomes}
    return sorted(found), labels


def _outcomes(provider: str, root: Root, sample: Sample) -> Iterator[str]:
    exchange = _exchange(provider, root.messages(sample.value))
    events = replay(exchange, layer="events", provider=provider)
    without = _exchange(provider, root.messages(sample.without))
    base = replay(without, layer="events", provider=provider)
    if any(event["kind"] == "unknown" and event not in base for event in events):
        yield "unknown"
    elif any(
        event["kind"] == "finish" and event["reason"] == "other" and event["raw"] == sample.word
        for event in events
    ):
        yield "other"
    if events == base:
        yield "nowhere"
    if provider in READERS:
        differ = bool(
            compare_readers(PROVIDERS[provider], READERS[provider], [("sample", exchange)])
        )
    else:
        reading = Reading(exchange, RunOptions(provider=provider))
        differ = bool(judge_exchange(reading, EVENTS).red)
    if differ:
        yield "reader and oracle differ"


def _exchange(provider: str, messages: Iterable[Any]) -> Exchange:
    texts = [json.dumps(message).encode() for message in messages]
    if provider == "live":
        body = b"".join(write_message(Message("server", text)) for text in texts)
        return Exchange(None, SWITCHED, {}, ((None, body),), provider=provider, generates=True)
    body = b"".join(b"data: " + text + b"\n\n" for text in texts)
    return Exchange(None, 200, {}, ((None, body),), provider=provider, generates=True)
