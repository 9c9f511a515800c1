"""A broken law gives a result and a small case, and the search for the small case is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from harness.adapters import ADAPTERS, EVENTS, Adapter
from harness.cassettes import Origin, loads
from harness.dialects import DIALECTS
from harness.facts import WireFacts
from harness.judging.laws import LAWS
from harness.judging.laws.judge import LawCell, cells, judge_law, ready_made_case
from harness.judging.laws.shrink import shrink
from harness.judging.metamorphic.catalogue import SPELLINGS
from harness.judging.metamorphic.reads import cuts_of
from harness.pipeline.replay import frames_of
from harness.pipeline.replay import replay as our_replay
from harness.providers import PROVIDERS, Answer, Provider
from harness.providers.provider import Step
from harness.specs.reader import read_spec
from harness.stream.exchange import Exchange as AnyExchange
from tests.support.adapters import events_of, payloads_of
from tests.support.signed_call import ANSWER, EXCHANGE

Items = list[dict[str, Any]]
Fault = Callable[[Items, AnyExchange], Items]


def cell(number: int, adapter: Adapter = EVENTS) -> LawCell:
    return LawCell(LAWS[number - 1], "gemini-api/hello", 1, EXCHANGE, adapter, Origin("written"))


def faulty(number: int, fault: Fault, dialect: str = "") -> LawCell:
    def replay(recorded: AnyExchange, **options: Any) -> Items:
        return fault(our_replay(recorded, **options), recorded)

    return cell(number, payloads_of(replay, dialect) if dialect else events_of(replay))


def verdict(cell: LawCell) -> str:
    return judge_law(cell).result.verdict


def signed(items: Items) -> Items:
    return [{key: value for key, value in item.items() if key != "signature"} for item in items]


BREACHES: dict[int, Fault] = {
    1: lambda items, cut: items[:-1] if 60 in cuts_of(cut) else items,
    2: lambda items, _: [item for item in items if item.get("kind") != "start"],
    3: lambda items, _: signed(items),
    4: lambda items, cut: items[:-1] if cut.end == "cut" else items,
    6: lambda items, spelled: [] if spelled.body.startswith(b"[") else items,
    7: lambda items, damaged: items if damaged.body == ANSWER else [],
}


@pytest.mark.parametrize("number", BREACHES)
def test_a_breach_becomes_a_small_case_that_can_be_read_back(number: int) -> None:
    broken = faulty(number, BREACHES[number])
    assert verdict(cell(number)) == "passed"
    assert verdict(broken) == "failed"
    spec, cassette = ready_made_case(broken).split("\n# cassettes/gemini-api/shrunk.yaml\n")
    features = {law.feature for law in LAWS} | {
        spelling.feature for spelling in SPELLINGS if spelling.feature
    }
    (case,) = read_spec(
        spec, "shrunk.yaml", dialects=DIALECTS, providers=PROVIDERS, features=features, losses={}
    )
    (small,) = loads(cassette).exchanges
    assert case.cassette == "gemini-api/shrunk"
    assert len(small.body) < len(ANSWER)


def test_a_reader_that_knows_no_smaller_message_hides_no_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = [frame.json for frame in frames_of(EXCHANGE, provider="gemini-api")]
    read = Provider.facts_of

    def facts_of(self: Provider, steps: Iterable[Step], answer: Answer) -> WireFacts:
        steps = list(steps)
        if [frame.json for frame, _ in steps if frame] != known:
            raise KeyError("candidates")
        return read(self, steps, answer)

    monkeypatch.setattr(Provider, "facts_of", facts_of)
    broken = faulty(3, BREACHES[3])
    assert verdict(broken) == "failed"
    assert "law-3-nothing-lost" in ready_made_case(broken)


IN_PAYLOADS: dict[int, Fault] = {
    1: lambda items, cut: items[1:] if len(cut.reads) > 1 and len(cut.reads[0][1]) == 1 else items,
    4: lambda items, cut: items if cut.end != "cut" else items[:-2],
    6: lambda items, spelled: items if b"\r\n" in spelled.body else items[:-1],
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("number", IN_PAYLOADS)
def test_a_fault_in_the_payloads_of_any_dialect_is_found(number: int, dialect: str) -> None:
    broken = faulty(number, IN_PAYLOADS[number], dialect)
    assert verdict(cell(number, ADAPTERS[dialect])) == "passed"
    assert verdict(broken) == "failed"


def test_the_case_of_a_cut_has_one_cut_and_the_expectation() -> None:
    text = ready_made_case(
        faulty(1, lambda items, cut: items[:-1] if len(cut.reads) > 1 else items)
    )
    assert len(re.findall(r"^ {6}- \d+$", text, re.MULTILINE)) == 2, text
    assert '- {"kind": "start"' in text


def test_the_case_of_a_prefix_ends_cut_and_expects_incomplete() -> None:
    text = ready_made_case(faulty(4, BREACHES[4]))
    assert "end: cut" in text
    assert '"$contains": {"kind": "incomplete", "end": "cut"}' in text


def test_an_exchange_is_shrunk_as_far_as_the_breach_allows() -> None:
    small = shrink(
        EXCHANGE,
        lambda exchange: b"thoughtSignature" in exchange.body and b"functionCall" in exchange.body,
        tries=4000,
    )
    assert (
        small.body
        == b'data: {"candidates": [{"content": {"parts": [{"functionCall": {}, "thoughtSignature": "Q"}]}}]}\r\n\r\n'
    )


def test_a_body_that_is_no_json_stays_whole() -> None:
    garbage = replace(EXCHANGE, reads=((None, b"<html>"),))
    assert shrink(garbage, lambda exchange: True, tries=9) == garbage


def test_shrinking_ends_when_its_tries_are_used_up() -> None:
    asked: list[AnyExchange] = []

    def breaks(exchange: AnyExchange) -> bool:
        asked.append(exchange)
        return len(asked) == 1

    shrink(EXCHANGE, breaks, tries=7)
    assert len(asked) == 7


@pytest.mark.slow
def test_results_name_law_exchange_and_dialect() -> None:
    results = [
        judge_law(entry).result
        for entry in cells(
            "gemini-api/hello",
            [EXCHANGE, replace(EXCHANGE, generates=False)],
            [EVENTS, ADAPTERS["art"]],
            Origin("written"),
        )
    ]
    assert [(entry.spec, entry.case, entry.adapter, entry.layer) for entry in results[:3]] == [
        ("laws/cuts-dont-matter", "gemini-api/hello.1", "", "events"),
        ("laws/cuts-dont-matter", "gemini-api/hello.1", "art", "payloads"),
        ("laws/legal-order", "gemini-api/hello.1", "", "events"),
    ]
    (unasked,) = (entry for entry in results if entry.line == 8)
    assert (unasked.verdict, unasked.reason) == ("not-run", "art declares calls as lost")
    assert {entry.line for entry in results if entry.adapter == "art"} == {law.id for law in LAWS}
    assert {entry.origin.kind for entry in results if entry.origin} == {"written"}
