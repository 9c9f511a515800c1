"""Declared losses: what they cover, and what they never excuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.adapters import Output
from harness.facts import (
    Call,
    Entry,
    Fact,
    Finish,
    Text,
    Transcript,
    Usage,
    losses_of_model,
    read_losses,
)
from harness.judging.aspects import compare_output
from tests.support.facts import reading_of
from tests.support.facts_adapters import facts_adapter
from tests.support.wire_answers import Wire, answer, call_part, frame


def judged(wire: Wire, declared: str, *facts: Fact) -> dict[str, str]:
    """The verdicts that are not kept, with the declared losses."""
    adapter = replace(facts_adapter(lambda transcript: transcript), losses=read_losses(declared))
    output = Output.of_transcript(Transcript((Entry(None, facts),)))
    reading = reading_of(wire.facts)
    reading.interrupted = wire.asked.interrupted
    aspects = compare_output(reading, adapter, output).aspects
    return {name: each.verdict for name, each in aspects.items() if each.verdict != "kept"}


@pytest.mark.parametrize(
    ("reason", "given", "declared", "verdict"),
    [
        ("MAX_TOKENS", "stop", "", "lost"),
        ("MAX_TOKENS", "stop", "finish[length]", "not_carried"),
        ("MAX_TOKENS", "stop", "finish", "not_carried"),
        ("MAX_TOKENS", "stop", "finish[filter]", "lost"),
        ("MAX_TOKENS", "stop", "finish[none]", "lost"),
        ("MAX_TOKENS", None, "finish", "not_carried"),
        ("MAX_TOKENS", "refusal", "finish", "wrong"),
        ("STOP", "length", "finish", "wrong"),
        ("BRAND_NEW", "stop", "finish[other]", "not_carried"),
    ],
)
def test_a_class_without_a_word_may_be_declared(
    reason: str, given: str | None, declared: str, verdict: str
) -> None:
    wire = answer(frame({"text": "a"}, finishReason=reason))
    facts: list[Fact] = [Text("a"), *([Finish(given)] if given else [])]
    assert judged(wire, declared, *facts) == {"finish": verdict}


@pytest.mark.parametrize(
    ("given", "declared", "interrupted", "verdict"),
    [
        ("stop", "", False, "lost"),
        ("stop", "finish[none]", False, "not_carried"),
        ("stop", "finish", False, "not_carried"),
        ("length", "finish", False, "wrong"),
        ("stop", "finish", True, "wrong"),
        (None, "finish", True, "lost"),
    ],
)
def test_an_end_that_the_wire_does_not_give_may_be_declared(
    given: str | None, declared: str, interrupted: bool, verdict: str
) -> None:
    wire = answer(frame({"text": "a"}), interrupted=interrupted)
    facts: list[Fact] = [Text("a"), *([Finish(given)] if given else [])]
    assert judged(wire, declared, *facts) == {"unfinished": verdict}


def test_a_declaration_never_excuses_a_wrong_or_repeated_fact() -> None:
    wire = answer(frame(call_part("f", "1"), finishReason="STOP"))
    call, end = Call("1", "f", {}), Finish("stop")
    assert judged(wire, "calls", end) == {"calls": "not_carried", "ids": "lost"}
    assert judged(wire, "*", replace(call, name="g"), end)["calls"] == "wrong"
    assert judged(wire, "*", call, call, end) == {"calls": "wrong"}


@pytest.mark.parametrize(("declared", "verdict"), [("f", "lost"), ("g", "not_carried")])
def test_a_loss_of_the_calls_of_one_tool_covers_no_other_call(declared: str, verdict: str) -> None:
    wire = answer(frame(call_part("f", None), call_part("g", None), finishReason="STOP"))
    found = judged(wire, f"calls[call:{declared}]", Call(None, "f"), Finish("stop"))
    assert found == {"calls": verdict}


@pytest.mark.parametrize(
    ("counted", "verdict"), [({"input": 30, "output": 5}, "not_carried"), ({"input": 30}, "lost")]
)
def test_a_loss_of_tool_use_covers_no_other_count(counted: dict[str, int], verdict: str) -> None:
    counts = {"promptTokenCount": 30, "candidatesTokenCount": 5, "toolUsePromptTokenCount": 50}
    ended = frame({"text": "a"}, finishReason="STOP")
    wire = answer({**ended, "usageMetadata": counts})
    found = judged(wire, "usage[tool_use]", Text("a"), Finish("stop"), Usage(**counted))
    assert found == {"usage": verdict}


@pytest.mark.parametrize("text", ["candidates", "finish[late]", "texts", "text[]", "calls[call:]"])
def test_an_unknown_loss_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a declared loss"):
        read_losses(text)


def test_an_event_model_may_declare_what_no_aspect_judges() -> None:
    (loss,) = losses_of_model({"candidates": "every candidate but the first"})
    assert (str(loss), loss.meaning) == ("candidates", "every candidate but the first")
