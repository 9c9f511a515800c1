"""The unified-llm dialect: one rule a row, from events to payloads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.dialects.unified_llm import DIALECT as UNIFIED_LLM
from harness.dialects.unified_llm.protocol import FINISH_REASONS, classify
from harness.stream import events as ev
from harness.stream.session import CountedIds, Session, Tool

START = ev.Start("gemini-x", "r1")
STOP = ev.Finish("stop", "STOP")


def translate(
    *events: ev.Event, tools: list[Tool] | None = None, session: Session | None = None
) -> list[dict[str, Any]]:
    translator = UNIFIED_LLM.translator(tools or [], session or Session())
    payloads = [payload for event in events for payload in translator.feed(event)]
    return payloads + translator.close()


def types(payloads: list[dict[str, Any]]) -> list[str]:
    return [payload["type"] for payload in payloads]


def response(payloads: list[dict[str, Any]]) -> dict[str, Any]:
    last: dict[str, Any] = payloads[-1]["response"]
    return last


def test_text_is_one_block_with_start_deltas_and_end() -> None:
    payloads = translate(START, ev.Text("He"), ev.Text(""), ev.Text("y"), STOP)
    assert payloads[:5] == [
        {"type": "STREAM_START"},
        {"type": "TEXT_START", "text_id": "text_1"},
        {"type": "TEXT_DELTA", "delta": "He", "text_id": "text_1"},
        {"type": "TEXT_DELTA", "delta": "y", "text_id": "text_1"},
        {"type": "TEXT_END", "text_id": "text_1"},
    ]
    assert payloads[5] == {
        "type": "FINISH",
        "finish_reason": {"reason": "stop", "raw": "STOP"},
        "response": {
            "id": "r1",
            "model": "gemini-x",
            "provider": "gemini",
            "message": {"role": "assistant", "content": [{"kind": "text", "text": "Hey"}]},
            "finish_reason": {"reason": "stop", "raw": "STOP"},
            "warnings": [],
        },
    }


def test_unusual_text_inside_a_block_is_no_plain_delta() -> None:
    others = [ev.Text("b", None, 1), ev.Text("c", role="system")]
    payloads = translate(START, ev.Text("a"), others[0], ev.Text("", "s"), others[1], STOP)
    assert types(payloads)[2:-1] == [
        *("TEXT_DELTA", "PROVIDER_EVENT", "TEXT_END", "PROVIDER_EVENT")
    ]
    assert response(payloads)["message"]["content"] == [
        {"kind": "text", "text": "a", "signature": "s"}
    ]
    signed = translate(START, ev.Text("a"), ev.Text("b", "s"), STOP)
    assert signed[4] == {"type": "TEXT_END", "text_id": "text_1", "signature": "s"}


def test_text_in_a_block_that_a_signature_opened_is_content() -> None:
    payloads = translate(START, ev.Text("", "s"), ev.Text("x"))
    assert types(payloads)[-1] == "FINISH"


def test_text_after_a_refusal_is_in_a_block_of_its_own() -> None:
    refusal = ev.Text("No", refusal=True)
    payloads = translate(START, ev.Text("Hm"), refusal, refusal, ev.Text("Yes"), STOP)
    assert response(payloads)["message"]["content"] == [
        {"kind": "text", "text": "Hm"},
        {"kind": "text", "text": "NoNo", "refusal": True},
        {"kind": "text", "text": "Yes"},
    ]


def test_reasoning_is_a_block_and_signatures_end_their_blocks() -> None:
    payloads = translate(
        START,
        ev.Reasoning("hm", "S1"),
        ev.Reasoning("!", "S2"),
        ev.Text("a"),
        ev.Text("", "S3"),
        STOP,
    )
    assert payloads[1:8] == [
        {"type": "REASONING_START"},
        {"type": "REASONING_DELTA", "reasoning_delta": "hm"},
        {"type": "REASONING_DELTA", "reasoning_delta": "!"},
        {"type": "REASONING_END", "signature": ["S1", "S2"]},
        {"type": "TEXT_START", "text_id": "text_1"},
        {"type": "TEXT_DELTA", "delta": "a", "text_id": "text_1"},
        {"type": "TEXT_END", "text_id": "text_1", "signature": "S3"},
    ]
    assert response(payloads)["message"]["content"] == [
        {
            "kind": "thinking",
            "thinking": {"text": "hm!", "redacted": False, "signature": ["S1", "S2"]},
        },
        {"kind": "text", "text": "a", "signature": "S3"},
    ]


def test_a_signature_on_empty_text_has_a_block_even_after_a_call() -> None:
    payloads = translate(
        START, ev.CallStart(1, "f", "c"), ev.CallEnd(1, {}), ev.Text("", "S"), STOP
    )
    assert payloads[3:5] == [
        {"type": "TEXT_START", "text_id": "text_1"},
        {"type": "TEXT_END", "text_id": "text_1", "signature": "S"},
    ]


def test_calls_are_between_the_texts_around_them() -> None:
    events = [
        ev.Text("a"),
        ev.CallStart(1, "f", "c9", "S"),
        ev.CallEnd(1, {"n": 2**70}),
        ev.CallStart(2, "g"),
        ev.CallEnd(2, {}),
        ev.Text("b"),
    ]
    payloads = translate(START, *events, STOP)
    assert types(payloads) == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "FINISH",
    ]
    assert payloads[4] == {"type": "TOOL_CALL_START", "tool_call": {"id": "c9", "name": "f"}}
    assert payloads[5] == {
        "type": "TOOL_CALL_END",
        "tool_call": {"id": "c9", "name": "f", "arguments": {"n": 2**70}, "signature": "S"},
    }
    assert payloads[7]["tool_call"] == {"id": "call_1", "name": "g", "arguments": {}}
    assert payloads[-1]["finish_reason"] == {"reason": "tool_calls", "raw": "STOP"}
    assert payloads[8]["text_id"] == "text_2"


def test_two_calls_never_share_an_id() -> None:
    calls = [
        event
        for n, given in enumerate(["c", "c", None, "call_1"], 1)
        for event in (ev.CallStart(n, "f", given), ev.CallEnd(n, {}))
    ]
    payloads = translate(START, *calls)
    assert [
        payload["tool_call"]["id"] for payload in payloads if payload["type"] == "TOOL_CALL_END"
    ] == ["c", "call_1", "call_2", "call_3"]


def test_ids_come_from_the_callers_generator() -> None:
    own = CountedIds()
    session = Session(ids=lambda prefix: f"mine-{own(prefix)}")
    payloads = translate(START, ev.CallStart(1, "f", None, "S"), ev.CallEnd(1, {}), session=session)
    assert payloads[2]["tool_call"]["id"] == "mine-call_1"
    assert (session.calls["mine-call_1"].name, session.calls["mine-call_1"].signature) == ("f", "S")


def test_the_session_is_bounded_oldest_out_first() -> None:
    session = Session(limit=2)
    for name in "abc":
        session.remember(name, name, None)
    assert list(session.calls) == ["b", "c"]


@pytest.mark.parametrize(("finish_class", "reason"), FINISH_REASONS.items())
def test_finish_reasons(finish_class: ev.FinishClass, reason: str) -> None:
    payloads = translate(START, ev.Finish(finish_class, "RAW", "why"))
    assert payloads[-1]["finish_reason"] == {"reason": reason, "raw": "RAW", "message": "why"}


def test_the_last_finish_reason_is_used_and_a_missing_one_is_other() -> None:
    assert (
        translate(START, STOP, ev.Finish("length", "MAX_TOKENS"))[-1]["finish_reason"]["raw"]
        == "MAX_TOKENS"
    )
    assert translate(START, ev.Text("a"))[-1]["finish_reason"] == {"reason": "other"}


@pytest.mark.parametrize(
    "event",
    [
        ev.Usage({"t": 3}, total=3),
        ev.Text(""),
        ev.Text("a", candidate=1),
        ev.Unknown("frame", "<html>"),
    ],
)
def test_an_answer_in_which_nothing_was_understood_is_an_error(event: ev.Event) -> None:
    *_, failure = translate(START, event)
    assert (failure["type"], failure["error"]["type"]) == ("ERROR", "StreamError")
    assert types(translate()) == ["ERROR"]


def test_usage_is_the_latest_value_of_every_count() -> None:
    usage = [
        ev.Usage({"p": 5, "t": 1}, input=5, reasoning=9),
        ev.Usage({"p": 6}, input=6, output=2, cached=0, total=17),
    ]
    assert translate(START, *usage)[-1]["usage"] == {
        "input_tokens": 6,
        "output_tokens": 2,
        "reasoning_tokens": 9,
        "cache_read_tokens": 0,
        "total_tokens": 17,
        "raw": {"p": 6, "t": 1},
    }
    assert "usage" not in translate(START)[-1]


RAW = {"wire": True}
WITHOUT_A_FIELD: list[tuple[ev.Event, Any]] = [
    (ev.Code("1+1", RAW), RAW),
    (ev.CodeResult("OUTCOME_OK", "2", RAW), RAW),
    (ev.ServerCall(RAW), RAW),
    (ev.ServerResult(RAW), RAW),
    (ev.Media("image/png", RAW, data="QQ=="), RAW),
    (ev.Annotation("grounding", RAW), RAW),
    (ev.Metadata("created", RAW), RAW),
    (ev.Unknown("part kind x", RAW), RAW),
    (
        ev.ToolResult("i", "f", {"output": 1}),
        {"kind": "tool_result", "id": "i", "name": "f", "response": {"output": 1}},
    ),
    (ev.Text("other", candidate=1), {"kind": "text", "text": "other", "candidate": 1}),
]


@pytest.mark.parametrize(("event", "raw"), WITHOUT_A_FIELD)
def test_an_event_without_a_field_is_a_provider_event(event: ev.Event, raw: Any) -> None:
    assert translate(START, event)[1] == {"type": "PROVIDER_EVENT", "raw": raw}


def test_every_event_of_another_candidate_is_a_provider_event() -> None:
    events = [
        ev.CallStart(1, "f", candidate=1),
        ev.CallPiece(1, "$.a", 1),
        ev.CallEnd(1, {"a": 1}),
        ev.Finish("stop", "STOP", candidate=1),
    ]
    payloads = translate(START, *events)
    assert types(payloads) == ["STREAM_START", *["PROVIDER_EVENT"] * 4, "ERROR"]
    assert payloads[3]["raw"] == {"kind": "call_end", "call": 1, "arguments": {"a": 1}}


def test_media_are_parts_of_the_message() -> None:
    media = [
        ev.Media("image/png", RAW, data="QQ==", signature="S"),
        ev.Media("audio/wav", RAW, uri="gs://a"),
        ev.Media(None, RAW, data="QQ=="),
    ]
    assert response(translate(START, *media))["message"]["content"] == [
        {"kind": "image", "image": {"data": "QQ==", "media_type": "image/png", "signature": "S"}},
        {"kind": "audio", "audio": {"url": "gs://a", "media_type": "audio/wav"}},
        {"kind": "document", "document": {"data": "QQ=="}},
    ]


def test_a_blocked_prompt_is_a_content_filter_finish() -> None:
    payloads = translate(START, ev.Blocked("SAFETY", "no"))
    assert payloads[-1]["finish_reason"] == {
        "reason": "content_filter",
        "raw": "SAFETY",
        "message": "no",
    }


def test_a_call_without_a_name_gets_a_declared_one_or_stays_text() -> None:
    event = ev.NamelessCall(1, {"path": "x"}, '<tool_code>{"path":"x"}</tool_code>')
    tool = Tool(
        "read", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    )
    assert translate(START, event, tools=[tool])[2]["tool_call"] == {
        "id": "call_1",
        "name": "read",
        "arguments": {"path": "x"},
    }
    assert translate(START, event)[2]["delta"] == event.raw


CLASSES: list[tuple[ev.Error, str]] = [
    (ev.Error("bad", 400, "INVALID_ARGUMENT"), "InvalidRequestError"),
    (ev.Error("API key not valid.", 400, reasons=["API_KEY_INVALID"]), "AuthenticationError"),
    (
        ev.Error("The input token count exceeds the maximum number of tokens allowed", 400),
        "ContextLengthError",
    ),
    (ev.Error("x", 401), "AuthenticationError"),
    (ev.Error("x", 403), "AccessDeniedError"),
    (ev.Error("x", 404), "NotFoundError"),
    (ev.Error("x", 408), "RequestTimeoutError"),
    (ev.Error("x", 413), "ContextLengthError"),
    (ev.Error("x", 429), "RateLimitError"),
    (ev.Error("x", 429, reasons=["QUOTA_EXHAUSTED"]), "QuotaExceededError"),
    (ev.Error("x", 429, quotas=["GenerateRequestsPerDayPerProject"]), "QuotaExceededError"),
    (ev.Error("x", 429, quotas=["GenerateRequestsPerMinutePerProject"]), "RateLimitError"),
    (ev.Error("x", 500), "ServerError"),
    (ev.Error("x", 503, "UNAVAILABLE"), "ServerError"),
    (ev.Error("x", 504, "DEADLINE_EXCEEDED"), "ServerError"),
    (ev.Error("x", None, "UNAVAILABLE"), "ServerError"),
    (ev.Error("x", None, "RESOURCE_EXHAUSTED"), "RateLimitError"),
    (ev.Error("x", None, "DEADLINE_EXCEEDED"), "RequestTimeoutError"),
    (ev.Error("x", 499, "CANCELLED"), "ProviderError"),
    (ev.Error("x"), "ProviderError"),
]


@pytest.mark.parametrize(("event", "kind"), CLASSES)
def test_errors_have_the_type_of_the_specification(event: ev.Error, kind: str) -> None:
    assert classify(event) == kind


def test_an_error_ends_the_stream_and_keeps_earlier_content() -> None:
    error = ev.Error("busy", 503, "UNAVAILABLE", retry_after=2.5, raw={"error": {}})
    usage = ev.Usage({"p": 1}, input=1)
    payloads = translate(
        START, usage, ev.Text("a", "S"), error, ev.Text("late"), ev.Incomplete("cut")
    )
    assert payloads[3:] == [
        {"type": "TEXT_END", "text_id": "text_1", "signature": "S"},
        {
            "type": "ERROR",
            "error": {
                "type": "ServerError",
                "message": "busy",
                "status_code": 503,
                "error_code": "UNAVAILABLE",
                "retryable": True,
                "retry_after": 2.5,
                "raw": {"error": {}},
            },
            "usage": {"input_tokens": 1, "raw": {"p": 1}},
        },
    ]
    assert types(translate(error)) == ["ERROR"]
    assert translate(ev.Error("x", 401))[0]["error"]["retryable"] is False


def test_an_interrupted_call_shows_its_arguments_so_far() -> None:
    events = [
        ev.CallStart(1, "f", "c"),
        ev.CallPiece(1, "$.a", "x", True),
        ev.Incomplete("reset", "{"),
    ]
    payloads = translate(START, *events)
    assert types(payloads) == ["STREAM_START", "TOOL_CALL_START", "TOOL_CALL_DELTA", "ERROR"]
    assert payloads[2] == {
        "type": "TOOL_CALL_DELTA",
        "delta": '{"a": "x"}',
        "tool_call": {"id": "c", "name": "f"},
    }
    assert payloads[3]["error"]["type"] == "StreamError"
    assert payloads[3]["error"]["raw"] == "{"
    assert "finish_reason" not in payloads[3]


EVENTS = st.sampled_from(
    [
        START,
        STOP,
        ev.Text("a"),
        ev.Text(""),
        ev.Text("", "S"),
        ev.Reasoning("r"),
        ev.Reasoning("", "S"),
        ev.Usage({"p": 1}),
        ev.Code("c", {}),
        ev.Blocked("X"),
        ev.Unknown("x"),
        ev.Annotation("safety_ratings", {}),
        ev.Text("o", candidate=2),
        ev.NamelessCall(9, {}, "raw"),
        ev.Error("e"),
        ev.Incomplete("cut"),
    ]
)
CALL = [ev.CallStart(7, "f"), ev.CallPiece(7, "$.a", 1), ev.CallEnd(7, {"a": 1})]


@pytest.mark.slow
@given(
    st.lists(
        st.one_of(
            EVENTS.map(lambda event: [event]), st.integers(1, 3).map(lambda count: CALL[:count])
        ),
        max_size=12,
    )
)
def test_the_payloads_of_any_events_follow_the_grammar(groups: list[list[ev.Event]]) -> None:
    events = [
        event
        for group in groups
        for event in (
            group if group[0] is not CALL[0] or len(group) == 3 else [*group, ev.Incomplete("cut")]
        )
    ]
    payloads = translate(*events)
    state = "fresh"
    for payload in payloads:
        state = UNIFIED_LLM.order[state][UNIFIED_LLM.label(payload)]
    assert state in UNIFIED_LLM.final
