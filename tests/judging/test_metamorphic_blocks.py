"""The wire variants of Anthropic's Messages API: each changes a stream that has every feature, every
relation holds for our event models, and faulty readers break the relations.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.judging.metamorphic.blocks import STREAM, stream_events
from harness.judging.metamorphic.catalogue import BLOCK_OTHERS, BLOCK_SPELLINGS
from harness.providers import with_provider
from tests.support.variant_checks import (
    assert_all_apply,
    assert_changes,
    assert_faithful,
    assert_none_applies,
    broken_relations,
)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5",
            "content": [],
            "stop_reason": None,
            "usage": {"input_tokens": 4, "output_tokens": 1},
        },
    },
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "QQ=="},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Héllo"}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"a":"b"}'},
    ),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 6},
    },
    {"type": "message_stop"},
]
EXCHANGE = with_provider(Exchange(None, 200, {}, ((None, STREAM.written(EVENTS)),), "complete"))
VARIANTS = (*BLOCK_SPELLINGS, *BLOCK_OTHERS)


def test_every_variant_changes_a_stream_that_has_everything() -> None:
    assert_all_apply(EXCHANGE, VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_changes_the_body_or_its_end(variant: Any) -> None:
    assert_changes(variant, EXCHANGE)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_our_event_models(dialect: str) -> None:
    assert_faithful([EXCHANGE], dialect)


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, status=500),
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, headers={"Content-Encoding": ["gzip"]}),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS[:-2])),)),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS[1:])),)),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS) + b"oops\n"),)),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS).replace(b'{\\"a', b'[\\"a')),)),
    ],
)
def test_only_whole_streams_that_ended_well_are_changed(unfit: Exchange) -> None:
    assert stream_events(unfit) is None
    assert_none_applies(unfit, VARIANTS)


Fault = Callable[[list[Any]], list[Any]]


def first_piece_alone(events: list[Any]) -> list[Any]:
    seen: set[tuple[Any, Any]] = set()
    kept = []
    for event in events:
        key = (event.get("index"), event["type"])
        if event["type"] != "content_block_delta" or key not in seen:
            kept.append(event)
        seen.add(key)
    return kept


def deaf_to_errors(events: list[Any]) -> list[Any]:
    return [event for event in events if event["type"] != "error"]


def one_block_at_a_time(events: list[Any]) -> list[Any]:
    """The stop of any block closes the block that began last, and what follows for it is lost."""
    opened, kept = -1, []
    for event in events:
        if event["type"] == "content_block_start":
            opened = event["index"]
        if event["type"] != "content_block_delta" or event["index"] == opened:
            kept.append(event)
        if event["type"] == "content_block_stop":
            opened = -1
    return kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (first_piece_alone, {"text-split", "arguments-split", "arguments-empty"}),
        (deaf_to_errors, {"error-as-event"}),
        (one_block_at_a_time, {"blocks-overlap"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_faulty_reader_breaks_a_relation(fault: Fault, names: set[str]) -> None:
    def body(exchange: Exchange) -> bytes | None:
        if not exchange.body.startswith(b"event:") or exchange.end != "complete":
            return None
        lines = exchange.body.splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
        return STREAM.written(fault(events))

    assert names <= broken_relations(EXCHANGE, body)
