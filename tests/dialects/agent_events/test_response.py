"""The agent-events dialect, and the parser of its own system. Whole streams are in
specs/agent-events.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Exchange, replay
from harness.dialects.agent_events import DIALECT as AGENT_EVENTS
from harness.stream import events as ev
from harness.stream.session import Session, Tool
from harness.systems.agent_events import GeminiParser

BASE = ("eventId", "agentId", "agentType", "teamMetadata", "timestamp")
Payload = dict[str, Any]


def translate(
    *events: ev.Event, tools: list[Tool] | None = None, session: Session | None = None
) -> list[Payload]:
    translator = AGENT_EVENTS.translator(tools or [], session or Session())
    payloads = [payload for event in events for payload in translator.feed(event)]
    return bare(payloads + translator.close())


def bare(payloads: list[Payload]) -> list[Payload]:
    return [
        {name: value for name, value in payload.items() if name not in BASE} for payload in payloads
    ]


def parsed(*lines: str) -> list[Payload]:
    parser = GeminiParser()
    return bare(
        [payload for line in lines for payload in parser.parse_chunk(f"{line}\n".encode())]
        + parser.flush()
    )


def todos(*items: Any) -> str:
    return json.dumps(
        {
            "type": "tool_use",
            "tool_name": "write_todos",
            "tool_id": "c1",
            "parameters": {"todos": items},
        }
    )


DONE = {"type": "turn.completed", "finishReason": "done"}
FAILED = {"type": "turn.completed", "finishReason": "error"}
STOP = ev.Finish("stop", "STOP")
CALL = (ev.CallStart(1, "f"), ev.CallEnd(1, {}))


def test_every_event_has_the_base_fields() -> None:
    session = Session(context={"agentId": "a1", "teamMetadata": {"teamName": "t"}})
    session.at_ms = 12.9
    translator = AGENT_EVENTS.translator([], session)
    payloads = translator.feed(ev.Start("m")) + translator.feed(STOP) + translator.close()
    shared = {
        "agentId": "a1",
        "agentType": "google-gemini",
        "teamMetadata": {"teamName": "t"},
        "timestamp": 12,
    }
    assert payloads == [
        {"type": "session.started", "eventId": "event_1", **shared},
        {"type": "turn.completed", "eventId": "event_2", **shared, "finishReason": "done"},
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"type":"init"}', [{"type": "session.started"}]),
        (
            '{"type":"message","role":"assistant","content":""}',
            [{"type": "text", "text": "", "role": "assistant", "category": "message"}],
        ),
        (
            '{"type":"message","role":"system","content":"x"}',
            [{"type": "text", "text": "x", "role": "system"}],
        ),
        ('{"type":"message","role":"model","content":"x"}', [{"type": "text", "text": "x"}]),
        ('{"type":"message","role":"user","content":"x"}', []),
        (
            '{"type":"tool_use","name":"f","id":"1","input":{"c":1}}',
            [{"type": "tool.started", "toolName": "f", "toolId": "1", "input": {"c": 1}}],
        ),
        (
            '{"type":"tool_use"}',
            [{"type": "tool.started", "toolName": "", "toolId": "call_1", "input": {}}],
        ),
        ('{"type":"tool_result"}', [{"type": "tool.completed"}]),
        (
            '{"type":"tool_result","tool_use_id":"1","output":{"text":"ok"}}',
            [{"type": "tool.completed", "toolId": "1", "output": "ok"}],
        ),
        (
            '{"type":"tool_result","tool_id":"1","output":{"a":1}}',
            [{"type": "tool.completed", "toolId": "1"}],
        ),
        (
            '{"type":"tool_result","tool_id":"1","status":"error","output":"boom","error":{"type":"E","message":"why"}}',
            [{"type": "tool.completed", "toolId": "1", "output": "boom", "error": "why"}],
        ),
        (
            '{"type":"tool_result","tool_id":"1","status":"error"}',
            [{"type": "tool.completed", "toolId": "1", "error": "error"}],
        ),
        ('{"type":"result","status":"success"}', [DONE]),
        ('{"type":"result","status":"error"}', [FAILED]),
        ('{"type":"result"}', [FAILED]),
        (
            '{"type":"result","status":"error","error":{"type":"T","message":"m"}}',
            [{"type": "error", "error": "m", "code": "T"}, FAILED],
        ),
        (
            '{"type":"error","severity":"warning","message":"m"}',
            [{"type": "error", "error": "m", "code": "WARNING"}],
        ),
        ('{"type":"new"}', []),
        ("7", []),
        ('"s"', []),
        ("[]", []),
        (
            "null",
            [
                {
                    "type": "error",
                    "error": "Failed to parse JSONL: null",
                    "code": "JSONL_PARSE_ERROR",
                }
            ],
        ),
        (
            "{oops}",
            [
                {
                    "type": "error",
                    "error": "Failed to parse JSONL: {oops}",
                    "code": "JSONL_PARSE_ERROR",
                }
            ],
        ),
        ("\r", []),
        (todos(), [{"type": "todo_list", "todoId": "c1", "items": []}]),
        (
            todos(
                {"description": " A ", "status": "pending"},
                {"description": " ", "status": "pending"},
                {"description": "B", "status": "blocked"},
            ),
            [
                {
                    "type": "todo_list",
                    "todoId": "c1",
                    "items": [{"text": " A ", "status": "pending"}],
                }
            ],
        ),
        (
            todos(None, 5, "x", {"status": "pending"}, {"description": "A", "status": ["pending"]}),
            [{"type": "todo_list", "todoId": "c1", "items": []}],
        ),
        ('{"type":"tool_use","tool_name":"write_todos","parameters":{"todos":null}}', []),
    ],
)
def test_a_line_gives_its_events(line: str, expected: list[Payload]) -> None:
    assert parsed(line) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ('{"type":"result","status":"success"}', [DONE]),
        ('{"type":"message","role":"user","content":"x"}', []),
        ('{"type":"new"}', []),
        ("garbage", [{"type": "text", "text": "garbage"}]),
        ("  ", []),
    ],
)
def test_flush_reads_the_line_without_an_end_once(rest: str, expected: list[Payload]) -> None:
    parser = GeminiParser()
    assert parser.parse_chunk(rest.encode()) == []
    assert bare(parser.flush()) == expected
    assert parser.flush() == []


def test_reset_forgets_the_line_but_never_repeats_an_id() -> None:
    parser = GeminiParser("a", {"teamName": "t"}, clock=lambda: 7.5)
    parser.parse_chunk(b'{"type":"tool_use","tool_name":"f","tool_id":"1"}\n{"type":')
    parser.reset()
    (event,) = parser.parse_chunk(b'{"type":"tool_result","tool_id":"1"}\n')
    assert "toolName" not in event
    assert (event["eventId"], event["timestamp"], event["agentId"], event["teamMetadata"]) == (
        "event_2",
        7,
        "a",
        {"teamName": "t"},
    )


RUN = (
    '{"type":"init","timestamp":"t","session_id":"s","model":"m"}\nnoise\n'
    '{"type":"message","timestamp":"t","role":"assistant","content":"Grüße 🌊","delta":true}\n'
    '{"type":"tool_use","timestamp":"t","tool_name":"f","tool_id":"1","parameters":{"a":"é"}}\n'
    '{"type":"tool_result","timestamp":"t","tool_id":"1","status":"success","output":"ok"}\n'
    '{"type":"result","timestamp":"t","status":"success","stats":{}}'
).encode()


@pytest.mark.slow
@given(st.sets(st.integers(1, len(RUN) - 1)))
def test_the_parser_agrees_with_a_replay_at_every_cut(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(RUN)]
    parser = GeminiParser()
    payloads = [
        payload
        for start, stop in pairwise(places)
        for payload in parser.parse_chunk(RUN[start:stop])
    ]
    assert payloads + parser.flush() == replay(
        Exchange(None, 200, {}, ((None, RUN),), "complete"), dialect="agent-events"
    )


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ([ev.Finish("stop", "STOP")], DONE),
        ([ev.Finish("malformed", "MALFORMED_FUNCTION_CALL")], FAILED),
        ([*CALL, ev.Finish("malformed", "MALFORMED_FUNCTION_CALL")], DONE),
        ([ev.Text("a"), ev.Finish("continuation", "CONTINUATION")], FAILED),
        ([*CALL, ev.Finish("continuation", "CONTINUATION")], FAILED),
        ([ev.Text("a")], FAILED),
        ([ev.Finish("failed", "error")], FAILED),
        ([], FAILED),
        ([ev.Finish("stop", "STOP", candidate=1)], FAILED),
        ([ev.Finish("stop", "STOP"), ev.Error("m", 503)], FAILED),
        ([ev.Blocked("SAFETY"), ev.Finish("stop", "STOP")], FAILED),
        ([ev.Finish("stop", "STOP"), ev.Incomplete("reset")], FAILED),
        ([ev.Notice("error", "m", {}), ev.Finish("stop", "STOP")], DONE),
    ],
)
def test_the_turn_ends_once_with_its_kind_of_end(events: list[ev.Event], end: Payload) -> None:
    payloads = translate(ev.Start("m"), *events)
    assert payloads[-1] == end
    assert [payload["type"] for payload in payloads].count("turn.completed") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ev.Error("m", 503, "UNAVAILABLE"), "UNAVAILABLE"),
        (ev.Error("m", 404), "404"),
        (ev.Blocked("SAFETY"), "SAFETY"),
        (ev.Incomplete("cut"), None),
        (ev.Finish("malformed", "UNEXPECTED_TOOL_CALL", "f"), "UNEXPECTED_TOOL_CALL"),
        (ev.Usage({}), None),
    ],
)
def test_an_error_has_the_code_that_the_wire_gives(error: ev.Event, code: str | None) -> None:
    assert translate(error)[0].get("code") == code


def test_an_unfinished_call_starts_with_the_arguments_so_far() -> None:
    payloads = translate(
        ev.Start(), ev.CallStart(1, "f"), ev.CallPiece(1, "$.a", "x"), ev.Incomplete("cut")
    )
    assert payloads[1] == {
        "type": "tool.started",
        "toolName": "f",
        "toolId": "call_1",
        "input": {"a": "x"},
    }
    assert [payload["type"] for payload in payloads[2:]] == ["error", "turn.completed"]


def test_results_of_calls_with_the_same_id_are_assigned_in_order() -> None:
    calls = [
        event
        for number in (1, 2)
        for event in (ev.CallStart(number, f"f{number}", "x"), ev.CallEnd(number, {}))
    ]
    payloads = translate(
        ev.Start(),
        *calls,
        ev.ToolResult("x", response="a"),
        ev.ToolResult("x", response="b"),
        ev.ToolResult("x", response="c"),
    )
    results = [
        (payload["toolId"], payload["toolName"])
        for payload in payloads
        if payload["type"] == "tool.completed"
    ]
    assert results == [("x", "f1"), ("call_1", "f2"), ("call_1", "f2")]


@pytest.mark.parametrize(
    ("response", "output"),
    [
        (None, None),
        ("a", "a"),
        ({"output": "a"}, "a"),
        ({"result": "a"}, "a"),
        ({"a": "é"}, '{"a": "é"}'),
        ({"output": 1}, '{"output": 1}'),
    ],
)
def test_the_result_of_a_function_is_text(response: Any, output: str | None) -> None:
    (payload, _) = translate(ev.ToolResult("1", "f", response))
    assert (payload.get("output"), payload["toolName"]) == (output, "f")


@pytest.mark.parametrize(
    ("payload", "tools", "kind"),
    [
        ({"todos": [{"content": "A", "status": "pending"}]}, [], "todo_list"),
        ({"todos": "none"}, [], "text"),
        ({"path": "a"}, [Tool("read", {"properties": {"path": {}}})], "tool.started"),
        ({"path": "a"}, [], "text"),
    ],
)
def test_a_call_without_a_name_gets_one_or_stays_text(
    payload: dict[str, Any], tools: list[Tool], kind: str
) -> None:
    first = translate(ev.NamelessCall(1, payload, "<tool_code>…</tool_code>"), tools=tools)[0]
    assert first["type"] == kind
    if kind == "todo_list":
        assert first["items"] == [{"text": "A", "status": "pending"}]
    if kind == "text":
        assert first["text"] == "<tool_code>…</tool_code>"


def test_thoughts_media_and_other_candidates_are_declared_losses() -> None:
    lost = [
        ev.Reasoning("hm"),
        ev.Text("", "S"),
        ev.Media("image/png", {}),
        ev.Usage({}),
        ev.Text("b", candidate=1),
        ev.CallStart(1, "f", candidate=1),
    ]
    assert translate(ev.Start(), *lost) == [{"type": "session.started"}, FAILED]
    assert {"media", "usage", "candidates"} <= {loss.aspect for loss in AGENT_EVENTS.losses}
