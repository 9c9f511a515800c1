"""All faults, and the table of what each of them shows.

A fault shows itself in the way of its kind: a fault of an answer in a fact, by a law about facts; a
fault of a request, a program or a client in its cells; a fault of a history by its own aspect of
the second turn. `SHOWN` has a row for each fault of an
answer that the laws about facts don't find. All faults of answers are also found by a case or a law
of their event model.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from . import (
    agent_events,
    anthropic,
    art,
    ends,
    interactions,
    mind,
    openai_compat,
    proxy_requests,
    siblings,
    tool_code,
    unified_llm,
    wire_requests,
)
from .clients import CLIENT_FAULTS
from .faults import Fault
from .histories import HISTORY_FAULTS
from .pipeline import ANSWER_FAULTS
from .programs import PROGRAM_FAULTS
from .requests import REQUEST_FAULTS

FILED: Final = (
    *(agent_events, anthropic, art, ends, interactions, mind, openai_compat),
    *(proxy_requests, siblings, tool_code, unified_llm, wire_requests),
)
"""The modules that file faults when they are imported."""
KINDS: Final[dict[str, dict[str, Fault]]] = {
    "history": {**HISTORY_FAULTS},
    "answer": {**ANSWER_FAULTS},
    "request": {**REQUEST_FAULTS},
    "program": {**PROGRAM_FAULTS},
    "client": {**CLIENT_FAULTS},
}
"""The kinds of faults. Those of histories have no event model, and so no cell of a case."""
FAULTS: Final = {
    f"{kind} of {name}": fault
    for kind, faults in KINDS.items()
    for name, fault in faults.items()
    if kind != "history"
}


class Shown(NamedTuple):
    """What shows a fault of an answer that no law about facts finds."""

    rule: str
    """`NO_FACT`: the fault changes no fact and no verdict. Else the rule of
    docs/what-is-judged.md that allows the changed facts.
    """
    law: int | None
    """The law that finds it in the payloads of its event model; None if only a golden case does."""


NO_FACT: Final = "no fact changes"
FAILED: Final = "after a cut or a fault an error stands for the reason (aspect finish)"
ERRORS: Final = (
    "the first 30 characters of the message, beside a code of no known class (aspect error)"
)
BLOCKED: Final = "an error that names the block reason is kept (aspect blocked)"
FILTERED: Final = (
    "an error that reports a block is kept for a reason of class filter (aspect finish)"
)
WORDS: Final = "the raw word counts where the class is other (aspect finish)"
OF_ITS_CLASS: Final = "a reason of the wire's class is kept, also beside a call (aspect finish)"
NOT_STOP: Final = (
    "for a reason of class other, or for none, any class but stop is kept (aspect finish)"
)
STOP: Final = "a whole call may end as stop (aspect finish)"
SILENCE: Final = (
    "after a clean end without a reason, silence and class other are kept (aspect unfinished)"
)
UNREADABLE: Final = "an adapter that is quiet about a piece that can't be read needs all the rest"
CALL_OR_TEXT: Final = "`<tool_code>` in text: verbatim text and a call are both kept"

SHOWN: Final = {
    # pieces of text
    "agent-events: empty_text_dropped": Shown(NO_FACT, None),
    "agent-events: every_line_is_json": Shown(UNREADABLE, None),
    "art: ATokenForEachPart": Shown(NO_FACT, None),
    "art: empty_tokens": Shown(NO_FACT, None),
    "mind: EmptyMessages": Shown(NO_FACT, None),
    "unified-llm: text_sent_only_at_its_end": Shown(NO_FACT, None),
    # starts, ends, pings, kinds and places of events
    "anthropic: TailTwice": Shown(NO_FACT, 2),
    "anthropic: done_after_the_end": Shown(NO_FACT, 2),
    "anthropic: ping_after_the_start": Shown(NO_FACT, 2),
    "anthropic: signature_before_the_thought": Shown(NO_FACT, 2),
    "art: OtherKindsIfUnary": Shown(NO_FACT, None),
    "art: metadata_before_an_error": Shown(NO_FACT, 2),
    "art: no_end_after_an_invalid_answer": Shown(NO_FACT, 2),
    "art: no_end_after_blocked": Shown(NO_FACT, 2),
    "unified-llm: counts_are_an_event": Shown(NO_FACT, 2),
    "unified-llm: delta_with_the_whole_call": Shown(NO_FACT, 3),
    "unified-llm: later_text_has_no_block": Shown(NO_FACT, 2),
    "unified-llm: started_twice": Shown(NO_FACT, 2),
    "unified-llm: text_ended_inside_the_call": Shown(NO_FACT, 2),
    "unified-llm: text_not_ended_before_the_end": Shown(NO_FACT, 2),
    "unified-llm: thoughts_open_a_text_block": Shown(NO_FACT, 2),
    # the class of an error with its code and message, and the time to wait
    "unified-llm: every_400_is_context_length": Shown(NO_FACT, None),
    "unified-llm: other_statuses_are_plain_errors": Shown(NO_FACT, None),
    "unified-llm: timeouts_are_tried_again": Shown(NO_FACT, None),
    "unified-llm: timeouts_have_no_class": Shown(NO_FACT, None),
    "unified-llm: wait_dropped": Shown(NO_FACT, None),
    # another word for a reason of the same class
    "art: reasons_in_other_words": Shown(NO_FACT, None),
    "unified-llm: malformed_is_other": Shown(NO_FACT, 3),
    # 0 for no count; the wire's own object has the cached tokens too
    "art: counts_invented": Shown(NO_FACT, None),
    "unified-llm: missing_counts_are_zero": Shown(NO_FACT, 3),
    "unified-llm: no_cached_tokens": Shown(NO_FACT, 3),
    # items of a to-do list, whose calls are a declared loss
    "agent-events: AnyStatus": Shown(NO_FACT, None),
    "agent-events: BlankItems": Shown(NO_FACT, None),
    # names in results, times, further candidates, marks and ids of answers
    "agent-events: result_of_a_todo_list_is_an_orphan": Shown(NO_FACT, None),
    "agent-events: results_without_a_name": Shown(NO_FACT, None),
    "agent-events: unseen_tools_are_unknown": Shown(NO_FACT, None),
    "art: FirstTokenAtTheFirstFrame": Shown(NO_FACT, None),
    "unified-llm: end_mark_skipped": Shown(NO_FACT, None),
    "unified-llm: id_at_the_top": Shown(NO_FACT, None),
    "unified-llm: other_candidates_vanish": Shown(NO_FACT, None),
    # facts change, and a rule leaves them open
    "agent-events: NoResultNoEnd": Shown(FAILED, 2),
    "art: error_without_its_number": Shown(ERRORS, None),
    "mind: every_error_is_the_agents": Shown(ERRORS, None),
    "unified-llm: every_429_is_a_rate_limit": Shown(ERRORS, None),
    "unified-llm: blocked_prompt_is_an_untyped_error": Shown(BLOCKED, None),
    "unified-llm: filtered_answer_is_an_untyped_error": Shown(FILTERED, 8),
    "unified-llm: recitation_is_no_filter": Shown(WORDS, 3),
    "unified-llm: two_reasons_are_filters": Shown(WORDS, 3),
    "anthropic: TokenLimitHidesTheCall": Shown(OF_ITS_CLASS, None),
    "unified-llm: CallsCountWithStopAlone": Shown(NOT_STOP, 3),
    "mind: ResultBesideACall": Shown(STOP, None),
    "unified-llm: CallsDontChangeTheReason": Shown(STOP, 3),
    "art: nothing_is_an_answer": Shown(SILENCE, None),
    "unified-llm: nothing_understood_is_finished": Shown(SILENCE, 3),
    "agent-events: the_rest_is_dropped": Shown(UNREADABLE, None),
    "anthropic: broken_json_skipped": Shown(UNREADABLE, None),
    "unified-llm: broken_json_skipped": Shown(UNREADABLE, 3),
    "anthropic: ToolCodeStaysText": Shown(CALL_OR_TEXT, None),
}
