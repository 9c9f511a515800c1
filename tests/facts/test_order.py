"""The order of text, thoughts and calls in a stream of native events."""

from __future__ import annotations

import pytest

from harness.facts import Call, Entry, Fact, Finish, Text, Thought, Transcript, WireFacts
from tests.support.wire_answers import (
    answer,
    call_part,
    facts_of_body,
    frame,
    red,
    verdicts,
    wire_of,
)

T1, T2 = Thought("I think. "), Thought("Again. ")
X1, X2, X3 = Text("I look "), Text("it up. "), Text("Done.")
F, G = Call(None, "f", {"x": 1}), Call(None, "g", {})
STOP = Finish("STOP")
WIRE = answer(
    frame({"text": T1.text, "thought": True}),
    frame({"text": X1.text}),
    frame({"text": X2.text}, call_part("f", None, x=1)),
    frame({"text": T2.text, "thought": True}),
    frame({"text": X3.text}, call_part("g", None)),
    frame(finishReason="STOP"),
)


def stream(*events: Fact | tuple[Fact, ...]) -> Transcript:
    """Each event has one fact or several."""
    facts = [event if isinstance(event, tuple) else (event,) for event in [*events, STOP]]
    return Transcript(tuple(Entry({"event": number}, some) for number, some in enumerate(facts)))


def test_the_order_of_the_wire_is_kept() -> None:
    assert red(WIRE, stream(T1, X1, X2, F, T2, X3, G)) == {}
    assert red(WIRE, stream(T1, X1, (F, X2), T2, (G, X3))) == {}, "one event has no order"


@pytest.mark.parametrize(
    "events",
    [(T1, X1, X2, T2, F, X3, G), (T1, X1, X2, T2, X3, F, G), (T1, X1, X2, T2, X3, (F, G))],
)
def test_a_call_may_come_late(events: tuple[Fact | tuple[Fact, ...], ...]) -> None:
    assert red(WIRE, stream(*events)) == {}


@pytest.mark.parametrize(
    ("events", "aspect"),
    [
        ((F, T1, X1, X2, T2, X3, G), "text"),
        ((T1, F, X1, X2, T2, X3, G), "text"),
        ((T1, X1, F, X2, T2, X3, G), "text"),
        ((T1, X1, X2, F, T2, G, X3), "text"),
        ((T1, X1, X2, F, G, T2, X3), "text"),
        ((F, G, T1, X1, X2, T2, X3), "text"),
        ((X1, T1, X2, F, T2, X3, G), "thoughts"),
        ((T1, X1, X2, F, X3, T2, G), "thoughts"),
        ((T1, X1, T2, X2, F, X3, G), "text"),
        ((T1, T2, X1, X2, X3, F, G), "text"),
        ((X1, X2, X3, T1, T2, F, G), "thoughts"),
    ],
)
def test_content_that_comes_after_what_follows_it_is_wrong(
    events: tuple[Fact, ...], aspect: str
) -> None:
    findings = red(WIRE, stream(*events))
    assert findings == {aspect: "wrong"}


@pytest.mark.parametrize(
    "transcript",
    [
        stream((F, G, T1, T2, X1, X2, X3)),
        stream((F, G), Text(X1.text + X2.text + X3.text), Thought(T1.text + T2.text)),
        Transcript(tuple(Entry("message", (fact,)) for fact in (F, G, X1, X2, X3, T1, T2, STOP))),
    ],
    ids=["one event", "an event for each kind", "the same event"],
)
def test_a_whole_message_has_no_order(transcript: Transcript) -> None:
    assert red(WIRE, transcript) == {}


def test_an_answer_that_is_not_streamed_has_no_order() -> None:
    whole = answer(frame({"text": X1.text}, call_part("g", None), finishReason="STOP"))
    assert red(whole, stream(G, X1)) == {"text": "wrong"}
    unary = wire_of(whole.facts, "complete", streamed=False)
    assert red(unary, stream(G, X1)) == {}


def test_an_adapter_without_thoughts_has_an_order_of_text_and_calls() -> None:
    assert red(WIRE, stream(X1, X2, F, X3, G)) == {"thoughts": "lost"}
    assert red(WIRE, stream(X1, F, X2, X3, G)) == {"thoughts": "lost", "text": "wrong"}


def test_a_call_counts_where_its_last_state_comes() -> None:
    wire = answer(frame({"text": X1.text}, call_part("f", "a", x=1)), frame(finishReason="STOP"))
    begun, whole = Call("a", "f", {}), Call("a", "f", {"x": 1})
    assert red(wire, stream(begun, X1, whole)) == {}
    assert red(wire, stream(begun, whole, X1)) == {"text": "wrong"}


CHAT = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "I look "}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {"content": "it up. "}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function":'
    b' {"name": "g", "arguments": "{}"}}]}}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]}\n\n'
)
STEPS = (
    b'data: {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}}\n\n'
    b'data: {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "I look "}}\n\n'
    b'data: {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "it up. "}}\n\n'
    b'data: {"event_type": "step.start", "index": 1, "step": {"type": "function_call", "id": "a",'
    b' "name": "g", "arguments": {}}}\n\n'
    b'data: {"event_type": "step.start", "index": 2, "step": {"type": "model_output", "content":'
    b' [{"type": "text", "text": "Done."}]}}\n\n'
    b'data: {"event_type": "interaction.completed", "interaction": {"status": "completed"}}\n\n'
)


@pytest.mark.parametrize(
    "facts", [facts_of_body(CHAT, "openai-compat"), facts_of_body(STEPS, "interactions")]
)
def test_the_other_wires_have_an_order_too(facts: WireFacts) -> None:
    wire = wire_of(facts, "complete")
    call = Call("a", "g", {})
    assert verdicts(wire, stream(X1, X2, call, X3))["text"] == "kept"
    assert verdicts(wire, stream(X1, X2, X3, call))["text"] == "kept"
    assert verdicts(wire, stream(X1, call, X2, X3))["text"] == "wrong"
