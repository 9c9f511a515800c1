"""Runs, messages, calls, signatures and ends in AG-UI events; the schema, the order and the content
for any legal events, and the schema for all recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings

import harness
from harness.cassettes.load import load
from harness.dialects.ag_ui import DIALECT as AG_UI
from harness.facts import View
from harness.project.suite import CASSETTES
from harness.stream import events as ev
from harness.stream.session import Session, Tool
from tests.dialects.ag_ui.schema import check_event
from tests.support.legal_events import carried, legal_events

START = ev.Start("m", "r1")
STOP = ev.Finish("stop", "STOP")
RUN = {"threadId": "thread", "runId": "run_1"}
STARTED = {"type": "RUN_STARTED", **RUN, "protocolVersion": "1.0"}
USAGE = {"usage": [{"model": "m"}]}

Payload = dict[str, Any]


def translate(
    *events: ev.Event, tools: Sequence[Tool] = (), session: Session | None = None
) -> list[Payload]:
    stage = AG_UI.translator(tools, session or Session())
    given = [payload for event in events for payload in stage.feed(event)] + stage.close()
    for payload in given:
        check_event(payload)
    return given


def body(*events: ev.Event, **options: Any) -> list[Payload]:
    """The events between the first and the last one."""
    first, *events_between, _ = translate(START, *events, STOP, **options)
    assert first == STARTED
    return events_between


def end(*events: ev.Event) -> Payload:
    return translate(START, *events)[-1]


def message(number: int, *pieces: str) -> list[Payload]:
    same = {"messageId": f"msg_{number}"}
    return [
        {"type": "TEXT_MESSAGE_START", **same, "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", **same, "delta": piece} for piece in pieces),
        {"type": "TEXT_MESSAGE_END", **same},
    ]


def encrypted(subtype: str, entity: str, value: str) -> Payload:
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": subtype,
        "entityId": entity,
        "encryptedValue": value,
    }


def call(call_id: str, *deltas: str, name: str = "f", **more: str) -> list[Payload]:
    same = {"toolCallId": call_id}
    return [
        {"type": "TOOL_CALL_START", **same, "toolCallName": name, **more},
        *({"type": "TOOL_CALL_ARGS", **same, "delta": delta} for delta in deltas),
        {"type": "TOOL_CALL_END", **same},
    ]


def test_a_run_of_text_is_a_message() -> None:
    assert translate(START, ev.Text("a"), ev.Text(""), ev.Text("b"), STOP) == [
        STARTED,
        *message(1, "a", "b"),
        {
            "type": "RUN_FINISHED",
            **RUN,
            "outcome": {"type": "success"},
            **USAGE,
            "metadata": {"harness": {"responseId": "r1", "finishReason": "STOP"}},
        },
    ]


def test_the_caller_names_thread_and_run() -> None:
    session = Session(context={"threadId": "t", "runId": "r"})
    first, *_, last = translate(START, ev.Text("a"), STOP, session=session)
    assert [(event["threadId"], event["runId"]) for event in (first, last)] == [("t", "r")] * 2


def test_a_second_answer_of_a_session_is_another_run() -> None:
    session = Session()
    runs = [translate(START, STOP, session=session)[0]["runId"] for _ in range(2)]
    assert runs == ["run_1", "run_2"]


def test_media_divide_a_text_into_two_messages() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    assert body(ev.Text("a"), ev.Media("image/png", image, data="AA=="), ev.Text("b")) == [
        *message(1, "a"),
        {"type": "RAW", "event": image},
        *message(2, "b"),
    ]


def test_a_signature_ends_its_message() -> None:
    assert body(ev.Text("a", "S1"), ev.Text("b"), ev.Text("", "S2"), ev.Text("", "S3")) == [
        *message(1, "a"),
        encrypted("message", "msg_1", "S1"),
        *message(2, "b"),
        encrypted("message", "msg_2", "S2"),
        *message(3),
        encrypted("message", "msg_3", "S3"),
    ]


def test_thoughts_are_a_span_with_one_message() -> None:
    same = {"messageId": "reasoning_1"}
    assert body(ev.Reasoning("hm", "S1"), ev.Text("a")) == [
        {"type": "REASONING_START", **same},
        {"type": "REASONING_MESSAGE_START", **same, "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", **same, "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", **same},
        encrypted("message", "reasoning_1", "S1"),
        {"type": "REASONING_END", **same},
        *message(1, "a"),
    ]


def test_a_thought_keeps_its_id_and_its_redaction() -> None:
    first, second = (
        event
        for event in body(ev.Reasoning("", "S", id="rs_1", redacted=True), ev.Reasoning("a"))
        if event["type"] == "REASONING_MESSAGE_START"
    )
    assert first["messageId"] == "rs_1"
    assert first["metadata"] == {"harness": {"redacted": True}}
    assert (second["messageId"], "metadata" in second) == ("reasoning_1", False)


def test_a_refusal_is_a_marked_message() -> None:
    first, *_ = body(ev.Text("no", refusal=True))
    assert first["metadata"] == {"harness": {"refusal": True}}


@pytest.mark.parametrize(
    ("events", "deltas"),
    [
        ([ev.CallEnd(1, {"a": "é"})], ['{"a": "é"}']),
        ([ev.CallEnd(1, {})], ["{}"]),
        (
            [ev.CallText(1, '{"a"'), ev.CallText(1, ": 1}"), ev.CallEnd(1, {"a": 1})],
            ['{"a"', ": 1}"],
        ),
        ([ev.CallText(1, ""), ev.CallEnd(1, {})], ["{}"]),
        ([ev.CallPiece(1, "$.a", "b", True), ev.CallEnd(1, {"a": "bc"})], ['{"a": "bc"}']),
    ],
)
def test_a_call_always_has_its_arguments(events: list[ev.Event], deltas: list[str]) -> None:
    assert body(ev.CallStart(1, "f", "c1"), *events) == call("c1", *deltas)


def test_a_call_belongs_to_the_latest_text_before_it() -> None:
    first, second = ev.CallStart(1, "f", "c1"), ev.CallStart(2, "g")
    whole = [ev.CallEnd(1, {}), ev.CallEnd(2, {})]
    assert body(ev.Text("a"), first, whole[0], second, whole[1], ev.Text("b")) == [
        *message(1, "a"),
        *call("c1", "{}", parentMessageId="msg_1"),
        *call("call_1", "{}", name="g", parentMessageId="msg_1"),
        *message(2, "b"),
    ]


def test_a_call_is_signed_before_its_arguments() -> None:
    assert body(ev.CallStart(1, "f", "c1", "S1"), ev.CallEnd(1, {}))[1] == encrypted(
        "tool-call", "c1", "S1"
    )


def test_calls_without_a_result_are_pending_whatever_the_reason() -> None:
    events = [
        ev.CallStart(1, "f", "c1"),
        ev.CallEnd(1, {}),
        ev.CallStart(2, "f"),
        ev.CallEnd(2, {}),
    ]
    last = end(*events, ev.Finish("length", "MAX_TOKENS"))
    assert last["outcome"] == {"type": "success", "pendingToolCallIds": ["c1", "call_1"]}
    assert last["metadata"]["harness"]["finishReason"] == "MAX_TOKENS"


def test_a_result_answers_its_call() -> None:
    result = ev.ToolResult("c1", "f", {"n": 1}, error="no", status="error", raw={"x": 2})
    *events, last = translate(START, ev.CallStart(1, "f", "c1"), ev.CallEnd(1, {}), result, STOP)
    assert events[-1] == {
        "type": "TOOL_CALL_RESULT",
        "messageId": "result_1",
        "toolCallId": "c1",
        "content": '{"n": 1}',
        "role": "tool",
        "metadata": {"harness": {"name": "f", "status": "error", "error": "no", "raw": {"x": 2}}},
    }
    assert last["outcome"] == {"type": "success"}


def test_a_result_without_a_call_is_raw() -> None:
    assert body(ev.ToolResult(None, "f", "x"))[0]["type"] == "RAW"


def test_arguments_that_are_no_object_are_passed_on_and_fail_the_run() -> None:
    invalid = [ev.CallStart(1, "f", "c1"), ev.CallText(1, "{"), ev.CallInvalid(1, '{"a')]
    *events, last = translate(START, *invalid, STOP)
    assert events[1:] == call("c1", "{", '"a')
    assert last["type"] == "RUN_ERROR"
    assert '{"a' in last["message"]


def test_an_interrupted_call_has_its_arguments_so_far_and_no_end() -> None:
    cut = ev.Incomplete("cut")
    path = translate(START, ev.CallStart(1, "f", "c1"), ev.CallPiece(1, "$.a", "b", True), cut)
    text = translate(START, ev.CallStart(1, "f", "c1"), ev.CallText(1, '{"a'), cut)
    for events, delta in ((path, '{"a": "b"}'), (text, '{"a')):
        assert events[1:-1] == call("c1", delta)[:-1]
        assert events[-1]["type"] == "RUN_ERROR"


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([ev.Text("a"), ev.Finish("content_filter", "SAFETY")], "SAFETY"),
        ([ev.Finish("malformed", "MALFORMED_FUNCTION_CALL")], "MALFORMED_FUNCTION_CALL"),
        ([ev.Finish("other", "OTHER")], "OTHER"),
        ([ev.Finish("failed", "failed")], "failed"),
        ([ev.Blocked("SPII")], "SPII"),
        ([ev.Text("a"), STOP, ev.Error("no", 503)], "503"),
        ([ev.Error("no", 503, "UNAVAILABLE")], "UNAVAILABLE"),
        ([ev.Text("a")], None),
        ([], None),
        ([ev.Text("a"), STOP, ev.Incomplete("reset")], None),
    ],
)
def test_a_bad_end_is_one_error_with_the_word_of_the_wire(
    events: list[ev.Event], code: str | None
) -> None:
    ends = [event for event in translate(START, *events) if event["type"].startswith("RUN_")][1:]
    assert [(event["type"], event.get("code")) for event in ends] == [("RUN_ERROR", code)]


def test_nothing_follows_an_error() -> None:
    events = translate(START, ev.Error("no"), ev.Text("a"), STOP)
    assert events == [STARTED, {"type": "RUN_ERROR", "message": "no", **events[1]}]


def test_an_error_before_the_run_has_no_run() -> None:
    body = {"error": {"code": 429}}
    error = ev.Error("slow down", 429, "RESOURCE_EXHAUSTED", raw=body)
    assert translate(error) == [
        {
            "type": "RUN_ERROR",
            "message": "slow down",
            "code": "RESOURCE_EXHAUSTED",
            "rawEvent": body,
        }
    ]


@pytest.mark.parametrize(
    ("finish", "outcome"),
    [
        (ev.Finish("length", "MAX_TOKENS"), "cancelled"),
        (ev.Finish("continuation", "CONTINUATION"), "cancelled"),
        (ev.Finish("other", "NEW"), "success"),
        (ev.Finish("other", "cancelled"), "cancelled"),
    ],
)
def test_a_run_that_a_limit_stopped_is_cancelled(finish: ev.Finish, outcome: str) -> None:
    assert end(ev.Text("a"), finish)["outcome"] == {"type": outcome}


def test_counts_are_in_the_accounting_of_the_protocol() -> None:
    raw = {"promptTokenCount": 10}
    counts = ev.Usage(
        raw, input=10, output=4, reasoning=3, cached=5, tool_use=2, total=19, cache_write=1
    )
    last = end(ev.Text("a"), counts, STOP)
    assert last["usage"] == [
        {
            "model": "m",
            "inputTokens": 12,
            "outputTokens": 7,
            "totalTokens": 19,
            "reasoningTokens": 3,
            "cachedInputTokens": 5,
            "cacheWriteInputTokens": 1,
        }
    ]
    assert last["metadata"]["harness"]["usage"] == raw


@pytest.mark.parametrize(
    ("counts", "known"),
    [
        ({"input": 10, "output": 2, "total": 11}, {"inputTokens": 10, "outputTokens": 2}),
        ({"output": 2}, {"outputTokens": 2}),
        ({"input": -1, "output": 1 << 60}, {}),
    ],
)
def test_a_count_that_the_protocol_counts_otherwise_is_absent(
    counts: dict[str, int], known: dict[str, int]
) -> None:
    assert end(ev.Usage({}, **counts), STOP)["usage"] == [{"model": "m", **known}]


def test_other_candidates_are_raw() -> None:
    events = [
        ev.Text("b", candidate=1),
        ev.CallStart(1, "g", "c2", candidate=1),
        ev.CallEnd(1, {}),
    ]
    assert {event["type"] for event in body(*events)} == {"RAW"}


@pytest.mark.slow
@given(legal_events())
@settings(deadline=None)
def test_events_of_legal_events_are_in_order_and_complete(events: list[ev.Event]) -> None:
    payloads = translate(*events)
    state = "fresh"
    for payload in payloads:
        state = AG_UI.order[state][payload["type"]]
    assert state == "over"
    facts = View([*AG_UI.facts(payloads, Session())])
    texts, thoughts = "", ""
    for event in carried(events):
        match event:
            case ev.Text(text=piece) | ev.NamelessCall(raw=piece):
                texts += piece
            case ev.Reasoning(text=piece):
                thoughts += piece
    assert (facts.text, facts.thoughts) == (texts, thoughts)


@pytest.mark.slow
def test_all_events_of_all_recordings_are_valid() -> None:
    checked = 0
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for exchange in load(path).exchanges:
            for event in harness.replay(exchange, dialect="ag-ui"):
                check_event(event)
                checked += 1
    assert checked > 5000
