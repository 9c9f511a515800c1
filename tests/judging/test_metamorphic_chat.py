"""The wire variants of Chat Completions: each changes a stream that has every feature, every
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
from harness.judging.metamorphic.catalogue import CHAT_OTHERS, CHAT_SPELLINGS
from harness.judging.metamorphic.chat import END, chunks_of, written
from harness.providers import with_provider
from tests.support.variant_checks import (
    assert_all_apply,
    assert_changes,
    assert_faithful,
    assert_none_applies,
    broken_relations,
)

ROOT = Path(__file__).parents[2]
SIGNED = {"google": {"thought_signature": "QQ=="}}


def chunk(delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    choices = [{"delta": delta, "index": 0, **choice}]
    names = {"created": 1, "id": "r", "model": "gemini-x", "object": "chat.completion.chunk"}
    return {"choices": choices, **names}


def call(call_id: str, arguments: str) -> dict[str, Any]:
    return {"function": {"arguments": arguments, "name": "f"}, "id": call_id, "type": "function"}


CHUNKS: list[Any] = [
    chunk({"content": "<thought>hm", "extra_content": {"google": {"thought": True}}}),
    chunk({"content": "Héllo", "extra_content": SIGNED}),
    chunk({"tool_calls": [{**call("i", '{"a":"b"}'), "extra_content": SIGNED}]}),
    chunk({"tool_calls": [call("j", '{"a":1}'), call("k", "{}")]}),
    chunk({}, finish_reason="stop")
    | {"usage": {"completion_tokens": 2, "prompt_tokens": 7, "total_tokens": 30}},
]
BODY = written(CHUNKS) + END + b"\n\n"
EXCHANGE = with_provider(Exchange(None, 200, {}, ((None, BODY),), "complete"))
VARIANTS = (*CHAT_SPELLINGS, *CHAT_OTHERS)


def test_every_variant_changes_a_stream_that_has_everything() -> None:
    assert_all_apply(EXCHANGE, VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_variant_changes_the_body_or_its_end(variant: Any) -> None:
    assert_changes(variant, EXCHANGE)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_our_event_models(dialect: str) -> None:
    assert_faithful([EXCHANGE], dialect)


@pytest.mark.parametrize("name", ["calls", "thoughts", "signatures", "text", "usage", "finishes"])
def test_every_relation_holds_for_shipped_streams(name: str) -> None:
    exchanges = harness.load(ROOT / "cassettes" / "openai-compat" / f"{name}.yaml").exchanges
    assert_faithful(exchanges)


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, status=500),
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, headers={"Content-Encoding": ["gzip"]}),
        replace(EXCHANGE, reads=((None, written(CHUNKS[:-1])),)),
        replace(EXCHANGE, reads=((None, BODY + b"oops\n"),)),
        replace(EXCHANGE, reads=((None, BODY + b'data: {"error": {"code": 500}}\n\n'),)),
        replace(EXCHANGE, reads=((None, BODY.replace(b'{\\"a\\":1}', b"[1]")),)),
    ],
)
def test_only_whole_streams_that_ended_well_are_changed(unfit: Exchange) -> None:
    assert chunks_of(unfit) is None
    assert_none_applies(unfit, VARIANTS)


Fault = Callable[[bytes], bytes]
PIECE_ALONE = re.compile(rb'\[\{"function":\{"arguments":"(?:[^"\\]|\\.)*"\}\}\]')


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (lambda body: body.replace(b'"google"', b'"other"'), {"vertex"}),
        (lambda body: body.replace(b'"error"', b'"fault"'), {"error-as-event", "error-raw"}),
        (lambda body: PIECE_ALONE.sub(b"[]", body), {"arguments-cut"}),
    ],
    ids=["one vendor", "deaf to errors", "first piece alone"],
)
def test_a_faulty_reader_breaks_a_relation(fault: Fault, names: set[str]) -> None:
    assert names <= broken_relations(EXCHANGE, lambda exchange: fault(exchange.body))
