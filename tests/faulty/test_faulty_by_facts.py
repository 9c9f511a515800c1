"""Every fault that changes a fact breaks a law about facts, without any golden case.

Each faulty adapter is rebuilt as one that states its facts: under the shim that a stranger would
write for its payloads, and with the facts that our own readers find in its payloads and in its
canonical events. Its second turn, which law 8 is about, is asked too. `OPEN` lists the faults that
the facts leave open, each with the rule that does so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from harness import Exchange
from harness.conformance.adapters import ADAPTERS, Adapter, AdapterError, Output, RunOptions
from harness.conformance.adapters.adapter import FACTS, Effort
from harness.conformance.aspect_run import Item, judge_second_turns
from harness.conformance.aspects import judge_output, transcript_of
from harness.conformance.judge import Cell
from harness.conformance.laws import LAWS
from harness.conformance.laws.wire import provider_of
from harness.facts import Call, Entry, Finish, Transcript
from harness.pipeline.request import ask
from harness.stream.generation import ToolOutcome, TranslationError
from tests.faulty.pipeline import Fault
from tests.faulty.test_faulty import FAULTS, cells, differing_cells, recorded
from tests.support.adapters import events_of, payloads_of
from tests.support.facts_adapters import with_facts
from tests.support.payload_shims import transcript_of_payloads

pytestmark = pytest.mark.slow

JOINED = "text is compared after joining: pieces and empty events are the event model's own"
BLOCKS = "starts, ends, pings and copies of what was said are the event model's own"
ERRORS = "an error is known by its code or its first words; its class is the event model's own"
REASONS = "a reason is known by its class or by the wire's own word, and a call may end as 'stop'"
COUNTS = "only the last input, output, thoughts and total are compared; 0 is none, a sum is a total"
SILENCE = "after a clean end without a reason, silence or another reason is no fault"
UNREADABLE = "an adapter may pass over what can't be read if it carries all the rest"
CALL_OR_TEXT = "`<tool_code>` may stay text or become a call"
NO_ASPECT = (
    "no aspect has it: names in results, to-do lists, times, candidates, marks, ids of answers"
)

OPEN: dict[str, tuple[str, int | None]] = {
    "agent-events: empty_text_dropped": (JOINED, None),
    "art: ATokenForEachPart": (JOINED, None),
    "art: empty_tokens": (JOINED, None),
    "mind: EmptyMessages": (JOINED, None),
    "unified-llm: told_when_it_is_over": (JOINED, None),
    "agent-events: NoResultNoEnd": (BLOCKS, 2),
    "anthropic: TailTwice": (BLOCKS, 2),
    "anthropic: done_after_the_end": (BLOCKS, 2),
    "anthropic: ping_after_the_start": (BLOCKS, 2),
    "anthropic: signature_before_the_thought": (BLOCKS, 2),
    "art: OtherKindsIfUnary": (BLOCKS, None),
    "art: metadata_before_an_error": (BLOCKS, 2),
    "art: no_end_after_an_invalid_answer": (BLOCKS, 2),
    "art: no_end_after_blocked": (BLOCKS, 2),
    "mind: result_of_the_last_piece": (BLOCKS, 3),
    "unified-llm: counts_are_an_event": (BLOCKS, 2),
    "unified-llm: delta_with_the_whole_call": (BLOCKS, 3),
    "unified-llm: intact_response_ignored": (BLOCKS, 3),
    "unified-llm: later_text_has_no_block": (BLOCKS, 2),
    "unified-llm: started_twice": (BLOCKS, 2),
    "unified-llm: text_ended_inside_the_call": (BLOCKS, 2),
    "unified-llm: text_not_ended_before_the_end": (BLOCKS, 2),
    "unified-llm: thoughts_open_a_text_block": (BLOCKS, 2),
    "anthropic: every_error_is_an_api_error": (ERRORS, None),
    "art: error_without_its_number": (ERRORS, 3),
    "mind: every_error_is_the_agents": (ERRORS, 3),
    "mind: rate_limit_by_its_words": (ERRORS, 3),
    "unified-llm: blocked_prompt_is_an_untyped_error": (ERRORS, 3),
    "unified-llm: every_400_is_context_length": (ERRORS, None),
    "unified-llm: every_429_is_a_rate_limit": (ERRORS, None),
    "unified-llm: other_statuses_are_plain_errors": (ERRORS, None),
    "unified-llm: timeouts_are_tried_again": (ERRORS, None),
    "unified-llm: timeouts_have_no_class": (ERRORS, None),
    "unified-llm: wait_not_told": (ERRORS, None),
    "anthropic: TokenLimitHidesTheCall": (REASONS, 3),
    "anthropic: other_is_refusal": (REASONS, 3),
    "art: reasons_in_other_words": (REASONS, 3),
    "mind: ResultBesideACall": (REASONS, 3),
    "unified-llm: CallsCountWithStopAlone": (REASONS, 3),
    "unified-llm: CallsDontChangeTheReason": (REASONS, 3),
    "unified-llm: malformed_is_other": (REASONS, 3),
    "unified-llm: recitation_is_no_filter": (REASONS, 3),
    "unified-llm: two_reasons_are_filters": (REASONS, 3),
    "anthropic: counts_invented_at_the_start": (COUNTS, None),
    "art: counts_invented": (COUNTS, None),
    "unified-llm: missing_counts_are_zero": (COUNTS, 3),
    "unified-llm: missing_total_is_a_sum": (COUNTS, 3),
    "unified-llm: no_cached_tokens": (COUNTS, 3),
    "art: nothing_is_an_answer": (SILENCE, 3),
    "unified-llm: nothing_understood_is_finished": (SILENCE, 3),
    "agent-events: every_line_is_json": (UNREADABLE, 3),
    "agent-events: the_rest_is_dropped": (UNREADABLE, 3),
    "anthropic: broken_json_skipped": (UNREADABLE, 3),
    "unified-llm: broken_json_skipped": (UNREADABLE, 3),
    "anthropic: SplitEndTagMissed": (CALL_OR_TEXT, None),
    "anthropic: SplitStartTagLeaks": (CALL_OR_TEXT, None),
    "anthropic: ToolCodeStaysText": (CALL_OR_TEXT, None),
    "agent-events: AnyStatus": (NO_ASPECT, 3),
    "agent-events: BlankItems": (NO_ASPECT, 3),
    "agent-events: result_of_a_todo_list_is_an_orphan": (NO_ASPECT, None),
    "agent-events: results_without_a_name": (NO_ASPECT, None),
    "agent-events: unseen_tools_are_unknown": (NO_ASPECT, None),
    "art: FirstTokenAtTheFirstFrame": (NO_ASPECT, None),
    "unified-llm: end_mark_skipped": (NO_ASPECT, None),
    "unified-llm: id_at_the_top": (NO_ASPECT, None),
    "unified-llm: other_candidates_vanish": (NO_ASPECT, None),
}
"""Faults that the facts leave open on purpose → the rule of docs/what-is-judged.md that does so, and
the law that finds them in the payloads of their event model, None where only a golden case does.
"""

FEW = Effort(8, 4, 60, bytewise=False)
OF_VARIANTS = (1, 4, 6, 9)
SMALLEST = 4
OF_ONE_ANSWER = (2, 3, 8)
"""The laws that look at one answer, and know its event model."""

Rebuild = Callable[[Fault], Adapter]


def with_shim(fault: Fault) -> Adapter:
    """The adapter of a fault under the shim that a stranger would write. It has a second turn."""
    payloads = payloads_of(fault.replay, fault.dialect)

    def run_shim(exchange: Exchange, options: RunOptions) -> Output:
        output = payloads.with_options(options).output(exchange)
        transcript = transcript_of_payloads(fault.dialect, output.items)
        remembered = [call.signature for call in output.session.calls.values() if call.signature]
        entries = (*transcript.entries, Entry({"session": remembered}))
        return Output.of_transcript(replace(transcript, entries=entries))

    def converse(exchange: Exchange, options: RunOptions) -> bytes | str:
        adapter = payloads.with_options(options)
        provider = provider_of(exchange, adapter)
        if adapter.request is None or (provider.as_given and adapter.request.as_given is None):
            return "it has no second turn"
        output = adapter.output(exchange)
        calls = [
            fact
            for fact in transcript_of_payloads(fault.dialect, output.items).facts()
            if isinstance(fact, Call)
        ]
        outcomes = [ToolOutcome({"done": True}) for _ in calls] if calls else "Go on."
        translator = adapter.request
        prompt = translator.follow_up(translator.opening_prompt, output.items, outcomes)
        return json.dumps(ask(translator, prompt, provider.name, {}, output.session).body).encode()

    return Adapter(
        name="faulty", model=FACTS, run=run_shim, effort=FEW, second_request=in_adapter(converse)
    )


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
    """The adapter of a fault with the facts that our reader of its event model gives."""
    inner = (events_of if of_events else payloads_of)(fault.replay, fault.dialect)

    def run_inner(exchange: Exchange, options: RunOptions) -> Output:
        adapter = inner.with_options(options)
        output = adapter.output(exchange)
        return Output.of_transcript(in_own_words(transcript_of(adapter, output), output.items))

    return Adapter(name="faulty", model=FACTS, run=run_inner, effort=FEW)


def with_events(fault: Fault) -> Adapter:
    """The same of its canonical events."""
    return with_account(fault, of_events=True)


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


def red_aspects(rebuild: Rebuild, fault: Fault, cell: Cell) -> set[str]:
    adapter = rebuild(fault).with_options(options_of(cell))
    exchange = recorded(cell)
    try:
        output = adapter.output(exchange)
    except AdapterError:  # the payloads have no shape that can be read
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
        aspect
        for judged in judge_second_turns([item], [adapter])
        for aspect in (*judged.red, *(["error"] if judged.error else []))
    }


def options_of(cell: Cell) -> RunOptions:
    return RunOptions(provider=cell.case.provider, tool_code=cell.case.tool_code)


@cache
def losses_of_ours(
    judge: Callable[[Rebuild, Fault, Cell], set[str]], rebuild: Rebuild, dialect: str, at: int
) -> set[str]:
    """The aspects that our own event model does not carry, for the cell at this place."""
    return judge(rebuild, Fault(dialect), cells(dialect)[at])


def caught_by(fault: Fault) -> str:
    """The law and the cell that find a fault; "" where none does."""
    differing = differing_cells(fault)
    rebuilds = (with_shim, with_account, *((with_events,) if fault.spoils_events else ()))
    for rebuild in rebuilds:
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


@pytest.mark.parametrize("name", [name for name in FAULTS if name not in OPEN])
def test_a_fault_that_changes_a_fact_breaks_a_law(name: str) -> None:
    assert caught_by(FAULTS[name]), f"{name} survives: {FAULTS[name].says}"


@pytest.mark.parametrize("name", OPEN)
def test_a_fault_that_the_facts_leave_open(name: str) -> None:
    _, law = OPEN[name]
    assert not caught_by(FAULTS[name])
    assert broken_by(FAULTS[name]) == law


def broken_by(fault: Fault) -> int | None:
    """The first law that finds a fault in the payloads of its event model."""
    faulty, faultless = payloads_of(fault.replay, fault.dialect), ADAPTERS[fault.dialect]
    for number in OF_ONE_ANSWER:
        law = LAWS[number - 1]
        for _, cell in differing_cells(fault):
            exchange, options = recorded(cell), options_of(cell)
            with suppress(KeyError):  # the payloads have no shape that can be read
                if law.findings(exchange, faulty.with_options(options)) and not law.findings(
                    exchange, faultless.with_options(options)
                ):
                    return number
    return None
