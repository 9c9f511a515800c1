"""The wire variants of the Responses API: each changes a stream that has every feature, every
relation holds for our event models, and faulty readers break the relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.judging.metamorphic.catalogue import ITEM_OTHERS, ITEM_SPELLINGS
from harness.judging.metamorphic.items import STREAM, stream_events
from harness.providers import with_provider
from tests.support.variant_checks import (
    assert_all_apply,
    assert_changes,
    assert_faithful,
    assert_none_applies,
    broken_relations,
)

ROOT = Path(__file__).parents[2]
NAMES = {"id": "r", "object": "response", "model": "m"}
USAGE = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
PART = {"type": "output_text", "text": "Héllo", "annotations": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f"}
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "QQ=="},
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [PART]},
    {**CALL, "arguments": '{"a":"b"}'},
]


def item(step: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{step}", "output_index": index, "item": fields}


def of(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, "item_id": f"i{index}", **fields}


EVENTS: list[Any] = [
    {"type": "response.created", "response": {**NAMES, "status": "in_progress"}},
    item("added", 0, type="reasoning", id="rs_0", summary=[]),
    item("done", 0, **ITEMS[0]),
    item("added", 1, type="message", id="msg_1", role="assistant", content=[]),
    of("output_text.delta", 1, content_index=0, delta="Héllo"),
    of("output_text.done", 1, content_index=0, text="Héllo"),
    of("content_part.done", 1, content_index=0, part=PART),
    item("done", 1, **ITEMS[1]),
    item("added", 2, **CALL, arguments=""),
    of("function_call_arguments.delta", 2, delta='{"a":'),
    of("function_call_arguments.delta", 2, delta='"b"}'),
    of("function_call_arguments.done", 2, arguments='{"a":"b"}'),
    item("done", 2, **ITEMS[2]),
    {
        "type": "response.completed",
        "response": {**NAMES, "status": "completed", "output": ITEMS, "usage": USAGE},
    },
]
BODY = STREAM.written(EVENTS)
EXCHANGE = with_provider(Exchange(None, 200, {}, ((None, BODY),), "complete"))
VARIANTS = (*ITEM_SPELLINGS, *ITEM_OTHERS)


def test_every_variant_changes_a_stream_that_has_everything() -> None:
    assert_all_apply(EXCHANGE, VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_changes_the_body_or_its_end(variant: Any) -> None:
    assert_changes(variant, EXCHANGE)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_our_event_models(dialect: str) -> None:
    assert_faithful([EXCHANGE], dialect)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["text", "responses-calls", "responses-reasoning", "chat-calls"])
def test_every_relation_holds_for_shipped_streams(name: str) -> None:
    assert_faithful(harness.load(ROOT / "cassettes" / "openai" / f"{name}.yaml").exchanges)


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, status=500),
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, headers={"Content-Encoding": ["gzip"]}),
        replace(EXCHANGE, reads=((None, STREAM.written(EVENTS[:-1])),)),
        replace(EXCHANGE, reads=((None, BODY + b"oops\n"),)),
        replace(EXCHANGE, reads=((None, BODY.replace(b'"b\\"}"', b'"b\\""')),)),
    ],
)
def test_only_whole_streams_that_ended_well_are_changed(unfit: Exchange) -> None:
    assert stream_events(unfit) is None
    assert_none_applies(unfit, VARIANTS)


Fault = Callable[[bytes], bytes]
TEXT = re.compile(rb'"text":"[^"]*"')


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (lambda body: body.replace(b'"error"', b'"fault"'), {"error-as-event", "error-flat"}),
        (lambda body: TEXT.sub(b'"text":""', body), {"ends-alone"}),
        (lambda body: body.replace(b'"output_index"', b'"place"'), {"item-ids-rotate"}),
    ],
    ids=["deaf to errors", "pieces alone", "joined by ids"],
)
def test_a_faulty_reader_breaks_a_relation(fault: Fault, names: set[str]) -> None:
    assert names & broken_relations(EXCHANGE, lambda exchange: fault(exchange.body))
