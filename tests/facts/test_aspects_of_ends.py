"""The aspects of an end: the reason, a cut, an error, a refused prompt."""

from __future__ import annotations

import json

import pytest

from harness.facts import (
    Aspect,
    AspectVerdict,
    Call,
    Entry,
    Error,
    Fact,
    Finish,
    Raised,
    Text,
    Transcript,
    Usage,
    judge_answer,
)
from harness.facts.aspects import present_aspects
from tests.support.wire_answers import Wire, answer, call_part, facts_of_body, frame, red, wire_of

ENDS: list[tuple[str | None, str | None, bool, dict[Aspect, AspectVerdict]]] = [
    ("MAX_TOKENS", "length", False, {}),
    ("MAX_TOKENS", "end_turn", False, {"finish": "lost"}),
    ("MAX_TOKENS", "tool_calls", True, {"finish": "lost"}),
    ("MAX_TOKENS", "tool_calls", False, {"finish": "wrong"}),
    ("MAX_TOKENS", "content_filter", False, {"finish": "wrong"}),
    ("STOP", "length", False, {"finish": "wrong"}),
    ("STOP", "tool_calls", True, {}),
    ("STOP", "stop", True, {}),
    ("STOP", "tool_use", True, {}),
    ("STOP", "end_turn", True, {"finish": "wrong"}),
    ("STOP", "end_turn", False, {}),
    ("SAFETY", "content_filter", False, {}),
    ("SAFETY", "stop", False, {"finish": "lost"}),
    ("LANGUAGE", "error", False, {}),
    ("LANGUAGE", "stop", False, {"finish": "lost"}),
    ("MALFORMED_FUNCTION_CALL", "stop", False, {"finish": "lost"}),
    ("BRAND_NEW", None, False, {"finish": "lost"}),
    (None, None, False, {}),
    ("", None, False, {}),
    (None, "stop", False, {"unfinished": "lost"}),
    (None, "tool_use", True, {}),
    (None, "tool_use", False, {"unfinished": "wrong"}),
    (None, "length", False, {"unfinished": "wrong"}),
]


@pytest.mark.parametrize(("reason", "given", "with_call", "expected"), ENDS)
def test_the_end_is_judged_by_its_class(
    reason: str | None, given: str | None, with_call: bool, expected: dict[Aspect, AspectVerdict]
) -> None:
    parts = [call_part("f", None)] if with_call else [{"text": "a"}]
    wire = answer(frame(*parts, **({} if reason is None else {"finishReason": reason})))
    content: Fact = Call(None, "f") if with_call else Text("a")
    facts = (content, Finish(given)) if given else (content,)
    assert red(wire, Transcript((Entry(None, facts),))) == expected


def test_the_raw_reason_is_enough_if_its_class_is_other() -> None:
    wire = answer(frame({"text": "a"}, finishReason="SAFETY"))
    facts = (Text("a"), Finish("unknown"))
    assert not red(wire, Transcript((Entry({"reason": "SAFETY"}, facts),)))
    assert red(wire, Transcript((Entry({"reason": "SAFETY"}), Entry({}, facts)))) == {
        "finish": "wrong"
    }


def test_an_error_that_names_the_finish_reason_is_not_needless() -> None:
    wire = answer(frame(finishReason="MALFORMED_FUNCTION_CALL"))
    named = Transcript(raised=Raised("ModelError", "ended with MALFORMED_FUNCTION_CALL"))
    assert not red(wire, named)
    other = Transcript(raised=Raised("ModelError", "ended badly"))
    assert red(wire, other).keys() == {"finish", "needless_error"}


@pytest.mark.parametrize(
    ("reason", "words", "is_kept"),
    [
        ("MAX_TOKENS", "Response was terminated early: MAX_TOKENS", True),
        ("MAX_TOKENS", "the limit of max tokens is reached", True),
        ("MAX_TOKENS", "terminated early", False),
        ("MAX_TOKENS", "Generation blocked.", False),
        ("content_filter", "terminated by the content filter", True),
        ("SAFETY", "Generation blocked.", True),
        ("SPII", "Generation blocked.", True),
        ("SAFETY", "Connection refused", False),
        ("SAFETY", "terminated early", False),
        ("OTHER", "the reason is OTHER", True),
        ("OTHER", "some other error", False),
        ("OTHER", "Generation blocked.", False),
        ("STOP", "the reason is STOP", False),
    ],
)
@pytest.mark.parametrize("as_fact", [False, True], ids=["raised", "error fact"])
def test_an_error_on_purpose_names_a_reason_of_every_class_but_stop(
    reason: str, words: str, is_kept: bool, as_fact: bool
) -> None:
    wire = answer(frame({"text": "a"}, finishReason=reason))
    given: tuple[Fact, ...] = (Text("a"), *([Error(None, words)] if as_fact else []))
    raised = None if as_fact else Raised("ModelError", words)
    expected = {} if is_kept else {"finish": "raised", "needless_error": "raised"}
    assert red(wire, Transcript((Entry(None, given),), raised)) == expected
    if not as_fact:
        crash = Raised("KeyError", words, crash=True)
        assert red(wire, Transcript((Entry(None, given),), crash)).keys() == {
            "finish",
            "needless_error",
        }


def test_an_error_that_names_the_reason_does_not_excuse_lost_counts() -> None:
    wire = answer(frame({"text": "a"}, finishReason="MAX_TOKENS") | COUNTED)
    raised = Raised("ModelError", "MAX_TOKENS")
    for given, expected in (
        ((), {"usage": "lost"}),
        ((Usage(input=3, output=1),), {"usage": "lost"}),
        ((Usage(input=3, output=7),), {"usage": "wrong"}),
        ((Usage(input=3, output=2),), {}),
    ):
        assert red(wire, Transcript((Entry(None, (Text("a"), *given)),), raised)) == expected


@pytest.mark.parametrize(
    ("transcript", "expected"),
    [
        (Transcript((Entry(None, (Text("a"),)),)), {"unfinished": "lost"}),
        (Transcript((Entry(None, (Text("a"), Finish("stop"))),)), {"unfinished": "wrong"}),
        (Transcript((Entry(None, (Text("a"), Error(None, "cut"))),)), {}),
        (Transcript((Entry(None, (Text("a"), Finish("error"))),)), {}),
    ],
)
def test_an_answer_that_was_cut_must_be_reported_as_unfinished(
    transcript: Transcript, expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer(frame({"text": "a"}), end="cut", interrupted=True)
    assert red(wire, transcript) == expected


ERROR = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((Text("a"),), {"error": "lost"}),
        ((Text("a"), Finish("stop")), {"error": "lost"}),
        ((Text("a"), Error(None, "something went wrong")), {"error": "wrong"}),
        ((Text("a"), Error(503, "")), {}),
        ((Text("a"), Error(None, "HTTP 503")), {}),
        ((Text("a"), Error(None, "HTTP 5030")), {"error": "wrong"}),
        ((Text("a"), Error(None, "The model is overloaded. Try later.")), {}),
    ],
)
def test_an_error_in_the_stream_must_be_reported(
    facts: tuple[Fact, ...], expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer(frame({"text": "a"}), ERROR)
    assert red(wire, Transcript((Entry(None, facts),))) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("rate_limit_error", {}),
        ("LIMITED", {}),
        (None, {}),
        ("api_error", {"error": "wrong"}),
        ("invalid_request_error", {"error": "wrong"}),
        (500, {"error": "wrong"}),
    ],
)
def test_an_error_is_not_of_another_class(
    code: int | str | None, expected: dict[Aspect, AspectVerdict]
) -> None:
    limit = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Please try again later."}
    wire = answer({"error": limit})
    error = Error(code, "Please try again later.")
    assert red(wire, Transcript((Entry(None, (error,)),))) == expected
    with_its_own = Error(code, "429: Please try again later.")
    assert not red(wire, Transcript((Entry(None, (with_its_own,)),)))


def test_nothing_is_asked_after_the_first_error() -> None:
    wire = answer(frame({"text": "a"}), ERROR, frame({"text": "b"}))
    for text in ("a", "ab"):
        assert not red(wire, Transcript((Entry(None, (Text(text), Error(503, ""))),)))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((Finish("content_filter"),), {}),
        ((Error(None, "refused"),), {}),
        ((), {"blocked": "lost"}),
        ((Finish("stop"),), {"blocked": "lost"}),
    ],
)
def test_a_refused_prompt_must_be_reported(
    facts: tuple[Fact, ...], expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer({"promptFeedback": {"blockReason": "SAFETY"}})
    assert red(wire, Transcript((Entry({}, facts),))) == expected


def test_a_block_reason_before_a_good_reason_is_kept() -> None:
    wire = answer(
        {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, frame(finishReason="STOP")
    )
    facts = (Finish("PROHIBITED_CONTENT"), Finish("STOP"))
    assert not red(wire, Transcript((Entry({}, facts),)))
    assert red(wire, Transcript((Entry({}, facts[1:]),))) == {"blocked": "lost"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("'NoneType' object is not subscriptable", {"blocked": "wrong"}),
        ("The prompt was blocked.", {}),
        ("no answer: OTHER", {}),
    ],
)
def test_an_error_for_a_blocked_prompt_must_mention_the_block(
    words: str, expected: dict[Aspect, AspectVerdict]
) -> None:
    wire = answer({"promptFeedback": {"blockReason": "OTHER"}})
    assert red(wire, Transcript(raised=Raised("TypeError", words))) == expected


def test_an_adapter_that_asked_again_has_understood_the_error() -> None:
    wire = answer(ERROR)
    conflict = Raised("HTTPError", "409 asked again")
    assert red(wire, Transcript(raised=conflict)) == {"error": "wrong"}
    assert not red(wire, Transcript(raised=conflict, asked_again=2))
    assert red(wire, Transcript(asked_again=2)) == {"error": "lost"}


def test_a_result_without_a_status_ended_well() -> None:
    stop = Transcript((Entry(None, (Text("a"), Finish("stop"))),))
    body = b'{"type":"message","content":"a","timestamp":"t"}\n'
    ended = wire_of(
        facts_of_body(body + b'{"type":"result","timestamp":"t"}\n', "gemini-cli"),
        "complete",
        program=True,
    )
    assert not red(ended, stop)
    endless = wire_of(facts_of_body(body, "gemini-cli"), "complete", program=True)
    assert red(endless, stop) == {"unfinished": "lost"}


COUNTED = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}}
ENDED = frame({"text": "a"}, finishReason="STOP") | COUNTED
WIRES_WITH_USAGE = {
    "an end": answer(ENDED),
    "a cut": answer(ENDED, end="cut", interrupted=True),
    "an error": answer(ENDED, ERROR),
    "a refusal": answer({"promptFeedback": {"blockReason": "SAFETY"}} | COUNTED),
    "no end": answer(frame({"text": "a"}) | COUNTED),
    "an end that is to be continued": answer(ENDED | frame(finishReason="CONTINUATION")),
    "a malformed call": answer(ENDED | frame(finishReason="MALFORMED_FUNCTION_CALL")),
}


@pytest.mark.parametrize("wire", WIRES_WITH_USAGE.values(), ids=[*WIRES_WITH_USAGE])
@pytest.mark.parametrize(
    "transcript",
    [
        Transcript(),
        Transcript((Entry(None, (Text("a"),)),)),
        Transcript((Entry(None, (Error(None, "MALFORMED_FUNCTION_CALL"),)),)),
        Transcript(raised=Raised("ModelError", "503 blocked: MALFORMED_FUNCTION_CALL")),
        Transcript(raised=Raised("KeyError", "'args'", crash=True)),
    ],
    ids=["nothing", "only text", "an error", "an exception", "a crash"],
)
@pytest.mark.parametrize("again", [False, True], ids=["once", "again"])
def test_an_aspect_of_the_wire_has_a_verdict_always(
    wire: Wire, transcript: Transcript, again: bool
) -> None:
    findings = judge_answer(*wire, transcript, again)
    assert {*present_aspects(*wire)} <= {*findings}
    assert "usage" in findings


def test_only_counts_that_are_not_zero_are_an_aspect() -> None:
    wire = answer(ENDED | {"usageMetadata": {"promptTokenCount": 0, "cachedContentTokenCount": 0}})
    assert "usage" not in present_aspects(*wire)
    assert "usage" not in judge_answer(*wire, Transcript())


def test_usage_beside_a_fault_is_not_asked_and_raised_after_a_crash() -> None:
    refusal = WIRES_WITH_USAGE["a refusal"]
    assert judge_answer(*refusal, Transcript())["usage"].verdict == "not_asked"
    crash = Transcript(raised=Raised("KeyError", "'SAFETY'", crash=True))
    assert red(refusal, crash) == {
        "usage": "raised",
        "blocked": "raised",
        "needless_error": "raised",
    }
    cut_off = judge_answer(*WIRES_WITH_USAGE["a cut"], crash)
    assert (cut_off["usage"].verdict, cut_off["finish"].verdict) == ("not_asked", "kept")


def chat_answer(*deltas: dict[str, object], reason: str | None = None) -> Wire:
    """An answer of the compatible endpoint; without a reason it was cut."""
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": reason}] if reason else []
    body = "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices)
    facts = facts_of_body(body.encode(), "openai-compat", interrupted=not reason)
    return wire_of(facts, "complete" if reason else "cut", not reason)


def chat_call(name: str) -> dict[str, object]:
    function = {"name": name, "arguments": "{}"}
    signature = {"google": {"thought_signature": name * 20}}
    return {"tool_calls": [{"id": name, "function": function, "extra_content": signature}]}


CUT = Error(None, "the stream was cut")
F, G = Call("f", "f", {}), Call("g", "g", {})


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ((F, G, CUT), {}),
        ((F, CUT), {}),
        ((CUT,), {}),
        ((G, CUT), {"calls": "lost", "ids": "lost"}),
        ((F, G), {"unfinished": "lost"}),
        ((), {"calls": "lost", "ids": "lost", "signatures": "lost", "unfinished": "lost"}),
    ],
)
def test_a_cut_after_whole_calls_is_those_calls_or_an_error(
    facts: tuple[Fact, ...], expected: dict[Aspect, AspectVerdict]
) -> None:
    native = [{"signature": (fact.name or "") * 20} for fact in facts if isinstance(fact, Call)]
    wire = chat_answer(chat_call("f"), chat_call("g"))
    assert red(wire, Transcript((Entry(native, facts),))) == expected


def test_a_call_that_something_follows_must_be_shown() -> None:
    after_text = chat_answer(chat_call("f"), {"content": "a"})
    assert red(after_text, Transcript((Entry(None, (Text("a"), CUT)),))) == {
        "calls": "lost",
        "ids": "lost",
        "signatures": "lost",
    }
    ended = chat_answer(chat_call("f"), reason="stop")
    assert red(ended, Transcript((Entry(None, (Finish("stop"),)),))) == {
        "calls": "lost",
        "ids": "lost",
        "signatures": "lost",
    }


def test_a_call_of_geminis_own_wire_is_whole_before_a_cut() -> None:
    wire = answer(frame(call_part("f", "f")), end="cut", interrupted=True)
    assert red(wire, Transcript((Entry(None, (CUT,)),))) == {"calls": "lost", "ids": "lost"}
