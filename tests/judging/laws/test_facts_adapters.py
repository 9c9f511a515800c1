"""The laws about adapters that state their facts: no false alarm, and every planted bug is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import Adapter, AdapterError, Output, RunOptions, Subject
from harness.cassettes.load import load
from harness.facts import ASPECTS, Entry, Error, Fact, Finish, Raised, Text, Transcript, read_losses
from harness.judging.facts_cells import concerns
from harness.judging.laws import LAWS
from harness.judging.laws.judge import cells, judge_law
from harness.judging.laws.shrink import FEATURE_OF
from harness.judging.laws.spelling import SPELLING
from harness.judging.laws.success import SUCCESS
from harness.specs.reader import read_features
from harness.stream.exchange import Exchange
from tests.support.facts_adapters import (
    Change,
    facts_adapter,
    faithful,
    with_facts,
    with_native,
)

CASSETTES = Path(__file__).parents[3] / "cassettes"
ASKED = ("text", "tool-calls", "signatures-calls", "stream-ends", "stream-errors", "calls-and-text")


@cache
def exchanges(name: str) -> tuple[Exchange, ...]:
    cassette = load(CASSETTES / "gemini-api" / f"{name}.yaml")
    return tuple(exchange for exchange in cassette.exchanges if exchange.generates)


def results(adapter: Adapter, *names: str) -> Iterator[tuple[int, str, str]]:
    """(law, verdict, first sentence) of every law cell."""
    for name in names:
        for cell in cells(name, exchanges(name), [adapter]):
            judgement = judge_law(cell)
            sentence = judgement.breaches[0].sentence if judgement.breaches else ""
            yield cell.law.id, judgement.result.verdict, sentence or judgement.result.reason


def broken(adapter: Adapter, *names: str) -> dict[int, str]:
    """The laws that are broken, each with one sentence."""
    return {law: text for law, verdict, text in results(adapter, *names) if verdict == "failed"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_a_faithful_adapter_keeps_every_law(name: str) -> None:
    outcomes = list(results(facts_adapter(), name))
    assert not [outcome for outcome in outcomes if outcome[1] not in ("passed", "not-run")]
    assert {law for law, verdict, _ in outcomes if verdict == "passed"} >= {1, 3, 4, 5, 7, 9}


def without_signatures(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_signatures(item)
            for key, item in value.items()
            if key not in ("signature", "raw")
        }
    return [without_signatures(item) for item in value] if isinstance(value, list) else value


def without_text_after_a_call(transcript: Transcript) -> Transcript:
    called = False
    text = ""
    for entry in transcript.entries:
        if isinstance(entry.native, dict):
            called |= entry.native["kind"] == "call_start"
            text += (
                entry.native.get("text", "")
                if entry.native["kind"] == "text" and not called
                else ""
            )

    def change(fact: Fact) -> Iterator[Fact]:
        yield Text(text) if isinstance(fact, Text) else fact

    return with_facts(change)(transcript)


def dropped(*kinds: type) -> Change:
    def change(fact: Fact) -> Iterator[Fact]:
        if not isinstance(fact, kinds):
            yield fact

    return with_facts(change)


def always_stop(transcript: Transcript) -> Transcript:
    quiet = dropped(Error, Finish)(transcript)
    return replace(quiet, entries=(*quiet.entries, Entry(None, (Finish("stop"),))))


PLANTED: list[tuple[str, Change, str, set[int]]] = [
    ("a lost signature", with_native(without_signatures), "signatures-calls", {3}),
    ("lost text after a call", without_text_after_a_call, "calls-and-text", {3}),
    ("a swallowed error in the stream", dropped(Error), "stream-errors", {3}),
    ("a cut that ends without an error", dropped(Error), "stream-ends", {3, 4}),
    ("a cut that ends like a good answer", always_stop, "stream-ends", {3, 4}),
    ("no success told apart", always_stop, "text", {9}),
    ("a malformed call that ends like a good answer", always_stop, "malformed-calls", {9}),
    ("an answer that goes on and ends like a good one", always_stop, "continuation", {9}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "name", "laws"), [row[1:] for row in PLANTED], ids=[row[0] for row in PLANTED]
)
def test_a_planted_bug_breaks_a_law(change: Change, name: str, laws: set[int]) -> None:
    assert broken(facts_adapter(change), name).keys() >= laws


def asks_again(transcript: Transcript) -> Transcript:
    return replace(always_stop(transcript), asked_again=1)


def test_an_adapter_may_request_the_rest_of_a_continued_answer() -> None:
    paused, *_ = exchanges("continuation")
    subject = Subject(facts_adapter(asks_again), RunOptions(provider="gemini-api"))
    breaches = SUCCESS.findings(paused, subject)
    assert [breach.sentence for breach in breaches if breach.exchange == paused] == []


def planted(run: Any) -> Adapter:
    return replace(facts_adapter(), run=run)


def test_facts_that_depend_on_the_cuts_are_found() -> None:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        transcript = faithful(exchange, options)
        if len(exchange.reads) > 1:
            transcript = replace(
                transcript, entries=(*transcript.entries, Entry(None, (Text("x"),)))
            )
        return Output.of_transcript(transcript)

    assert "fact" in broken(planted(run), "text")[1]


def test_facts_that_change_from_run_to_run_are_found() -> None:
    runs: list[str] = []

    def run(exchange: Exchange, options: RunOptions) -> Output:
        runs.append("x")
        entry = Entry(None, (Text("x" * len(runs)),))
        return Output.of_transcript(Transcript((entry,)))

    assert 5 in broken(planted(run), "text")


def test_facts_that_depend_on_the_spelling_are_found() -> None:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        transcript = faithful(exchange, options)
        return Output.of_transcript(
            dropped(Text)(transcript) if b'{"candidates":' in exchange.body else transcript
        )

    assert "fact" in broken(planted(run), "text")[6]


def test_facts_that_depend_on_the_division_of_text_are_found() -> None:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        events = [entry.native for entry in faithful(exchange, options).entries if entry.native]
        pieces = [event["text"].strip() for event in events if event["kind"] == "text"]
        return Output.of_transcript(Transcript((Entry(None, (Text("".join(pieces)),)),)))

    breaches = SPELLING.findings(exchanges("text")[0], Subject(planted(run)))
    spellings = [breach.sentence.partition(",")[0] for breach in breaches]
    assert spellings == ["spelled as text-split", "spelled as text-joined"]

    def run_with_error(exchange: Exchange, options: RunOptions) -> Output:
        transcript = run(exchange, options).transcript
        assert transcript
        return Output.of_transcript(
            replace(transcript, entries=(*transcript.entries, Entry(None, (Error(None, "x"),))))
        )

    assert not SPELLING.findings(exchanges("text")[0], Subject(planted(run_with_error)))


def test_an_adapter_that_hangs_on_bad_input_breaks_law_7() -> None:
    whole = {exchange.body for exchange in exchanges("text")}

    def run(exchange: Exchange, options: RunOptions) -> Output:
        if exchange.body not in whole:
            raise AdapterError("the adapter did not answer within 30 s")
        return Output.of_transcript(faithful(exchange, options))

    assert "did not answer" in broken(planted(run), "text")[7]


@pytest.mark.slow
def test_a_declared_loss_is_no_breach() -> None:
    adapter = facts_adapter(with_native(without_signatures))
    assert 3 in broken(adapter, "signatures-calls")
    declared = replace(adapter, losses=read_losses("signatures"))
    assert 3 not in broken(declared, "signatures-calls")


def test_an_exchange_that_is_skipped_is_not_run() -> None:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        return Output.of_transcript(Transcript(skipped="it can't ask for this"))

    verdicts = {(verdict, text) for _, verdict, text in results(planted(run), "text")}
    assert {verdict for verdict, _ in verdicts} == {"not-run"}
    assert ("not-run", "it can't ask for this") in verdicts


def test_only_the_documented_wire_is_asked_for_losses() -> None:
    outcomes = [
        (verdict, text)
        for law, verdict, text in results(facts_adapter(dropped(Text)), "snake-case")
        if law == 3
    ]
    assert {verdict for verdict, _ in outcomes} == {"not-run"}
    assert "snake_case" in outcomes[0][1]


def test_a_variant_that_an_adapter_refuses_breaks_no_law() -> None:
    """The refused variant is not compared with the documented form of the same answer."""
    events = b'data: {"candidates": [{"content": {"parts": [{"text": "One"}]}}]}\r\n'
    last = b'data: {"candidates": [{"finishReason": "STOP"}]}\r\n\r\n'
    joined = replace(exchanges("text")[0], reads=((1, events), (2, last)))

    def run(exchange: Exchange, options: RunOptions) -> Output:
        if b"}\ndata:" in exchange.body.replace(b"\r\n", b"\n"):
            error = Raised("JSONDecodeError", "Extra data", None)
            return Output.of_transcript(Transcript(raised=error))
        return Output.of_transcript(faithful(exchange, options))

    judged = {cell.law.id: judge_law(cell) for cell in cells("x", [joined], [planted(run)])}
    assert judged[6].result.verdict == "passed"
    assert not [number for number, judgement in judged.items() if judgement.breaches]


def test_every_law_about_facts_is_asked() -> None:
    asked = {law for law, _, _ in results(facts_adapter(), "text")}
    assert asked == {law.id for law in LAWS}


def test_each_aspect_has_a_feature_whose_cases_are_judged_by_it() -> None:
    known = read_features(
        (CASSETTES.parent / "specs" / "features.yaml").read_text(encoding="utf-8"), "features.yaml"
    )
    aspects = {feature.id: feature.aspects for feature in known}
    assert FEATURE_OF.keys() == set(ASPECTS)
    assert [
        aspect for aspect, feature in FEATURE_OF.items() if not concerns(aspect, aspects[feature])
    ] == []
