"""Every fault that changes a fact breaks a law about facts, without any golden case.

Each faulty adapter is rebuilt as one that states its facts: its canonical events or payloads are the
native events, and the reader of facts gives the facts. `OF_MODEL` lists the faults that change no
fact, and that a law finds in the payloads of their event model; `NO_LAW` lists those that only a
golden case finds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from harness import Exchange
from harness.conformance.adapters import ADAPTERS, Adapter, AdapterError, Output, RunOptions
from harness.conformance.adapters.adapter import FACTS, Effort
from harness.conformance.aspects import judge_output, transcript_of
from harness.conformance.judge import Cell
from harness.conformance.laws import LAWS
from harness.facts import Entry, Finish, Transcript
from tests.faulty.pipeline import Fault
from tests.faulty.test_faulty import FAULTS, cells, ours, recorded, run
from tests.support.adapters import events_of, payloads_of
from tests.support.facts_adapters import with_facts

pytestmark = pytest.mark.slow

NO_LAW: dict[str, str] = {
    **dict.fromkeys(
        (
            "agent-events: empty_text_dropped",
            "art: ATokenForEachPart",
            "art: OtherKindsIfUnary",
            "art: empty_tokens",
            "mind: EmptyMessages",
            "unified-llm: told_when_it_is_over",
        ),
        "the number, order or shape of events changes, and the facts do not",
    ),
    **dict.fromkeys(
        (
            "agent-events: error_is_the_status",
            "agent-events: result_of_a_todo_list_is_an_orphan",
            "agent-events: results_without_a_name",
            "agent-events: unseen_tools_are_unknown",
            "agent-events: unknown_types_are_errors",
            "anthropic: counts_invented_at_the_start",
            "anthropic: every_error_is_an_api_error",
            "art: FirstTokenAtTheFirstFrame",
            "art: counts_invented",
            "unified-llm: every_400_is_context_length",
            "unified-llm: every_429_is_a_rate_limit",
            "unified-llm: other_candidates_vanish",
            "unified-llm: other_statuses_are_plain_errors",
            "unified-llm: timeouts_are_tried_again",
            "unified-llm: timeouts_have_no_class",
            "unified-llm: wait_not_told",
            "unified-llm: end_mark_skipped",
            "unified-llm: id_at_the_top",
        ),
        "neither facts nor the laws of the event model compare it: names of results, ids of responses, times, classes of errors",
    ),
    **dict.fromkeys(
        (
            "anthropic: SplitEndTagMissed",
            "anthropic: SplitStartTagLeaks",
            "anthropic: ToolCodeStaysText",
            "anthropic: broken_arguments_are_empty",
            "anthropic: known_names_though_others_are_declared",
            "anthropic: name_argument_is_the_tool",
        ),
        "`<tool_code>` may stay text or become a call, and its arguments may be unreadable: both are kept",
    ),
}
"""Faults that no law finds → the reason."""

OF_MODEL = {
    "agent-events: AnyStatus": 3,
    "agent-events: BlankItems": 3,
    "agent-events: NoResultNoEnd": 2,
    "agent-events: TodoListIsAlsoATool": 3,
    "agent-events: TodoListIsOnlyATool": 3,
    "agent-events: every_line_is_json": 3,
    "agent-events: older_outputs_ignored": 3,
    "agent-events: the_rest_is_dropped": 3,
    "anthropic: CallWithoutAName": 8,
    "anthropic: RepeatedIds": 3,
    "anthropic: SignatureOfALaterThought": 3,
    "anthropic: StopWithCallsIsEndTurn": 3,
    "anthropic: TailTwice": 2,
    "anthropic: TokenLimitHidesTheCall": 3,
    "anthropic: broken_json_skipped": 3,
    "anthropic: cached_not_counted": 3,
    "anthropic: done_after_the_end": 2,
    "anthropic: one_id_for_all": 3,
    "anthropic: other_is_refusal": 3,
    "anthropic: ping_after_the_start": 2,
    "anthropic: signature_before_the_thought": 2,
    "anthropic: signature_inherited": 3,
    "anthropic: thinking_block_without_its_fields": 8,
    "art: counts_in_our_words_alone": 3,
    "art: error_without_its_number": 3,
    "art: metadata_before_an_error": 2,
    "art: no_end_after_an_invalid_answer": 2,
    "art: no_end_after_blocked": 2,
    "art: nothing_is_an_answer": 3,
    "art: reasons_in_other_words": 3,
    "mind: ResultBesideACall": 3,
    "mind: every_error_is_the_agents": 3,
    "mind: rate_limit_by_its_words": 3,
    "mind: reason_of_the_block_not_told": 3,
    "mind: result_of_the_last_piece": 3,
    "unified-llm: CallsCountWithStopAlone": 3,
    "unified-llm: CallsDontChangeTheReason": 3,
    "unified-llm: blocked_prompt_is_an_untyped_error": 3,
    "unified-llm: broken_json_skipped": 3,
    "unified-llm: counts_are_an_event": 2,
    "unified-llm: delta_with_the_whole_call": 3,
    "unified-llm: intact_response_ignored": 3,
    "unified-llm: later_text_has_no_block": 2,
    "unified-llm: empty_signature_is_made_up": 3,
    "unified-llm: malformed_is_other": 3,
    "unified-llm: missing_counts_are_zero": 3,
    "unified-llm: missing_total_is_a_sum": 3,
    "unified-llm: no_cached_tokens": 3,
    "unified-llm: nothing_understood_is_finished": 3,
    "unified-llm: recitation_is_no_filter": 3,
    "unified-llm: started_twice": 2,
    "unified-llm: text_ended_inside_the_call": 2,
    "unified-llm: text_not_ended_before_the_end": 2,
    "unified-llm: thoughts_open_a_text_block": 2,
    "unified-llm: two_reasons_are_filters": 3,
}
"""Faults that change no fact → the law that finds them in the payloads of their event model."""

FEW = Effort(8, 4, 60, bytewise=False)
OF_VARIANTS = (1, 4, 6, 9)
SMALLEST = 4
OF_ONE_ANSWER = (2, 3, 8)
"""The laws that look at one answer, and know its event model."""


def states_facts(fault: Fault, of_events: bool) -> Adapter:
    """The adapter of a fault as one that states its facts: those of its events, or of its
    payloads.
    """
    inner = (events_of if of_events else payloads_of)(fault.replay, fault.dialect)

    def run_inner(exchange: Exchange, options: RunOptions) -> Output:
        adapter = inner.with_options(options)
        output = adapter.output(exchange)
        return Output.of_transcript(in_own_words(transcript_of(adapter, output), output.items))

    return Adapter(name="faulty", model=FACTS, run=run_inner, effort=FEW)


def in_own_words(transcript: Transcript, payloads: list[Any]) -> Transcript:
    """The transcript with the event model's own word for the reason, where it has one."""
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


def red_aspects(fault: Fault, cell: Cell, of_events: bool) -> set[str]:
    adapter = states_facts(fault, of_events).with_options(options_of(cell))
    exchange = recorded(cell)
    try:
        output = adapter.output(exchange)
    except AdapterError:  # the payloads have no shape that can be read
        return {"error"}
    return {*judge_output(exchange, adapter, output).red}


def options_of(cell: Cell) -> RunOptions:
    return RunOptions(provider=cell.case.provider, tool_code=cell.case.tool_code)


@cache
def losses_of_ours(dialect: str, of_events: bool) -> list[set[str]]:
    """The aspects that our own event model does not carry, for each cell of a dialect."""
    return [red_aspects(Fault(dialect), cell, of_events) for cell in cells(dialect)]


def caught_by(fault: Fault) -> str:
    """The law and the cell that find a fault; "" where none does."""
    differing = [
        (at, cell)
        for at, (cell, own) in enumerate(
            zip(cells(fault.dialect), ours(fault.dialect), strict=True)
        )
        if run(fault, cell) != own
    ]
    for of_events in (False, True) if fault.spoils_events else (False,):
        losses = losses_of_ours(fault.dialect, of_events)
        for at, cell in differing:
            if new := red_aspects(fault, cell, of_events) - losses[at]:
                return f"law 3: {cell.case.cassette}.{cell.case.exchange}: {sorted(new)}"
        small = sorted(differing, key=lambda pair: len(recorded(pair[1]).body))[:SMALLEST]
        for _, cell in small:
            faulty, faultless = (
                states_facts(each, of_events).with_options(options_of(cell))
                for each in (fault, Fault(fault.dialect))
            )
            for number in OF_VARIANTS:
                law = LAWS[number - 1]
                if law.findings(recorded(cell), faulty) and not law.findings(
                    recorded(cell), faultless
                ):
                    return f"law {number}: {cell.case.cassette}.{cell.case.exchange}"
    return ""


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in {**NO_LAW, **OF_MODEL}])
def test_a_fault_that_changes_a_fact_breaks_a_law(name: str) -> None:
    assert caught_by(FAULTS[name]), f"{name} survives: {FAULTS[name].says}"


@pytest.mark.parametrize("name", OF_MODEL)
def test_a_fault_of_the_event_model_breaks_its_law(name: str) -> None:
    assert not caught_by(FAULTS[name])
    assert broken_by(FAULTS[name]) == OF_MODEL[name]


@pytest.mark.parametrize("name", NO_LAW)
def test_the_other_faults_break_no_law(name: str) -> None:
    assert not caught_by(FAULTS[name])
    assert broken_by(FAULTS[name]) is None


def broken_by(fault: Fault) -> int | None:
    """The first law that finds a fault in the payloads of its event model."""
    differing = [
        cell
        for cell, own in zip(cells(fault.dialect), ours(fault.dialect), strict=True)
        if run(fault, cell) != own
    ]
    faulty, faultless = payloads_of(fault.replay, fault.dialect), ADAPTERS[fault.dialect]
    for number in OF_ONE_ANSWER:
        law = LAWS[number - 1]
        for cell in differing:
            exchange, options = recorded(cell), options_of(cell)
            with suppress(KeyError):  # the payloads have no shape that can be read
                if law.findings(exchange, faulty.with_options(options)) and not law.findings(
                    exchange, faultless.with_options(options)
                ):
                    return number
    return None
