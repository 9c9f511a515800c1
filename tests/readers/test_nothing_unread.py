"""Each value of an answer stands in an event, and rare faults of a reader are seen: as a value that
is left unread, or as a difference from the second reader.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest

from harness.adapters import ADAPTERS, Adapter, Output, RunOptions, Subject
from harness.adapters.adapter import FACTS
from harness.facts import Entry, Finish, Transcript
from harness.facts import Text as TextFact
from harness.judging.aspects import judge_exchange
from harness.judging.laws.loss import LOSS
from harness.judging.reading import Reading
from harness.providers import PROVIDERS, Provider
from harness.providers.gemini.facts import GeminiFacts
from harness.providers.unread import unread_values
from harness.proving.second_reader import bodies_of, compare_readers
from harness.stream.events import (
    CallEnd,
    CallStart,
    CallText,
    End,
    Event,
    Reasoning,
    Text,
    Usage,
)
from harness.stream.exchange import Exchange
from harness.stream.framing import MAX_FRAME, Frame
from tests.readers import READERS, answers

SHIPPED = cache(lambda wire: list(answers(wire)))
Change = Callable[[Frame, Event], Iterable[Event]]


def unread(provider: Provider, exchange: Exchange, body: bytes) -> list[str]:
    answer = provider.answer(exchange, None, None)
    return unread_values(provider.steps(body, answer, exchange.end), provider)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_every_value_of_a_shipped_answer_stands_in_an_event(wire: str) -> None:
    provider = PROVIDERS[wire]
    left = {
        place: unread(provider, exchange, body)
        for place, exchange, body in bodies_of(provider, SHIPPED(wire), 0, 0)
    }
    assert {place: values for place, values in left.items() if values} == {}


GOOGLE = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
OPENAI = {"error": {"message": "overloaded", "type": "server_error", "code": "busy"}}
ERRORS: dict[str, Any] = {
    **dict.fromkeys(("gemini-api", "vertex-ai", "code-assist"), GOOGLE),
    **dict.fromkeys(("openai", "openai-compat"), OPENAI),
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    "interactions": {"event_type": "error", "error": {"code": "busy", "message": "overloaded"}},
}
"""The message of each wire that reports an error in a stream."""


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.parametrize("end", ["cut", "error"])
def test_every_value_of_an_answer_that_ends_early_stands_in_an_event(wire: str, end: str) -> None:
    provider = PROVIDERS[wire]
    random = Random(1)
    left: dict[tuple[str, int], list[str]] = {}
    error = f"data: {json.dumps(ERRORS.get(wire))}\n\n".encode()
    for place, exchange, body in bodies_of(provider, SHIPPED(wire), 0, 0):
        framer = provider.framer(MAX_FRAME)
        frames = framer.feed(body) + framer.close()
        short = body[: random.choice(frames).offset] if frames else body
        if end == "error" and wire in ERRORS and len(frames) > 1:
            values = unread(provider, exchange, short + error)
        else:
            values = unread(provider, replace(exchange, end="cut"), short)
        left |= {(place, len(short)): values} if values else {}
    assert left == {}


@pytest.mark.parametrize("wire", PROVIDERS)
def test_every_value_of_a_changed_answer_stands_in_an_event(wire: str) -> None:
    provider = PROVIDERS[wire]
    changed = bodies_of(provider, SHIPPED(wire), 50, 1)
    left = {place: unread(provider, exchange, body) for place, exchange, body in changed}
    assert {place: values for place, values in left.items() if values} == {}


# ---------------------------------------------------------------- rare faults


def with_fault(wire: str, change: Change) -> Provider:
    """The provider of a wire with a fault in its reader: a change of the events of each frame."""
    provider = PROVIDERS[wire]

    class Faulty:
        def __init__(self, answer: Any) -> None:
            self.normalizer = provider.normalizer(answer)

        def feed(self, frame: Frame) -> list[Event]:
            events = self.normalizer.feed(frame)
            return [kept for event in events for kept in change(frame, event)]

        def close(self, end: End = "complete") -> list[Event]:
            return self.normalizer.close(end)

    return replace(provider, normalizer=Faulty)


def ways_of_seeing(
    faulty: Provider, word: str = "", lacking: str = "", changes: int = 150
) -> set[str]:
    """The ways in which a fault is seen in changes of the answers with a word and without another.
    A value that the right reader leaves unread too shows nothing.
    """
    right = PROVIDERS[faulty.name]
    shipped = [
        (place, exchange)
        for place, exchange in SHIPPED(faulty.name)
        if word.encode() in exchange.body and not (lacking and lacking.encode() in exchange.body)
    ]
    seen = set()
    second = READERS[faulty.name]
    found, before = (
        compare_readers(provider, second, shipped, changes=changes, seed=1)
        for provider in (faulty, right)
    )
    if found != before:
        seen.add("second reader")
    for _, exchange, body in bodies_of(faulty, shipped, changes, 1):
        if unread(faulty, exchange, body) and not unread(right, exchange, body):
            seen.add("unread")
            break
    return seen


def parts_of(frame: Frame) -> list[Any]:
    match frame.json:
        case {"candidates": [{"content": {"parts": list(parts)}}, *_]}:
            return parts
    return []


def calls_of_many_parts(frame: Frame, event: Event) -> Iterable[Event]:
    is_call = isinstance(event, CallStart | CallText | CallEnd)
    return [] if is_call and len(parts_of(frame)) > 4 else [event]


def line_ends_of_long_pieces(frame: Frame, event: Event) -> Iterable[Event]:
    if isinstance(event, Text) and len(event.text) > 1_000:
        return [Text(event.text.rstrip())]
    return [event]


def index_of(frame: Frame) -> int:
    match frame.json:
        case {"output_index": int(index)}:
            return index
        case {"choices": [{"delta": {"tool_calls": [{"index": int(index)}, *_]}}, *_]}:
            return index
    return 0


def indexes_above_three(frame: Frame, event: Event) -> Iterable[Event]:
    return [] if index_of(frame) > 3 else [event]


def counts_of_zero(frame: Frame, event: Event) -> Iterable[Event]:
    if isinstance(event, Usage):
        return [Usage({name: count for name, count in event.raw.items() if count != 0})]
    return [event]


def third_parts_of_summaries(frame: Frame, event: Event) -> Iterable[Event]:
    match frame.json:
        case {"summary_index": 2} if isinstance(event, Reasoning):
            return [Text(event.text)]
    return [event]


def second_candidates_without_index(frame: Frame, event: Event) -> Iterable[Event]:
    match frame.json:
        case {"candidates": [_, dict(second), *_]} if "index" not in second:
            if getattr(event, "candidate", 0) == 1:
                return [msgspec.structs.replace(event, candidate=0)]
    return [event]


@pytest.mark.parametrize(
    ("wire", "change", "word", "lacking", "ways"),
    [
        ("gemini-api", calls_of_many_parts, "functionCall", "", {"second reader", "unread"}),
        ("gemini-api", line_ends_of_long_pieces, "text", "", {"second reader", "unread"}),
        ("openai", indexes_above_three, "tool_calls", "", {"second reader", "unread"}),
        ("openai", indexes_above_three, "response.completed", "", {"second reader", "unread"}),
        ("gemini-api", counts_of_zero, "usageMetadata", "", {"second reader"}),
        ("openai", third_parts_of_summaries, "summary_index", "", {"second reader"}),
        ("gemini-api", second_candidates_without_index, "text", "index", {"second reader"}),
    ],
)
def test_a_rare_fault_is_seen(
    wire: str, change: Change, word: str, lacking: str, ways: set[str]
) -> None:
    assert ways_of_seeing(with_fault(wire, change), word, lacking) == ways


def test_a_lost_big_count_as_text_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    names = vars(sys.modules[GeminiFacts.__module__])["count_gemini"].__globals__
    whole = names["_whole"]

    def without_big_texts(count: object) -> object:
        return None if isinstance(count, str) and len(count) > 5 else whole(count)

    monkeypatch.setitem(names, "_whole", without_big_texts)
    wire = "gemini-api"
    found = compare_readers(PROVIDERS[wire], READERS[wire], SHIPPED(wire), changes=1_000, seed=1)
    assert {name for difference in found for name in difference.facts} >= {"usage"}


# ---------------------------------------------------------------- an answer that is left unread


def deaf_to_calls(frame: Frame, event: Event) -> Iterable[Event]:
    return [] if isinstance(event, CallStart | CallText | CallEnd) else [event]


BODY = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}, {"functionCall":'
    b' {"name": "get_weather", "args": {"city": "Oslo"}}}]}, "finishReason": "STOP"}]}\n\n'
)
CALL = "candidates[].content.parts[].functionCall"
LEFT = f"{CALL}.name {CALL}.args.city"


EXCHANGE = Exchange(None, 200, {}, ((None, BODY),), "complete")
OPTIONS = RunOptions(provider="gemini-api")


def state(exchange: Exchange, options: RunOptions) -> Output:
    """An output with the wrong text."""
    facts = (TextFact("Ho"), Finish("STOP"))
    return Output.of_transcript(Transcript((Entry({}, facts),)))


@pytest.mark.parametrize("length", [0, 1 << 21])
def test_a_red_aspect_of_an_answer_that_is_left_unread_is_not_asked(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = Adapter(name="stranger", model=FACTS, run=state)
    exchange = replace(EXCHANGE, reads=((None, BODY.replace(b"Hi", b"Hi" + b"!" * length)),))
    judged = judge_exchange(Reading(exchange, OPTIONS), stranger)
    assert [judged.aspects[name].verdict for name in ("text", "finish")] == ["wrong", "kept"]
    monkeypatch.setitem(PROVIDERS, "gemini-api", with_fault("gemini-api", deaf_to_calls))
    judged = judge_exchange(Reading(exchange, OPTIONS), stranger)
    assert [judged.aspects[name].verdict for name in ("text", "finish")] == ["not_asked", "kept"]
    assert judged.sentence("text") == f"text not asked: the reader left {LEFT} unread"


def test_an_answer_that_is_left_unread_breaks_law_3_for_an_own_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subject = Subject(ADAPTERS["art"], OPTIONS)
    assert LOSS.findings(EXCHANGE, subject) == []
    monkeypatch.setitem(PROVIDERS, "gemini-api", with_fault("gemini-api", deaf_to_calls))
    (breach,) = LOSS.findings(EXCHANGE, subject)
    assert breach.sentence == f"the reader left {LEFT} unread"
