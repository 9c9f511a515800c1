"""Wire variants: each changes the answer as described, every relation holds for our event models,
and each relation can be broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.cassettes import Exchange, Request
from harness.dialects import DIALECTS
from harness.facts import Call, Error, Fact, Finish, Text, Thought, View
from harness.facts.detail import Counts, Signature
from harness.judging.metamorphic import SPELLINGS, VARIANTS, breaches, reader, variants_of
from harness.judging.metamorphic.relations import ANSWERED, FAILED, PREFIX, equal
from harness.pipeline.replay import replay
from tests.readers.gemini import gather_body

ROOT = Path(__file__).parents[2]
URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
ANSWER = (
    'data: {"candidates": [{"content": {"parts": [{"text": "h","thought": true}]}}]}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"text": "m","thought": true}]}}],"usageMetadata": {"promptTokenCount": 7}}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"text": "Héllo","thoughtSignature": "QQ=="}]}}]}\r\n\r\n'
    'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "i","name": "f","args": {"a": "b"}},"thoughtSignature": "Qg=="},'
    '{"functionCall": {"name": "g","args": {}}}]},"finishReason": "STOP"}],"usageMetadata": {"candidatesTokenCount": 2}}\r\n\r\n'
).encode()
EXCHANGE = Exchange(
    Request("POST", URL),
    200,
    {},
    ((None, ANSWER[:40]), (None, ANSWER[40:])),
    "complete",
    "",
    "gemini-api",
    True,
)
Items = list[dict[str, Any]]


def test_every_mutation_changes_an_answer_that_has_everything() -> None:
    assert {variant.name for variant in VARIANTS} - {
        variant.name for variant, _ in variants_of(EXCHANGE)
    } == {"cut-inside-tags"}
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_mutation_changes_the_bytes_or_their_reads_alone(variant: Any) -> None:
    changed = variant.change(EXCHANGE)
    if changed is not None:
        assert changed.request == EXCHANGE.request
        assert (changed.reads, changed.end) != (
            EXCHANGE.reads,
            EXCHANGE.end,
        ) or variant.name == "crlf"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_relation_holds_for_our_event_models(dialect: str) -> None:
    assert breaches(EXCHANGE, reader(dialect)) == []


CUTS = {"uncut", "cut-every-byte", "cut-anywhere", "cut-inside-characters", "cut-inside-line-ends"}
SHIPPED = (
    "gemini-api/calls-and-text",
    "gemini-api/parallel-calls",
    "code-assist/tool-code-split",
    "vertex-ai/streamed-arguments",
    "gemini-api/text",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_every_relation_holds_for_shipped_answers(name: str) -> None:
    for exchange in harness.load(ROOT / "cassettes" / f"{name}.yaml").exchanges:
        assert breaches(exchange, reader("unified-llm", provider=exchange.provider)) == []


@pytest.mark.slow
def test_the_shipped_cassettes_carry_every_mutation() -> None:
    carried: Counter[str] = Counter()
    for name in (
        *SHIPPED,
        "gemini-api/signatures-text",
        "gemini-api/signatures-calls",
        "gemini-api/non-ascii-text",
    ):
        for exchange in harness.load(ROOT / "cassettes" / f"{name}.yaml").exchanges:
            carried.update(variant.name for variant, _ in variants_of(exchange))
    assert set(carried) == {variant.name for variant in VARIANTS}


@pytest.mark.parametrize(
    "unfit",
    [
        replace(EXCHANGE, status=500),
        replace(EXCHANGE, end="cut"),
        replace(EXCHANGE, reads=((None, b"<html>"),)),
        replace(
            EXCHANGE, reads=((None, b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n'),)
        ),
        replace(EXCHANGE, reads=((None, ANSWER + b'data: {"error": {"code": 500}}\n\n'),)),
        replace(EXCHANGE, headers={"Content-Encoding": ["gzip"]}),
        replace(EXCHANGE, provider="gemini-cli"),
    ],
)
def test_an_answer_that_is_not_whole_is_only_cut_and_respelled(unfit: Exchange) -> None:
    names = {variant.name for variant, _ in variants_of(unfit)}
    assert names <= CUTS | {variant.name for variant in SPELLINGS}


def faulty(fault: Callable[[Items, Exchange], Items]) -> Callable[..., Items]:
    return lambda exchange, **options: fault(replay(exchange, **options), exchange)


FAULTS: dict[str, Callable[[Items, Exchange], Items]] = {
    "snake-case": lambda items, exchange: [
        item
        for item in items
        if b"finish_reason" not in exchange.body or item["type"] != "TEXT_DELTA"
    ],
    "truncated": lambda items, exchange: [item for item in items if item["type"] != "ERROR"],
    "huge-text": lambda items, exchange: [
        item for item in items if len(str(item.get("delta"))) < 1000
    ],
    "error-instead": lambda items, exchange: [item for item in items if item["type"] != "ERROR"],
    "cut-every-byte": lambda items, exchange: items[:-1] if len(exchange.reads) > 50 else items,
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_adapter_that_breaks_a_relation_is_reported(name: str) -> None:
    findings = breaches(EXCHANGE, reader("unified-llm", faulty(FAULTS[name])))
    assert any(finding.startswith(f"{name} (") for finding in findings), findings


def test_the_mutated_wire_has_the_described_change() -> None:
    by_name = {variant.name: changed for variant, changed in variants_of(EXCHANGE)}
    assert gather_body(by_name["parallel-split"].body).calls == gather_body(ANSWER).calls
    assert gather_body(by_name["arguments-streamed"].body).calls == gather_body(ANSWER).calls
    assert [mark[0] for mark in gather_body(by_name["ids-repeated"].body).marks] == ["same", "same"]
    assert [mark[0] for mark in gather_body(by_name["ids-missing"].body).marks] == [None, None]
    assert gather_body(by_name["unknown-reason"].body).finish == "BRAND_NEW"
    assert gather_body(by_name["usage-last"].body).usage == gather_body(ANSWER).usage
    assert b'"usageMetadata"' not in by_name["no-usage"].body
    assert by_name["parallel-split"].body.count(b"data: ") == 5
    assert by_name["text-split"].body.count(b"data: ") == 5
    assert by_name["text-joined"].body.count(b"data: ") == 3


BEFORE: list[Fact] = [
    *(Thought("t"), Text("ab"), Signature("text", "s"), Call(None, "f", {})),
    *(Finish("stop"), Counts({"n": 1})),
]
ERROR = Error(503, "overloaded")


def replaced(kind: type[Fact], *facts: Fact) -> list[Fact]:
    """The facts before, with other ones of a kind."""
    return [*(fact for fact in BEFORE if not isinstance(fact, kind)), *facts]


@pytest.mark.parametrize(
    ("relation", "after", "holds"),
    [
        (equal(), BEFORE, True),
        (equal(), replaced(Call), False),
        (equal(less=["usage"]), replaced(Counts), True),
        (equal(text="c"), replaced(Text, Text("abc")), True),
        (equal(text="c"), BEFORE, False),
        (
            equal(calls=lambda calls: [*calls, *calls]),
            replaced(Call, Call(None, "f", {}), Call(None, "f", {})),
            True,
        ),
        (PREFIX, replaced(Text, Text("a"), ERROR), True),
        (PREFIX, replaced(Text, Text("a")), False),
        (PREFIX, replaced(Text, Text("b"), ERROR), False),
        (PREFIX, replaced(Call, Call(None, "f", {"cut": 1}), ERROR), True),
        (PREFIX, replaced(Call, Call(None, "g", {}), Call(None, "f", {}), ERROR), False),
        (FAILED, [ERROR], True),
        (FAILED, [*BEFORE, ERROR], False),
        (ANSWERED, [], True),
    ],
)
def test_a_relation_holds_or_not(relation: Any, after: list[Fact], holds: bool) -> None:
    assert (relation.findings(View(BEFORE), View(after)) == []) is holds


def test_a_truncation_ends_at_its_stated_place() -> None:
    by_name = {
        variant.name: changed
        for variant, changed in variants_of(EXCHANGE)
        if variant.name.startswith("truncated")
    }
    assert {changed.end for changed in by_name.values()} == {"cut"}
    assert all(ANSWER.startswith(changed.body) for changed in by_name.values())
    assert by_name["truncated-at-once"].body == b""
    assert by_name["truncated-behind-event"].body == ANSWER[: ANSWER.index(b"\r\n\r\n") + 4]
    assert by_name["truncated-in-character"].body.endswith(b"H\xc3")
    assert by_name["truncated-late"].body == ANSWER[:-1]
    assert 0 < len(by_name["truncated-anywhere"].body) < len(ANSWER)
    again = {variant.name: changed.body for variant, changed in variants_of(EXCHANGE)}
    assert again["truncated-anywhere"] == by_name["truncated-anywhere"].body


NAMED = {
    "cut in every way": {
        "uncut",
        "cut-every-byte",
        "cut-anywhere",
        "cut-inside-characters",
        "cut-inside-tags",
        "cut-inside-line-ends",
    },
    "line ends": {"lf", "cr", "crlf"},
    "comments and unknown fields": {"comments", "event-fields", "unknown-fields"},
    "spellings": {"snake-case", "numeric-reasons", "envelope", "key-order", "json-array"},
    "unknown things": {"unknown-part", "unknown-reason", "unknown-block"},
    "counts": {"no-usage", "usage-last"},
    "signatures": {"signature-moved"},
    "calls": {"parallel-split", "arguments-streamed", "ids-repeated", "ids-missing"},
    "finish": {"finish-twice", "finish-missing", "text-after-finish"},
    "errors": {"error-raw", "error-as-event", "error-as-array", "error-instead"},
    "truncation": {
        "truncated",
        "truncated-at-once",
        "truncated-behind-event",
        "truncated-in-character",
        "truncated-anywhere",
    },
    "candidates": {"second-candidate"},
    "values": {
        "huge-text",
        "empty-text",
        "large-integer",
        "lone-surrogate",
        "deep-argument",
        "too-deep",
    },
}


@pytest.mark.parametrize("kind", NAMED)
def test_the_catalogue_has_the_known_behaviour_of_each_wire(kind: str) -> None:
    assert NAMED[kind] <= {variant.name for variant in VARIANTS}


def test_the_facts_of_a_user_s_adapter_are_compared() -> None:
    def read(exchange: Exchange) -> View:
        payloads = replay(exchange, dialect="unified-llm")
        texts = [Text(item["delta"]) for item in payloads if item["type"] == "TEXT_DELTA"]
        return View(texts + [Error(None, "") for item in payloads if item["type"] == "ERROR"])

    def deaf(exchange: Exchange) -> View:
        return View([Text(read(exchange).text)])

    assert breaches(EXCHANGE, read) == []
    findings = breaches(EXCHANGE, deaf)
    assert "truncated-late (a prefix, then an error): no error is reported" in findings
