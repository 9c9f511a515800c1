"""ART StreamEvents: the ids of the caller, the two modes, the end, the clock; and legal order and
content for any legal events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness.dialects.art import DIALECT as ART
from harness.stream import events as ev
from harness.stream.session import Session, Tool
from tests.support.legal_events import carried, legal_events

WHO = {"threadId": "thread", "traceId": "trace"}
START = ev.Start("gemini-3-pro", "r1")
STOP = ev.Finish("stop", "STOP")

Payload = dict[str, Any]
Clocked = ev.Event | tuple[float, ev.Event]
"""An event, which may have the time at which it comes."""


def translate(
    *events: Clocked, tools: Sequence[Tool] = (), streamed: bool = True, **context: Any
) -> list[Payload]:
    session = Session(context=context)
    session.streamed = streamed
    stage = ART.translator(tools, session)
    payloads: list[Payload] = []
    for item in events:
        session.at_ms, event = item if isinstance(item, tuple) else (session.at_ms, item)
        payloads += stage.feed(event)
    return payloads + stage.close()


def token(text: str, kind: str = "LLM_RESPONSE") -> Payload:
    return {"type": "TOKEN", "data": text, "tokenType": kind, **WHO}


def unknown(raw: Any) -> Payload:
    return {"type": "UNKNOWN", "data": raw, **WHO}


def end_payloads(**fields: Any) -> list[Payload]:
    return [
        {"type": "METADATA", "data": {**fields, "traceId": "trace"}, **WHO},
        {"type": "END", "data": None, **WHO},
    ]


def failed(name: str, message: str, **code: Any) -> list[Payload]:
    return [
        {"type": "ERROR", "data": {"name": name, "message": message, **code}, **WHO},
        {"type": "END", "data": None, **WHO},
    ]


NO_CANDIDATE = failed(
    "Error",
    "Invalid response structure from Gemini SDK: the answer has no content and no finish reason",
)
TODO = Tool("write_todos", {"properties": {"todos": {}}})

STREAMS: dict[str, tuple[list[Clocked], list[Payload]]] = {
    "the last of every field": (
        [
            START,
            STOP,
            ev.Usage({"a": 1, "b": 1}, 7, 1, 2),
            ev.Finish("length", "MAX_TOKENS"),
            ev.Usage({"b": 3}, None, 4),
        ],
        end_payloads(
            inputTokens=7,
            outputTokens=4,
            thinkingTokens=2,
            stopReason="MAX_TOKENS",
            providerRawUsage={"a": 1, "b": 3},
        ),
    ),
    "counts of nought are counts": (
        [START, ev.Text("a"), ev.Usage({"a": 0}, 0, 0, 0)],
        [
            token("a"),
            *end_payloads(
                inputTokens=0, outputTokens=0, thinkingTokens=0, providerRawUsage={"a": 0}
            ),
        ],
    ),
    "an empty text alone is no answer": ([START, ev.Text("")], NO_CANDIDATE),
    "an empty text and a reason are an answer": (
        [START, ev.Text(""), STOP],
        end_payloads(stopReason="STOP"),
    ),
    "the other candidate alone is none": (
        [START, ev.Text("a", candidate=1), ev.Finish("stop", "STOP", candidate=1)],
        NO_CANDIDATE,
    ),
    "ratings of the prompt are no answer": (
        [START, ev.Annotation("safety_ratings", {"s": []}, -1)],
        NO_CANDIDATE,
    ),
    "garbage is no answer": (
        [ev.Unknown("frame", "oops")],
        [
            unknown("oops"),
            *failed(
                "Error",
                "Invalid response structure from Gemini SDK: nothing in the answer was understood;"
                " it begins with oops",
            ),
        ],
    ),
    "nothing at all": ([], NO_CANDIDATE),
    "nothing follows the end": (
        [
            START,
            ev.Text("a"),
            ev.Blocked("OTHER"),
            ev.Text("b"),
            ev.Error("x"),
            ev.Unknown("frame", 1),
        ],
        [token("a"), *failed("Error", "Gemini API call blocked: OTHER")],
    ),
    "the number before the name": (
        [ev.Error("x", 503, "UNAVAILABLE")],
        failed("ApiError", "x", code=503),
    ),
    "the name without a number": (
        [START, ev.Error("x", None, "INTERNAL")],
        failed("ApiError", "x", code="INTERNAL"),
    ),
    "neither": ([START, ev.Error("x")], failed("ApiError", "x")),
    "how it was interrupted": (
        [START, ev.Incomplete("cut", "data: {")],
        failed(
            "StreamError",
            "the stream ended before it was complete (cut), 7 characters into a message",
        ),
    ),
    "a call of a declared tool": (
        [START, ev.NamelessCall(1, {"todos": []}, "<raw>")],
        end_payloads(),
    ),
    "a call of no declared tool": (
        [START, ev.NamelessCall(1, {"speed": 1}, "<raw>")],
        [token("<raw>"), *end_payloads()],
    ),
    "a text that is not the answer": (
        [START, ev.Text("be kind", role="system"), STOP],
        [
            unknown({"kind": "text", "text": "be kind", "role": "system"}),
            *end_payloads(stopReason="STOP"),
        ],
    ),
    "a result of a tool": (
        [START, ev.ToolResult("c1", response={"ok": 1}), STOP],
        [
            unknown({"kind": "tool_result", "id": "c1", "response": {"ok": 1}}),
            *end_payloads(stopReason="STOP"),
        ],
    ),
    "annotations that are no declared loss": (
        [START, ev.Annotation("citations", {"c": 1}), ev.Annotation("part", {"p": 1}), STOP],
        [unknown({"p": 1}), *end_payloads(stopReason="STOP")],
    ),
    "a notice": (
        [START, ev.Notice("warning", "slow", {"n": 1}), STOP],
        [unknown({"n": 1}), *end_payloads(stopReason="STOP")],
    ),
    "the same model again, then another": (
        [
            START,
            ev.Start("gemini-3-pro"),
            ev.Start("other"),
            ev.Metadata("model", {"modelVersion": "other"}),
            STOP,
        ],
        [unknown({"model": "other"}), *end_payloads(stopReason="STOP")],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream(name: str) -> None:
    events, payloads = STREAMS[name]
    assert translate(*events, tools=[TODO]) == payloads


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("context", "prefix"),
    [
        ({}, ""),
        ({"callContext": "AGENT_THOUGHT"}, "AGENT_THOUGHT_"),
        ({"callContext": "FINAL_SYNTHESIS"}, "FINAL_SYNTHESIS_"),
        ({"callContext": "SUMMARY"}, ""),
    ],
)
def test_the_call_context_chooses_the_token_types_in_both_modes(
    context: dict[str, Any], prefix: str, streamed: bool
) -> None:
    payloads = translate(START, ev.Reasoning("hm"), ev.Text("a"), streamed=streamed, **context)
    assert payloads == [
        token("hm", prefix + "LLM_THINKING"),
        token("a", prefix + "LLM_RESPONSE"),
        *end_payloads(),
    ]


def test_every_event_has_the_ids_of_the_caller() -> None:
    events = [START, ev.Text("a"), ev.Unknown("frame", 1), STOP]
    payloads = translate(*events, threadId="t1", traceId="x1", sessionId="s1")
    assert {(p["threadId"], p["traceId"], p["sessionId"]) for p in payloads} == {("t1", "x1", "s1")}
    assert payloads[-2]["data"] == {"stopReason": "STOP", "traceId": "x1"}
    assert all("sessionId" not in p for p in translate(*events, threadId="t1"))


def test_a_unary_answer_is_one_token_of_thoughts_and_one_of_text() -> None:
    events = [START, ev.Text("a"), ev.Reasoning("h"), ev.Text(" b"), ev.Reasoning("m"), STOP]
    assert translate(*events, streamed=False) == [
        token("hm", "LLM_THINKING"),
        token("a b"),
        *end_payloads(stopReason="STOP"),
    ]


def test_the_tokens_of_a_failed_unary_answer_precede_the_error() -> None:
    events = [START, ev.Text("a"), ev.Text("b"), ev.Error("x", 500)]
    assert translate(*events, streamed=False) == [token("ab"), *failed("ApiError", "x", code=500)]


CLOCKS: list[tuple[list[Clocked], Payload]] = [
    (
        [(5.0, START), (6.5, ev.Text("")), (9.0, ev.Text("a")), (12.0, STOP)],
        {"timeToFirstTokenMs": 9.0, "totalGenerationTimeMs": 12.0},
    ),
    (
        [(5.0, START), (6.5, ev.Reasoning("h")), (9.0, ev.Text("a"))],
        {"timeToFirstTokenMs": 6.5, "totalGenerationTimeMs": 9.0},
    ),
    (
        [(0.0, START), (0.0, ev.Text("a"))],
        {"timeToFirstTokenMs": 0.0, "totalGenerationTimeMs": 0.0},
    ),
    ([START, ev.Text("a"), (9.0, ev.Text("b"))], {"totalGenerationTimeMs": 9.0}),
    ([(5.0, START), (6.0, STOP)], {"totalGenerationTimeMs": 6.0}),
    ([START, ev.Text("a")], {}),
]


@pytest.mark.parametrize(("events", "times"), CLOCKS)
def test_times_are_those_of_the_recording(events: list[Clocked], times: Payload) -> None:
    data = translate(*events)[-2]["data"]
    assert {name: value for name, value in data.items() if name.endswith("Ms")} == times


def test_replay_passes_on_the_mode_and_the_clock() -> None:
    body = b'{"candidates": [{"content": {"parts": [{"text": "a"}, {"text": "b"}]}, "finishReason": "STOP"}]}'
    url = "https://generativelanguage.googleapis.com/v1beta/models/m:"
    for method, data, tokens in (
        ("generateContent", body + b"\n", ["ab"]),
        ("streamGenerateContent?alt=sse", b"data: " + body + b"\n\n", ["a", "b"]),
    ):
        exchange = harness.Exchange(
            harness.Request("POST", url + method, {}, b"{}"),
            200,
            {},
            ((8.0, data),),
            generates=True,
        )
        payloads = harness.replay(exchange, dialect="art", provider="gemini-api")
        assert [p["data"] for p in payloads if p["type"] == "TOKEN"] == tokens
        assert payloads[-2]["data"]["timeToFirstTokenMs"] == 8.0


@given(legal_events(), st.booleans())
@settings(max_examples=300, deadline=None)
@pytest.mark.slow
def test_payloads_of_legal_events_are_in_order_and_complete(
    events: list[ev.Event], streamed: bool
) -> None:
    payloads = translate(*events, streamed=streamed)
    state = "fresh"
    for payload in payloads:
        state = ART.order[state][ART.label(payload)]
    assert state in ART.final
    assert [p["type"] for p in payloads].count("END") == 1
    answer = carried(events)
    blocked = next(
        (at for at, event in enumerate(answer) if isinstance(event, ev.Blocked)), len(answer)
    )
    texts = [
        e.raw if isinstance(e, ev.NamelessCall) else e.text
        for e in answer[:blocked]
        if isinstance(e, (ev.Text, ev.NamelessCall))
    ]
    thoughts = [e.text for e in answer[:blocked] if isinstance(e, ev.Reasoning)]
    for kind, pieces in (("LLM_RESPONSE", texts), ("LLM_THINKING", thoughts)):
        tokens = [p["data"] for p in payloads if p.get("tokenType") == kind]
        assert "".join(tokens) == "".join(pieces)
        assert streamed or len(tokens) <= 1
