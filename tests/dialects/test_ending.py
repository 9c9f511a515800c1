"""The policy for the end of an answer, and the check that a dialect handles every kind of event."""

from __future__ import annotations

from typing import get_args

import pytest

from harness.dialects.anthropic.stream import STOP_REASONS
from harness.dialects.ending import Ending, EndKind, every_kind
from harness.dialects.unified_llm.protocol import FINISH_REASONS
from harness.stream import events as ev

TEXT = ev.Text("Hi")
CALL = (ev.CallStart(1, "look"), ev.CallEnd(1, {}))


def finish(reason: ev.FinishClass, message: str | None = None, candidate: int = 0) -> ev.Finish:
    return ev.Finish(reason, reason.upper(), message, candidate)


def ended(*events: ev.Event) -> Ending:
    ending = Ending()
    for event in events:
        if type(event) in ending.watched:
            ending.note(event)
    return ending


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ((), "nothing"),
        ((ev.Unknown("frame", "<html>"),), "nothing"),
        ((TEXT,), "unfinished"),
        ((TEXT, finish("stop")), "stop"),
        ((TEXT, finish("length"), finish("content_filter")), "content_filter"),
        ((TEXT, finish("stop"), finish("length", candidate=1)), "stop"),
        ((finish("malformed"),), "malformed"),
        ((TEXT, finish("continuation")), "continuation"),
        ((TEXT, finish("failed")), "failed"),
        ((TEXT, finish("other")), "other"),
        ((finish("other"),), "empty"),
        ((ev.Blocked("SAFETY"), finish("stop")), "blocked"),
        ((TEXT, finish("stop"), ev.Blocked("SAFETY")), "blocked"),
        ((ev.CallStart(1, "look"), ev.CallInvalid(1, "{"), finish("stop")), "invalid_call"),
        ((ev.CallStart(1, "look", candidate=1), ev.CallInvalid(1, "{")), "nothing"),
    ],
)
def test_the_kind_of_an_end(events: tuple[ev.Event, ...], kind: EndKind) -> None:
    assert ended(*events).kind() == kind


def test_a_call_that_waits_ends_the_answer_whatever_the_reason() -> None:
    for reason in get_args(ev.FinishClass):
        assert ended(*CALL, finish(reason)).kind(called=True) == "called"
    assert ended(*CALL).kind(called=True) == "called"


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ((), "the answer has no content and no finish reason"),
        (
            (ev.Unknown("frame", "<html>"),),
            "nothing in the answer was understood; it begins with <html>",
        ),
        ((TEXT,), "the answer gave no finish reason"),
        ((finish("malformed", "no such tool"),), "MALFORMED: no such tool"),
        ((TEXT, finish("failed")), "the run ended with the status 'FAILED'"),
        (
            (ev.CallStart(1, "look"), ev.CallInvalid(1, "{")),
            "the arguments of the call look are not a JSON object: {",
        ),
    ],
)
def test_the_message_of_a_bad_end(events: tuple[ev.Event, ...], message: str) -> None:
    assert ended(*events).message() == message


def test_the_words_of_dialects_cover_every_kind_of_end() -> None:
    kinds = set(get_args(EndKind))
    assert STOP_REASONS.keys() == kinds
    assert FINISH_REASONS.keys() == kinds


def test_a_dialect_without_a_reaction_to_a_kind_is_an_error_that_names_it() -> None:
    table = dict.fromkeys(ev.KINDS.values(), "nothing")
    assert every_kind("plain", table) == table
    del table[ev.Notice], table[ev.Mark]
    with pytest.raises(
        TypeError, match="the dialect plain has no reaction to the events mark, not"
    ):
        every_kind("plain", table)
