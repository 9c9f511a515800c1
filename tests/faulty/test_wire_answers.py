"""Faults of an answer on Anthropic's wire and on OpenAI's two: each is red by its own aspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.adapters import Adapter, Output, RunOptions, Subject
from harness.adapters.adapter import FACTS
from harness.facts import Call, Entry, Fact, Finish, Text, Transcript, Usage
from harness.judging.aspects import judge_exchange, provider_of
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange
from tests.faulty.faults import CASSETTE
from tests.support.statements import stated_facts

CASSETTES = {
    "messages": ("anthropic/text", "anthropic/calls", "anthropic/ends"),
    "responses": ("openai/text", "openai/responses-calls", "openai/responses-ends"),
    "chat": ("openai/chat-text", "openai/chat-calls", "openai/chat-ends"),
}
Change = Callable[[Fact], Fact]


def counts_doubled(fact: Fact) -> Fact:
    if isinstance(fact, Usage) and fact.output:
        return replace(fact, output=fact.output * 2)
    return fact


def ends_as_stop(fact: Fact) -> Fact:
    return Finish("stop") if isinstance(fact, Finish) else fact


def ids_changed(fact: Fact) -> Fact:
    return replace(fact, id="call_of_another") if isinstance(fact, Call) and fact.id else fact


def arguments_in_a_text(fact: Fact) -> Fact:
    if isinstance(fact, Call) and fact.arguments:
        return replace(fact, arguments=json.dumps(json.dumps(fact.arguments)))
    return fact


def text_shortened(fact: Fact) -> Fact:
    return Text(fact.text[:-1]) if isinstance(fact, Text) else fact


FAULTS: dict[str, tuple[Change, str]] = {
    "counts doubled": (counts_doubled, "usage"),
    "each end is a stop": (ends_as_stop, "finish"),
    "ids changed": (ids_changed, "ids"),
    "arguments in a text": (arguments_in_a_text, "calls"),
    "text, or a refusal, shortened": (text_shortened, "text"),
}


def adapter_with(change: Change) -> Adapter:
    """An adapter that gives the facts of the wire with one change. Its events pass on nothing
    else.
    """

    def run(exchange: Exchange, options: RunOptions) -> Output:
        provider = provider_of(exchange, Subject(Adapter(name="wire", model=FACTS, run=run)))
        stated = [change(fact) for fact in stated_facts(provider.facts(exchange))]
        return Output.of_transcript(Transcript((Entry({"given": True}, tuple(stated)),)))

    return Adapter(name="faulty", model=FACTS, run=run)


def red_aspects(wire: str, change: Change) -> set[str]:
    exchanges = [each for name in CASSETTES[wire] for each in CASSETTE(name).exchanges]
    return {
        aspect
        for each in exchanges
        for aspect in judge_exchange(Reading(each), adapter_with(change)).red
    }


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("wire", CASSETTES)
def test_a_fault_of_an_answer_is_red_by_its_own_aspect(wire: str, name: str) -> None:
    change, aspect = FAULTS[name]
    faithful = red_aspects(wire, lambda fact: fact)

    assert aspect not in faithful
    assert aspect in red_aspects(wire, change)
