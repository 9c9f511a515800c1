"""Finds the law about facts that a fault breaks, without a golden case.

Each faulty adapter is rebuilt as adapters that state their facts: under the shims that a user would
write for its payloads, and with the facts that our own readers find in its payloads and in its
canonical events. Its second turn is asked too, for law 8. `SHOWN` has the faults that change no
fact, or only facts that a rule leaves open.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from harness import Exchange
from harness.adapters import ADAPTERS, Adapter, AdapterError, Output, RunOptions, Subject
from harness.adapters.adapter import FACTS, Effort
from harness.facts import (
    RUN,
    Call,
    Entry,
    Error,
    Finish,
    Text,
    Thought,
    Transcript,
    Usage,
    ends_in_call,
    finish_class,
)
from harness.judging.aspect_run import JudgedExchange, items_with_second_turn, plan_second_turns
from harness.judging.aspects import (
    ExchangeJudgement,
    compare_output,
    provider_of,
    transcript_of,
)
from harness.judging.judge import Cell
from harness.judging.laws import LAWS
from harness.judging.reading import Reading
from harness.judging.run import run_plan
from harness.pipeline.request import ask
from harness.providers.second_turn import result_text
from harness.stream.generation import ToolOutcome, TranslationError
from tests.faulty.cells import cells, differing_cells, recorded
from tests.faulty.pipeline import AnswerFault, kept_by_exchange
from tests.support.adapters import events_of, payloads_of
from tests.support.facts import as_stated
from tests.support.facts_adapters import with_facts
from tests.support.payload_shims import SHIMS, transcript_of_payloads

FEW = Effort(8, 4, 60, bytewise=False)
OF_VARIANTS = (1, 4, 6, 9)
SMALLEST = 4
OF_ONE_ANSWER = (2, 3, 8)
"""The laws that judge one answer by its event model."""

Rebuild = Callable[[AnswerFault], Adapter]


def with_shim(fault: AnswerFault, shim: str = "") -> Adapter:
    """The adapter of a fault under the shim that a user would write. It has a second turn."""
    payloads = payloads_of(fault.replay, fault.dialect)

    def run_shim(exchange: Exchange, options: RunOptions) -> Output:
        output = payloads.output(exchange, options)
        transcript = transcript_of_payloads(shim or fault.dialect, output.items)
        remembered = [call.signature for call in output.session.calls.values() if call.signature]
        entries = (*transcript.entries, Entry({"session": remembered}))
        return Output.of_transcript(replace(transcript, entries=entries))

    def converse(exchange: Exchange, options: RunOptions) -> bytes | str:
        adapter, subject = payloads, Subject(payloads, options)
        provider = provider_of(exchange, subject)
        if adapter.request is None or adapter.request.wire not in (None, provider.wire):
            return "it has no second turn"
        output = subject.output(exchange)
        calls = [
            fact
            for fact in transcript_of_payloads(fault.dialect, output.items).facts()
            if isinstance(fact, Call)
        ]
        results = [{"output": result_text(number)} for number, _ in enumerate(calls, 1)]
        outcomes = [ToolOutcome(result) for result in results] if results else "Go on."
        translator = adapter.request
        prompt = translator.follow_up(translator.opening_prompt, output.items, outcomes)
        return json.dumps(ask(translator, prompt, provider.name, {}, output.session).body).encode()

    return Adapter(
        name="faulty", model=FACTS, run=run_shim, effort=FEW, second_request=in_adapter(converse)
    )


def with_result(fault: AnswerFault) -> Adapter:
    """The adapter of a fault under the shim of a program that waits for the whole result."""
    return with_shim(fault, f"{fault.dialect} result")


def in_adapter(
    converse: Callable[[Exchange, RunOptions], bytes | str],
) -> Callable[[Exchange, RunOptions], bytes | str]:
    """An answer that can't be sent back is an error of the adapter."""

    def second_request(exchange: Exchange, options: RunOptions) -> bytes | str:
        try:
            return converse(exchange, options)
        except (TranslationError, KeyError) as error:
            raise AdapterError(f"the answer can't be sent back: {error}") from None

    return second_request


def with_account(fault: AnswerFault, of_events: bool = False) -> Adapter:
    """The adapter of a fault with the facts of our reader of its event model."""
    inner = (events_of if of_events else payloads_of)(fault.replay, fault.dialect)

    def run_inner(exchange: Exchange, options: RunOptions) -> Output:
        output = inner.output(exchange, options)
        return Output.of_transcript(in_own_words(transcript_of(inner, output), output.items))

    return Adapter(name="faulty", model=FACTS, run=run_inner, effort=FEW)


def with_events(fault: AnswerFault) -> Adapter:
    """The adapter of a fault with the facts of its canonical events."""
    return with_account(fault, of_events=True)


def in_own_words(transcript: Transcript, payloads: list[Any]) -> Transcript:
    """The transcript with the facts as a shim states them, and with the event model's own word for
    the reason, if it has one.
    """
    *entries, last = transcript.entries
    stated = Entry(last.native, tuple(as_stated(last.facts)))
    transcript = replace(transcript, entries=(*entries, stated), is_complete=False)
    reasons = [
        payload["finish_reason"]["reason"]
        for payload in payloads
        if payload.get("type") == "FINISH"
    ]
    if not reasons:
        return transcript
    last = Entry(payloads[-1], (Finish(reasons[-1]),))
    without = with_facts(lambda fact: iter([] if isinstance(fact, Finish) else [fact]))(transcript)
    return replace(without, entries=(*without.entries, last))


@kept_by_exchange
def reading_of(exchange: Exchange, provider: str | None, tool_code: bool | None) -> Reading:
    """The reading of the answer, which is the same for each adapter."""
    return Reading(exchange, RunOptions(provider=provider, tool_code=tool_code))


def judged(exchange: Exchange, subject: Subject, output: Output) -> ExchangeJudgement:
    options = subject.options
    reading = reading_of(exchange, options.provider, options.tool_code)
    return compare_output(reading, subject.adapter, output)


def red_aspects(rebuild: Rebuild, fault: AnswerFault, cell: Cell) -> set[str]:
    subject = Subject(rebuild(fault), options_of(cell))
    exchange = recorded(cell)
    try:
        output = subject.output(exchange)
    except AdapterError:  # the payloads cannot be read
        return {"error"}
    return {*judged(exchange, subject, output).red}


def red_aspects_of_second_turn(rebuild: Rebuild, fault: AnswerFault, cell: Cell) -> set[str]:
    exchange = recorded(cell)
    exchange = replace(exchange, provider=cell.case.provider or exchange.provider)
    item = JudgedExchange(cell.case.cassette, cell.case.exchange, exchange)
    adapter = rebuild(fault)
    if adapter.second_request is None:
        return set()
    converse, options = adapter.second_request, options_of(cell)
    adapter = replace(adapter, second_request=lambda exchange, _: converse(exchange, options))
    return {
        "error" if finding.subject == RUN else finding.subject
        for turn in run_plan(plan_second_turns(items_with_second_turn([item], adapter)), [adapter])
        for finding in turn.red_findings
    }


def options_of(cell: Cell) -> RunOptions:
    return RunOptions(provider=cell.case.provider, tool_code=cell.case.tool_code)


@cache
def losses_of_ours(
    judge: Callable[[Rebuild, AnswerFault, Cell], set[str]], rebuild: Rebuild, dialect: str, at: int
) -> set[str]:
    """The aspects that our own event model does not carry in this cell."""
    return judge(rebuild, AnswerFault(dialect), cells(dialect)[at])


def rebuilds(fault: AnswerFault) -> list[Rebuild]:
    """The forms of a fault that state facts."""
    forms: list[Rebuild] = [with_shim, with_account]
    if fault.spoils_events:
        forms.append(with_events)
    if f"{fault.dialect} result" in SHIMS:
        forms.append(with_result)
    return forms


def caught_by(fault: AnswerFault) -> str:
    """The law and the cell that find a fault, or ""."""
    differing = differing_cells(fault)
    for rebuild in rebuilds(fault):
        for law, judge in ((3, red_aspects), (8, red_aspects_of_second_turn)):
            for at, cell in differing:
                red = judge(rebuild, fault, cell)
                if new := red and red - losses_of_ours(judge, rebuild, fault.dialect, at):
                    place = f"{cell.case.cassette}.{cell.case.exchange}"
                    return f"law {law}: {place}: {sorted(new)}"
        small = sorted(differing, key=lambda pair: len(recorded(pair[1]).body))[:SMALLEST]
        for _, cell in small:
            faulty, faultless = (
                Subject(rebuild(each), options_of(cell))
                for each in (fault, AnswerFault(fault.dialect))
            )
            for number in OF_VARIANTS:
                law_of_variants = LAWS[number - 1]
                if law_of_variants.findings(recorded(cell), faulty) and not (
                    law_of_variants.findings(recorded(cell), faultless)
                ):
                    return f"law {number}: {cell.case.cassette}.{cell.case.exchange}"
    return ""


def statement(rebuild: Rebuild, fault: AnswerFault, cell: Cell) -> Any:
    """The statement of an adapter about a cell, without differences that the vocabulary ignores:
    pieces, the order of different facts, the word for a class of reasons, 0 for no count. It
    includes the verdicts, since they depend on native events too.
    """
    subject, exchange = Subject(rebuild(fault), options_of(cell)), recorded(cell)
    output = subject.output(exchange)
    assert output.transcript
    facts = [*output.transcript.facts()]
    reasons = [fact.raw for fact in facts if isinstance(fact, Finish) and fact.raw]
    reason = reasons[-1] if reasons else None
    counts: dict[str, int | None] = {}
    for usage in (fact for fact in facts if isinstance(fact, Usage)):
        counts |= {name: count for name, count in asdict(usage).items() if count is not None}
    aspects = judged(exchange, subject, output).aspects
    return (
        *(
            "".join(fact.text for fact in facts if isinstance(fact, kind))
            for kind in (Text, Thought)
        ),
        [fact for fact in facts if isinstance(fact, Call)],
        (finish_class(reason), ends_in_call(reason), reason == "end_turn"),
        {name: count for name, count in counts.items() if count},
        [fact for fact in facts if isinstance(fact, Error)],
        {aspect: finding.verdict for aspect, finding in aspects.items()},
    )


@cache
def statement_of_ours(rebuild: Rebuild, dialect: str, at: int) -> Any:
    return statement(rebuild, AnswerFault(dialect), cells(dialect)[at])


def changes_facts(fault: AnswerFault) -> bool:
    """Whether any form of a fault states something else than ours."""
    return any(
        statement(rebuild, fault, cell) != statement_of_ours(rebuild, fault.dialect, at)
        for rebuild in rebuilds(fault)
        for at, cell in differing_cells(fault)
    )


def broken_by(fault: AnswerFault) -> int | None:
    """The first law that finds a fault in the payloads of its event model."""
    faulty, faultless = payloads_of(fault.replay, fault.dialect), ADAPTERS[fault.dialect]
    for number in OF_ONE_ANSWER:
        law = LAWS[number - 1]
        for _, cell in differing_cells(fault):
            exchange, options = recorded(cell), options_of(cell)
            with suppress(KeyError):  # the payloads cannot be read
                if law.findings(exchange, Subject(faulty, options)) and not law.findings(
                    exchange, Subject(faultless, options)
                ):
                    return number
    return None
