"""A known fault is shrunk to the smallest cut, prefix or field that shows it, and becomes a case;
laws need few replays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from harness.adapters import EVENTS, Subject
from harness.cassettes import Exchange, Origin, Request, loads
from harness.judging.laws import LAWS
from harness.judging.laws.cut_short import LINES, PREFIXES, first_prefix, prefixes
from harness.judging.laws.cuts import BYTEWISE, COMB, RANDOM_CUTS, cut_sets, fewest
from harness.judging.laws.judge import LawCell, judge_law, ready_made_case
from harness.judging.metamorphic.reads import cuts_of
from harness.pipeline.replay import replay as our_replay
from harness.stream.exchange import Exchange as AnyExchange
from tests.support.adapters import events_of

Items = list[dict[str, Any]]
URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
MESSAGES = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hello \xe2\x82\xac there"}],"role": "model"},"index": 0}],'
    b'"modelVersion": "m"}\n\n',
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "lamp","args": {"on": true}},'
    b'"thoughtSignature": "QUJD"}]}}]}\n\n',
    b'data: {"candidates": [{"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 7}}\n\n',
)
BODY = b"".join(MESSAGES)
LARGE = MESSAGES[0] * 12 + BODY + MESSAGES[0] * 12
Fault = Callable[[Items, AnyExchange], Items]
SMALL = EVENTS.effort.tries


def exchange(body: bytes) -> Exchange:
    return Exchange(
        Request("POST", URL), 200, {}, ((1.0, body),), "complete", "", "gemini-api", True
    )


def shrunk(number: int, body: bytes, fault: Fault) -> tuple[AnyExchange, str]:
    """The exchange to which a fault is shrunk, and its spec."""

    def replay(recorded: AnyExchange, **options: Any) -> Items:
        return fault(our_replay(recorded, **options), recorded)

    cell = LawCell(
        LAWS[number - 1],
        "gemini-api/hello",
        1,
        exchange(body),
        events_of(replay),
        Origin("written"),
    )
    assert judge_law(replace(cell, adapter=EVENTS)).result.verdict == "passed"
    assert judge_law(cell).result.verdict == "failed"
    spec, cassette = ready_made_case(cell).split("\n# cassettes/gemini-api/shrunk.yaml\n")
    return loads(cassette).exchanges[0], spec


def cut_inside(sign: bytes) -> Fault:
    """Loses its last event if a read ends after the first byte of a character."""

    def fault(items: Items, recorded: AnyExchange) -> Items:
        at = recorded.body.find(sign) + 1
        return items[:-1] if at and at in cuts_of(recorded) else items

    return fault


@pytest.mark.slow
@pytest.mark.parametrize("body", [BODY, LARGE], ids=["small", "large"])
def test_a_cut_is_shrunk_to_one_place_in_one_message(body: bytes) -> None:
    small, spec = shrunk(1, body, cut_inside("€".encode()))
    assert [data for _, data in small.reads] == [
        b'data: {"candidates": [{"content": {"parts": [{"text": "\xe2',
        b'\x82\xac"}]}}]}\n\n',
    ]
    assert '- {"kind": "text", "text": "€"}' in spec


@pytest.mark.slow
@pytest.mark.parametrize("body", [BODY, LARGE], ids=["small", "large"])
def test_a_prefix_is_shrunk_to_the_shortest(body: bytes) -> None:
    def fault(items: Items, recorded: AnyExchange) -> Items:
        return (
            [item for item in items if item["kind"] != "incomplete"]
            if b'"thoughtS' in recorded.body
            else items
        )

    small, spec = shrunk(4, body, fault)
    assert small.body == b'data: {"candidates": [{"content": {"parts": [{"thoughtS'
    assert small.end == "cut"
    assert '- {"$contains": {"kind": "incomplete", "end": "cut"}}' in spec


@pytest.mark.parametrize("body", [BODY, LARGE], ids=["small", "large"])
def test_a_field_is_shrunk_to_the_shortest_value(body: bytes) -> None:
    def fault(items: Items, _: AnyExchange) -> Items:
        return [
            {name: value for name, value in item.items() if name != "signature"} for item in items
        ]

    small, _ = shrunk(3, body, fault)
    assert (
        small.body
        == b'data: {"candidates": [{"content": {"parts": [{"thoughtSignature": "Q"}]}}]}\n\n'
    )


def test_a_text_is_shrunk_by_single_characters_too() -> None:
    def fault(items: Items, _: AnyExchange) -> Items:
        whole = "".join(item.get("text", "") for item in items if item.get("kind") == "text")
        return (
            [item for item in items if item.get("kind") != "text"]
            if "e" in whole and "t" in whole
            else items
        )

    small, _ = shrunk(3, BODY, fault)
    assert small.body == b'data: {"candidates": [{"content": {"parts": [{"text": "te"}]}}]}\n\n'


def test_the_fewest_cuts_are_found_at_any_place() -> None:
    for needed in combinations((1, 7, 8, 30, 63), 2):
        wanted = set(needed)
        assert fewest(tuple(range(1, 64)), wanted.issubset) == needed
    assert fewest((4,), lambda cuts: True) == (4,)


def test_every_place_of_a_body_is_cut_in_few_replays() -> None:
    for size in (2, SMALL, SMALL + 1, 5000):
        sets = list(cut_sets(exchange(b"x" * size), SMALL))
        assert {at for cuts in sets for at in cuts} == set(range(1, size))
        assert len(sets) <= SMALL + COMB
    small = list(cut_sets(exchange(b"x" * SMALL), SMALL))
    assert {len(cuts) for cuts in small} == {1}
    assert len(list(cut_sets(exchange(b"x" * (BYTEWISE + 1)), SMALL))) < COMB


def test_the_shortest_wrong_prefix_of_a_large_body_is_found() -> None:
    large = exchange(LARGE)
    tried = prefixes(large, SMALL)
    assert {at for at in range(1, len(LARGE)) if LARGE[at - 1 : at] == b"\n"} <= set(tried)
    assert first_prefix(large, tried, lambda short: "wrong" if len(short.body) >= 1111 else "") == (
        1111,
        "wrong",
    )
    assert first_prefix(replace(large, reads=()), [0], lambda short: "") is None


@pytest.mark.slow
def test_a_larger_body_needs_no_more_replays() -> None:
    def passes(number: int, body: bytes) -> list[int]:
        fed: list[int] = []

        def replay(recorded: AnyExchange, **options: Any) -> Items:
            fed.append(len(recorded.body))
            return our_replay(recorded, **options)

        assert LAWS[number - 1].findings(exchange(body), Subject(events_of(replay))) == []
        return fed

    small, large = passes(1, LARGE), passes(1, LARGE * 10)
    assert len(small) == len(large) == 2 + COMB + RANDOM_CUTS
    assert set(large) == {len(LARGE) * 10}  # the body is fed to each once
    assert len(passes(4, LARGE * 10)) <= 1 + LINES + PREFIXES
    assert len(passes(1, BODY[:200])) <= 3 + 200
