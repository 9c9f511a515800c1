"""Every fault that changes a fact breaks a law about facts, without a golden case.

Each faulty adapter is rebuilt as adapters that state their facts: under the shims that a user would
write for its payloads, and with the facts that our own readers find in its payloads and in its
canonical events. Its second turn is asked too, for law 8. `NO_FAULT` lists the faults that change
no fact, which is checked against ours. `OPEN` lists those that change a fact that a rule leaves
open.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import pytest

from harness import Exchange
from harness.adapters import ADAPTERS, Adapter, AdapterError, Output, RunOptions
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
from harness.judging.aspect_run import Item, items_with_second_turn, judge_second_turns
from harness.judging.aspects import judge_output, provider_of, transcript_of
from harness.judging.judge import Cell
from harness.judging.laws import LAWS
from harness.pipeline.request import ask
from harness.providers.oracle import result_text
from harness.stream.generation import ToolOutcome, TranslationError
from tests.faulty.pipeline import Fault
from tests.faulty.test_faulty import FAULTS, cells, differing_cells, recorded
from tests.support.adapters import events_of, payloads_of
from tests.support.facts_adapters import with_facts
from tests.support.payload_shims import SHIMS, transcript_of_payloads

NO_FAULT: dict[str, int | None] = {
    # pieces of text
    "agent-events: empty_text_dropped": None,
    "art: ATokenForEachPart": None,
    "art: empty_tokens": None,
    "mind: EmptyMessages": None,
    "unified-llm: text_sent_only_at_its_end": None,
    # starts, ends, pings, kinds and places of events
    "anthropic: TailTwice": 2,
    "anthropic: done_after_the_end": 2,
    "anthropic: ping_after_the_start": 2,
    "anthropic: signature_before_the_thought": 2,
    "art: OtherKindsIfUnary": None,
    "art: metadata_before_an_error": 2,
    "art: no_end_after_an_invalid_answer": 2,
    "art: no_end_after_blocked": 2,
    "unified-llm: counts_are_an_event": 2,
    "unified-llm: delta_with_the_whole_call": 3,
    "unified-llm: later_text_has_no_block": 2,
    "unified-llm: started_twice": 2,
    "unified-llm: text_ended_inside_the_call": 2,
    "unified-llm: text_not_ended_before_the_end": 2,
    "unified-llm: thoughts_open_a_text_block": 2,
    # the class of an error with its code and message, and the time to wait
    "unified-llm: every_400_is_context_length": None,
    "unified-llm: other_statuses_are_plain_errors": None,
    "unified-llm: timeouts_are_tried_again": None,
    "unified-llm: timeouts_have_no_class": None,
    "unified-llm: wait_dropped": None,
    # another word for a reason of the same class
    "art: reasons_in_other_words": None,
    "unified-llm: malformed_is_other": 3,
    # 0 for no count; the wire's own object has the cached tokens too
    "art: counts_invented": None,
    "unified-llm: missing_counts_are_zero": 3,
    "unified-llm: no_cached_tokens": 3,
    # items of a to-do list, whose calls are a declared loss
    "agent-events: AnyStatus": None,
    "agent-events: BlankItems": None,
    # names in results, times, further candidates, marks and ids of answers
    "agent-events: result_of_a_todo_list_is_an_orphan": None,
    "agent-events: results_without_a_name": None,
    "agent-events: unseen_tools_are_unknown": None,
    "art: FirstTokenAtTheFirstFrame": None,
    "unified-llm: end_mark_skipped": None,
    "unified-llm: id_at_the_top": None,
    "unified-llm: other_candidates_vanish": None,
}
"""Faults that change no fact and no verdict → the law that finds them in the payloads of their
event model, or None if only a golden case finds them.
"""

FAILED = "after a cut or a fault an error stands for the reason (aspect finish)"
ERRORS = "the first 30 characters of the message, beside a code of no known class (aspect error)"
BLOCKED = "an error that names the block reason is kept (aspect blocked)"
FILTERED = "an error that reports a block is kept for a reason of class filter (aspect finish)"
WORDS = "the raw word counts where the class is other (aspect finish)"
OF_ITS_CLASS = "a reason of the wire's class is kept, also beside a call (aspect finish)"
NOT_STOP = "for a reason of class other, or for none, any class but stop is kept (aspect finish)"
STOP = "a whole call may end as stop (aspect finish)"
SUM = "a total that the wire lacks may be the sum (aspect usage)"
SILENCE = "after a clean end without a reason, silence and class other are kept (aspect unfinished)"
UNREADABLE = "an adapter that is quiet about a piece that can't be read needs all the rest"
CALL_OR_TEXT = "`<tool_code>` in text: verbatim text and a call are both kept"

OPEN: dict[str, tuple[str, int | None]] = {
    "agent-events: NoResultNoEnd": (FAILED, 2),
    "art: error_without_its_number": (ERRORS, None),
    "mind: every_error_is_the_agents": (ERRORS, None),
    "unified-llm: every_429_is_a_rate_limit": (ERRORS, None),
    "unified-llm: blocked_prompt_is_an_untyped_error": (BLOCKED, None),
    "unified-llm: filtered_answer_is_an_untyped_error": (FILTERED, 8),
    "unified-llm: recitation_is_no_filter": (WORDS, 3),
    "unified-llm: two_reasons_are_filters": (WORDS, 3),
    "anthropic: TokenLimitHidesTheCall": (OF_ITS_CLASS, None),
    "anthropic: other_is_refusal": (NOT_STOP, None),
    "unified-llm: CallsCountWithStopAlone": (NOT_STOP, 3),
    "mind: ResultBesideACall": (STOP, None),
    "unified-llm: CallsDontChangeTheReason": (STOP, 3),
    "unified-llm: missing_total_is_a_sum": (SUM, None),
    "art: nothing_is_an_answer": (SILENCE, None),
    "unified-llm: nothing_understood_is_finished": (SILENCE, 3),
    "agent-events: the_rest_is_dropped": (UNREADABLE, None),
    "anthropic: broken_json_skipped": (UNREADABLE, None),
    "unified-llm: broken_json_skipped": (UNREADABLE, 3),
    "anthropic: ToolCodeStaysText": (CALL_OR_TEXT, None),
}
"""Faults that change facts, but that a rule of docs/what-is-judged.md allows → that rule, and the
law as above.
"""

FEW = Effort(8, 4, 60, bytewise=False)
OF_VARIANTS = (1, 4, 6, 9)
SMALLEST = 4
OF_ONE_ANSWER = (2, 3, 8)
"""The laws that judge one answer by its event model."""

Rebuild = Callable[[Fault], Adapter]


def with_shim(fault: Fault, shim: str = "") -> Adapter:
    """The adapter of a fault under the shim that a user would write. It has a second turn."""
    payloads = payloads_of(fault.replay, fault.dialect)

    def run_shim(exchange: Exchange, options: RunOptions) -> Output:
        output = payloads.with_options(options).output(exchange)
        transcript = transcript_of_payloads(shim or fault.dialect, output.items)
        remembered = [call.signature for call in output.session.calls.values() if call.signature]
        entries = (*transcript.entries, Entry({"session": remembered}))
        return Output.of_transcript(replace(transcript, entries=entries))

    def converse(exchange: Exchange, options: RunOptions) -> bytes | str:
        adapter = payloads.with_options(options)
        provider = provider_of(exchange, adapter)
        if adapter.request is None or adapter.request.wire not in (None, provider.wire):
            return "it has no second turn"
        output = adapter.output(exchange)
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


def with_result(fault: Fault) -> Adapter:
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


def with_account(fault: Fault, of_events: bool = False) -> Adapter:
    """The adapter of a fault with the facts of our reader of its event model."""
    inner = (events_of if of_events else payloads_of)(fault.replay, fault.dialect)

    def run_inner(exchange: Exchange, options: RunOptions) -> Output:
        adapter = inner.with_options(options)
        output = adapter.output(exchange)
        return Output.of_transcript(in_own_words(transcript_of(adapter, output), output.items))

    return Adapter(name="faulty", model=FACTS, run=run_inner, effort=FEW)


def with_events(fault: Fault) -> Adapter:
    """The adapter of a fault with the facts of its canonical events."""
    return with_account(fault, of_events=True)


def in_own_words(transcript: Transcript, payloads: list[Any]) -> Transcript:
    """The transcript without the account of a known event model, and with the event model's own
    word for the reason, if it has one.
    """
    transcript = replace(transcript, account=None)
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


def red_aspects(rebuild: Rebuild, fault: Fault, cell: Cell) -> set[str]:
    adapter = rebuild(fault).with_options(options_of(cell))
    exchange = recorded(cell)
    try:
        output = adapter.output(exchange)
    except AdapterError:  # the payloads cannot be read
        return {"error"}
    return {*judge_output(exchange, adapter, output).red}


def red_aspects_of_second_turn(rebuild: Rebuild, fault: Fault, cell: Cell) -> set[str]:
    exchange = recorded(cell)
    exchange = replace(exchange, provider=cell.case.provider or exchange.provider)
    item = Item(cell.case.cassette, cell.case.exchange, exchange)
    adapter = rebuild(fault)
    if adapter.second_request is None:
        return set()
    converse, options = adapter.second_request, options_of(cell)
    adapter = replace(adapter, second_request=lambda exchange, _: converse(exchange, options))
    return {
        "error" if finding.subject == RUN else finding.subject
        for judged in judge_second_turns(items_with_second_turn([item], adapter), [adapter])
        for finding in judged.red_findings
    }


def options_of(cell: Cell) -> RunOptions:
    return RunOptions(provider=cell.case.provider, tool_code=cell.case.tool_code)


@cache
def losses_of_ours(
    judge: Callable[[Rebuild, Fault, Cell], set[str]], rebuild: Rebuild, dialect: str, at: int
) -> set[str]:
    """The aspects that our own event model does not carry in this cell."""
    return judge(rebuild, Fault(dialect), cells(dialect)[at])


def rebuilds(fault: Fault) -> list[Rebuild]:
    """The forms of a fault that state facts."""
    forms: list[Rebuild] = [with_shim, with_account]
    if fault.spoils_events:
        forms.append(with_events)
    if f"{fault.dialect} result" in SHIMS:
        forms.append(with_result)
    return forms


def caught_by(fault: Fault) -> str:
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
                rebuild(each).with_options(options_of(cell))
                for each in (fault, Fault(fault.dialect))
            )
            for number in OF_VARIANTS:
                law_of_variants = LAWS[number - 1]
                if law_of_variants.findings(recorded(cell), faulty) and not (
                    law_of_variants.findings(recorded(cell), faultless)
                ):
                    return f"law {number}: {cell.case.cassette}.{cell.case.exchange}"
    return ""


def statement(rebuild: Rebuild, fault: Fault, cell: Cell) -> Any:
    """The statement of an adapter about a cell, without differences that the vocabulary ignores:
    pieces, the order of different facts, the word for a class of reasons, 0 for no count. It
    includes the verdicts, since they depend on native events too.
    """
    adapter, exchange = rebuild(fault).with_options(options_of(cell)), recorded(cell)
    output = adapter.output(exchange)
    assert output.transcript
    facts = [*output.transcript.facts()]
    reasons = [fact.raw for fact in facts if isinstance(fact, Finish) and fact.raw]
    reason = reasons[-1] if reasons else None
    counts: dict[str, int | None] = {}
    for usage in (fact for fact in facts if isinstance(fact, Usage)):
        counts |= {name: count for name, count in asdict(usage).items() if count is not None}
    judged = judge_output(exchange, adapter, output).aspects
    return (
        *(
            "".join(fact.text for fact in facts if isinstance(fact, kind))
            for kind in (Text, Thought)
        ),
        [fact for fact in facts if isinstance(fact, Call)],
        (finish_class(reason), ends_in_call(reason), reason == "end_turn"),
        {name: count for name, count in counts.items() if count},
        [fact for fact in facts if isinstance(fact, Error)],
        {aspect: finding.verdict for aspect, finding in judged.items()},
    )


def changes_facts(fault: Fault) -> bool:
    """Whether any form of a fault states something else than ours."""
    return any(
        statement(rebuild, fault, cell) != statement(rebuild, Fault(fault.dialect), cell)
        for rebuild in rebuilds(fault)
        for _, cell in differing_cells(fault)
    )


KNOWN = (*NO_FAULT, *OPEN)


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in KNOWN])
def test_a_fault_that_changes_a_fact_breaks_a_law(name: str) -> None:
    assert caught_by(FAULTS[name]), f"{name} survives: {FAULTS[name].says}"


@pytest.mark.parametrize("name", NO_FAULT)
def test_a_fault_of_the_event_model_alone_changes_no_fact(name: str) -> None:
    assert not changes_facts(FAULTS[name])
    assert not caught_by(FAULTS[name])
    assert broken_by(FAULTS[name]) == NO_FAULT[name]


@pytest.mark.parametrize("name", OPEN)
def test_a_fault_that_the_facts_leave_open(name: str) -> None:
    _, law = OPEN[name]
    assert changes_facts(FAULTS[name])
    assert not caught_by(FAULTS[name])
    assert broken_by(FAULTS[name]) == law


def test_the_kinds_name_each_fault_once() -> None:
    assert len({*KNOWN}) == len(KNOWN)
    assert {*KNOWN} <= FAULTS.keys()


def broken_by(fault: Fault) -> int | None:
    """The first law that finds a fault in the payloads of its event model."""
    faulty, faultless = payloads_of(fault.replay, fault.dialect), ADAPTERS[fault.dialect]
    for number in OF_ONE_ANSWER:
        law = LAWS[number - 1]
        for _, cell in differing_cells(fault):
            exchange, options = recorded(cell), options_of(cell)
            with suppress(KeyError):  # the payloads cannot be read
                if law.findings(exchange, faulty.with_options(options)) and not law.findings(
                    exchange, faultless.with_options(options)
                ):
                    return number
    return None
