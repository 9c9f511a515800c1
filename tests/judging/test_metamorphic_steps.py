"""The wire variants of the Interactions API: each changes a stream that has every feature, every
relation holds for our event models, and faulty readers break the relations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.judging.metamorphic.catalogue import STEP_OTHERS, STEP_SPELLINGS
from harness.judging.metamorphic.steps import STREAM, repeat_steps, stream_events
from harness.providers import with_provider
from tests.support.variant_checks import (
    assert_all_apply,
    assert_changes,
    assert_faithful,
    assert_none_applies,
    broken_relations,
)

ROOT = Path(__file__).parents[2]
USAGE = {"total_input_tokens": 4, "total_output_tokens": 6, "total_tokens": 10}
EVENTS: list[Any] = [
    {"event_type": "interaction.created", "interaction": {"id": "v1_a", "status": "in_progress"}},
    {"event_type": "step.start", "index": 0, "step": {"type": "thought"}},
    {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "thought_summary", "content": {"type": "text", "text": "hm"}},
    },
    {
        "event_type": "step.delta",
        "index": 0,
        "delta": {"type": "thought_signature", "signature": "QQ=="},
    },
    {"event_type": "step.stop", "index": 0},
    {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
    {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "Héllo"}},
    {"event_type": "step.stop", "index": 1},
    {
        "event_type": "step.start",
        "index": 2,
        "step": {"type": "function_call", "id": "i", "name": "f", "arguments": {}},
    },
    {
        "event_type": "step.delta",
        "index": 2,
        "delta": {"type": "arguments_delta", "arguments": '{"a":"b"}'},
    },
    {"event_type": "step.stop", "index": 2},
    {"event_type": "step.start", "index": 3, "step": {"type": "function_call", "name": "g"}},
    {"event_type": "step.stop", "index": 3},
    {
        "event_type": "interaction.completed",
        "interaction": {"id": "v1_a", "status": "requires_action", "usage": USAGE},
    },
    "[DONE]",
]
EXCHANGE = with_provider(Exchange(None, 200, {}, ((None, STREAM.written(EVENTS)),), "complete"))
VARIANTS = (*STEP_SPELLINGS, *STEP_OTHERS)


def test_every_variant_changes_a_stream_that_has_everything() -> None:
    assert_all_apply(EXCHANGE, VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_changes_the_body_or_its_end(variant: Any) -> None:
    assert_changes(variant, EXCHANGE)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_our_event_models(dialect: str) -> None:
    assert_faithful([EXCHANGE], dialect)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calls", "thoughts", "server-tools", "usage", "ends"])
def test_every_relation_holds_for_shipped_streams(name: str) -> None:
    exchanges = harness.load(ROOT / "cassettes" / "interactions" / f"{name}.yaml").exchanges
    assert_faithful(exchanges)


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, status=500),
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, headers={"Content-Encoding": ["gzip"]}),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS[:-2])),)),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS[1:])),)),
        replace(EXCHANGE, reads=((None, STREAM.written([*EVENTS[:9], *EVENTS[10:]]) + b"oops\n"),)),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS).replace(b'{\\"a', b'[\\"a')),)),
    ],
)
def test_only_whole_streams_that_ended_well_are_changed(unfit: Exchange) -> None:
    assert stream_events(unfit) is None
    assert_none_applies(unfit, VARIANTS)


Fault = Callable[[list[Any]], list[Any]]


def without(kind: str) -> Fault:
    return lambda events: [event for event in events if event.get("event_type") != kind]


def first_piece_alone(events: list[Any]) -> list[Any]:
    seen: set[tuple[Any, Any]] = set()
    kept = []
    for event in events:
        key = (event.get("index"), event.get("delta", {}).get("type"))
        if "delta" not in event or key not in seen:
            kept.append(event)
        seen.add(key)
    return kept


def usage_of_the_way(events: list[Any]) -> list[Any]:
    if any("metadata" in event for event in events):
        events[-1]["interaction"].pop("usage", None)
    return events


def text_from_the_end(events: list[Any]) -> list[Any]:
    steps = events[-1].get("interaction", {}).get("steps", [])
    extra = [
        {"event_type": "step.start", "index": index, "step": step}
        for index, step in enumerate(steps, 100)
        if "content" in step
    ]
    return [*events[:-1], *extra, events[-1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (first_piece_alone, {"text-split", "arguments-split"}),
        (usage_of_the_way, {"usage-running"}),
        (text_from_the_end, {"steps-repeated"}),
        (without("error"), {"error-as-event"}),
    ],
    ids=["first piece alone", "counts of the way", "text of the end again", "deaf to errors"],
)
def test_a_faulty_reader_breaks_a_relation(fault: Fault, names: set[str]) -> None:
    def body(exchange: Exchange) -> bytes | None:
        if not exchange.body.startswith(b"event:") or exchange.end != "complete":
            return None
        lines = exchange.body.splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
        return STREAM.written(fault(events))

    assert names <= broken_relations(EXCHANGE, body)


def test_overlapping_steps_are_repeated_each_with_its_own_pieces() -> None:
    interaction: dict[str, Any] = {"status": "completed"}
    last = {"event_type": "interaction.completed", "interaction": interaction}
    repeat_steps([EVENTS[0], *overlapping(), last])
    assert interaction["steps"] == [
        {"type": "function_call", "id": "i", "name": "f", "arguments": {"a": 1}},
        {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]},
    ]


def overlapping() -> list[Any]:
    """A call, and a text that begins before the call ends."""
    call = {"type": "function_call", "id": "i", "name": "f", "arguments": {}}
    return [
        {"event_type": "step.start", "index": 0, "step": call},
        {"event_type": "step.start", "index": 1, "step": {"type": "model_output"}},
        *(
            {"event_type": "step.delta", "index": index, "delta": delta}
            for index, delta in (
                (0, {"type": "arguments_delta", "arguments": '{"a":'}),
                (1, {"type": "text", "text": "Hi"}),
                (0, {"type": "arguments_delta", "arguments": "1}"}),
            )
        ),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.stop", "index": 1},
    ]
