"""Law 10: a stream of Anthropic comes out of the dialect anthropic as it came, and the law finds
faults that keep every fact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.adapters import ADAPTERS, Subject
from harness.cassettes import Exchange
from harness.judging.laws import LAWS
from harness.judging.laws.loss import LOSS
from harness.judging.laws.near_identity import NEAR_IDENTITY
from tests.support.adapters import payloads_of

CASSETTES = Path(__file__).parents[3] / "cassettes"
Items = list[dict[str, Any]]
load = partial(harness.load)


def recorded(name: str, number: int) -> Exchange:
    return load(CASSETTES / f"{name}.yaml").exchanges[number - 1]


TWO_TEXTS = recorded("anthropic/text", 2)
STOP_SEQUENCE = recorded("anthropic/text", 5)
FULL_CONTEXT = recorded("anthropic/ends", 2)
CACHED = recorded("anthropic/usage", 1)
THOUGHTS = recorded("anthropic/thinking", 5)
EDITED = recorded("anthropic/unknown", 5)


def join_texts(items: Items) -> Items:
    """Two text blocks in a row become one."""
    kept, number = [], 0
    for item in items:
        if item["type"] in ("content_block_start", "content_block_stop"):
            number += item["type"] == "content_block_start"
            first_start = item["type"] == "content_block_start" and number == 1
            last_stop = item["type"] == "content_block_stop" and number == 2
            if not (first_start or last_stop):
                continue
        kept.append({**item, "index": 0} if "index" in item else item)
    return kept


def change_delta(name: str, value: Any) -> Callable[[Items], Items]:
    def change(items: Items) -> Items:
        for item in items:
            if item["type"] == "message_delta":
                item["delta"][name] = value
        return items

    return change


def lose_cache_writes(items: Items) -> Items:
    for item in items:
        if item["type"] == "message_delta":
            item["usage"]["input_tokens"] += item["usage"].pop("cache_creation_input_tokens")
    for item in items:
        item.get("message", {}).get("usage", {}).pop("cache_creation_input_tokens", None)
    return items


def lose_edits(items: Items) -> Items:
    return [{name: item[name] for name in item if name != "context_management"} for item in items]


def swap_signatures(items: Items) -> Items:
    deltas = [
        item["delta"] for item in items if item.get("delta", {}).get("type") == "signature_delta"
    ]
    deltas[0]["signature"], deltas[1]["signature"] = (
        deltas[1]["signature"],
        deltas[0]["signature"],
    )
    return items


FAULTS = {
    "two texts are joined": (TWO_TEXTS, join_texts, "content is [{"),
    "the stop sequence is lost": (
        STOP_SEQUENCE,
        change_delta("stop_sequence", None),
        "the message is {",
    ),
    "another word of the same class": (
        FULL_CONTEXT,
        change_delta("stop_reason", "max_tokens"),
        "stop_reason is 'max_tokens'; on the wire it is 'model_context_window_exceeded'",
    ),
    "tokens written to the cache become others": (
        CACHED,
        lose_cache_writes,
        "usage input_tokens is 209",
    ),
    "the edits of the context are lost": (EDITED, lose_edits, "the message is {"),
    "signatures are swapped": (THOUGHTS, swap_signatures, "content 1 signature is 'c2lnLTAy'"),
}


@pytest.mark.parametrize(("exchange", "fault", "sentence"), FAULTS.values(), ids=FAULTS)
def test_a_fault_that_keeps_every_fact_is_found(
    exchange: Exchange, fault: Callable[[Items], Items], sentence: str
) -> None:
    def replay(recorded: Exchange, **options: Any) -> Items:
        return fault(harness.replay(recorded, **options))

    subject = Subject(payloads_of(replay, "anthropic"))
    assert LOSS.findings(exchange, subject) == []
    (breach, *_) = NEAR_IDENTITY.findings(exchange, subject)
    assert breach.sentence.startswith(sentence)
    assert NEAR_IDENTITY.findings(exchange, Subject(ADAPTERS["anthropic"])) == []


@pytest.mark.parametrize(
    ("exchange", "dialect", "reason"),
    [
        (TWO_TEXTS, "art", "the event model is not that of the wire"),
        (recorded("gemini-api/text", 1), "anthropic", "the event model is not that of the wire"),
        (recorded("anthropic/ends", 8), "anthropic", "the answer has no good end"),
        (recorded("anthropic/calls", 4), "anthropic", "the answer has no good end"),
        (recorded("anthropic/errors", 14), "anthropic", "a part of the answer is not a message"),
        (recorded("anthropic/calls", 8), "anthropic", "the answer is not the documented wire"),
    ],
)
def test_other_answers_are_not_asked(exchange: Exchange, dialect: str, reason: str) -> None:
    assert NEAR_IDENTITY.unasked(exchange, Subject(ADAPTERS[dialect])).startswith(reason)


def test_it_is_the_tenth_law() -> None:
    assert LAWS[9] is NEAR_IDENTITY
