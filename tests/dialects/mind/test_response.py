"""The mind program's records: calls and results, the end, the clock; and legal order and content
for any legal events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from harness.dialects.mind import DIALECT as MIND
from harness.stream import events as ev
from harness.stream.session import RememberedCall, Session, Tool
from tests.support.legal_events import carried, legal_events

EPOCH = "1970-01-01T00:00:00.000Z"
START = ev.Start("gemini-3-pro", "r1")
STOP = ev.Finish("stop", "STOP")

Payload = dict[str, Any]


def translate(
    *events: ev.Event, tools: Sequence[Tool] = (), session: Session | None = None
) -> list[Payload]:
    stage = MIND.translator(tools, session or Session())
    return [payload for event in events for payload in stage.feed(event)] + stage.close()


def text(piece: str) -> Payload:
    return {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": piece}]},
        "timestamp": EPOCH,
    }


def tool_code(name: str, args: Payload) -> Payload:
    return {"type": "tool_code", "name": name, "args": args, "timestamp": EPOCH}


def tool_result(name: str, args: Payload, result: Any) -> Payload:
    return {"type": "tool_result", "name": name, "args": args, "result": result, "timestamp": EPOCH}


def result(whole: str, **more: Any) -> Payload:
    return {"type": "result", "result": whole, **more, "timestamp": EPOCH}


def error(message: str, code: str = "AGENT_ERROR") -> Payload:
    return {"type": "error", "code": code, "message": message, "timestamp": EPOCH}


def call(number: int, name: str, arguments: Payload, **fields: Any) -> list[ev.Event]:
    return [ev.CallStart(number, name, **fields), ev.CallEnd(number, arguments)]


GLOB = Tool("glob", {"properties": {"pattern": {}}})
ONE, TWO = call(1, "glob", {"pattern": "*"}, id="c1"), call(2, "read", {"path": "a"}, id="c2")

STREAMS: dict[str, tuple[list[ev.Event], list[Payload]]] = {
    "nothing at all": ([], [error("the answer has no content and no finish reason")]),
    "a malformed call": (
        [START, ev.Text("a"), ev.Finish("malformed", "MALFORMED_FUNCTION_CALL", "f(")],
        [text("a"), error("MALFORMED_FUNCTION_CALL: f(")],
    ),
    "a call beside a malformed one": (
        [START, *ONE, ev.Finish("malformed", "MALFORMED_FUNCTION_CALL")],
        [tool_code("glob", {"pattern": "*"})],
    ),
    "no reason to end": ([START, ev.Text("a")], [text("a"), result("a", incomplete=True)]),
    "an answer that goes on": (
        [START, ev.Text("a"), ev.Finish("continuation", "CONTINUATION")],
        [text("a"), result("a", incomplete=True)],
    ),
    "a result after the last text": (
        [START, ev.Text("a"), STOP, ev.Text("b")],
        [text("a"), text("b"), result("ab")],
    ),
    "an answered call waits for nothing": (
        [START, ev.Text("a"), *ONE, ev.ToolResult("c1", response={"count": 0}), ev.Text("b"), STOP],
        [
            text("a"),
            tool_code("glob", {"pattern": "*"}),
            tool_result("glob", {"pattern": "*"}, {"count": 0}),
            text("b"),
            result("ab"),
        ],
    ),
    "one of two is answered": (
        [START, *ONE, *TWO, ev.ToolResult("c2", error="no such file")],
        [
            tool_code("glob", {"pattern": "*"}),
            tool_code("read", {"path": "a"}),
            tool_result("read", {"path": "a"}, {"error": "no such file"}),
        ],
    ),
    "a result without an id is the first call's": (
        [START, *ONE, *TWO, ev.ToolResult(response="text")],
        [
            tool_code("glob", {"pattern": "*"}),
            tool_code("read", {"path": "a"}),
            tool_result("glob", {"pattern": "*"}, {"result": "text"}),
        ],
    ),
    "a result of a call that was never seen": (
        [START, ev.ToolResult("c9", "ls"), STOP],
        [tool_result("ls", {}, {"result": None}), result("")],
    ),
    "a payload of a declared tool": (
        [START, ev.NamelessCall(1, {"pattern": "*"}, "<raw>")],
        [tool_code("glob", {"pattern": "*"})],
    ),
    "a payload of none": (
        [START, ev.NamelessCall(1, {"speed": 1}, "<raw>"), STOP],
        [text("<raw>"), result("<raw>")],
    ),
    "a call that is not whole": (
        [START, ev.CallStart(1, "glob"), ev.Error("x", 503)],
        [error("x")],
    ),
    "a call of the other candidate": (
        [START, ev.CallStart(1, "glob", candidate=1), ev.CallEnd(1, {}), STOP],
        [result("")],
    ),
    "a text that is not the answer": (
        [START, ev.Text("be kind", role="system"), ev.Text("a", role=""), STOP],
        [text("a"), result("a")],
    ),
    "nothing follows an error": (
        [START, ev.Text("a"), ev.Error("x"), ev.Text("b"), ev.Error("y")],
        [text("a"), error("x")],
    ),
    "a block with its text": (
        [START, ev.Blocked("OTHER", "why")],
        [error("the prompt was blocked: OTHER (why)")],
    ),
    "how it was interrupted": (
        [START, ev.Incomplete("reset", "data")],
        [error("the stream ended before it was complete (reset), 4 characters into a message")],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream(name: str) -> None:
    events, payloads = STREAMS[name]
    assert translate(*events, tools=[GLOB]) == payloads


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ev.Error("x", 429), "RATE_LIMIT_EXCEEDED"),
        (ev.Error("x", None, "RESOURCE_EXHAUSTED"), "RATE_LIMIT_EXCEEDED"),
        (ev.Error("x", None, "insufficient_quota"), "RATE_LIMIT_EXCEEDED"),
        (ev.Error("x", None, "rate_limit_error"), "RATE_LIMIT_EXCEEDED"),
        (ev.Error("x", 500, "RESOURCE_EXHAUSTED"), "AGENT_ERROR"),
        (ev.Error("quota: 429 ResourceExhausted, Rate limit", 400), "AGENT_ERROR"),
        (ev.Error("4290 tokens are too many"), "AGENT_ERROR"),
    ],
)
def test_the_error_code_depends_on_the_status_not_the_message(fault: ev.Error, code: str) -> None:
    assert translate(fault) == [error(fault.message, code)]


@pytest.mark.parametrize(
    ("at_ms", "timestamp"),
    [
        (None, EPOCH),
        (0.0, EPOCH),
        (612.4, "1970-01-01T00:00:00.612Z"),
        (90_061_001.0, "1970-01-02T01:01:01.001Z"),
        (-1.0, EPOCH),
        (1e30, "9892-03-08T12:26:40.000Z"),
    ],
)
def test_timestamps_are_the_recordings_clock(at_ms: float | None, timestamp: str) -> None:
    session = Session()
    session.at_ms = at_ms
    assert [record["timestamp"] for record in translate(START, ev.Text("a"), session=session)] == [
        timestamp,
        timestamp,
    ]


def test_the_session_remembers_calls_and_their_signatures() -> None:
    session = Session()
    translate(
        START,
        *call(1, "glob", {}, id="c1", signature="S1"),
        *call(2, "read", {}, id="c1"),
        *call(3, "list", {}),
        session=session,
    )
    remembered = {
        "c1": RememberedCall("glob", "S1", "c1"),
        "call_1": RememberedCall("read", None, "c1"),
        "call_2": RememberedCall("list"),
    }
    assert session.calls == remembered


@pytest.mark.slow
@given(legal_events())
@settings(max_examples=300, deadline=None)
def test_records_of_legal_events_are_in_order_and_complete(
    events: list[ev.Event],
) -> None:
    records = translate(*events)
    state = "fresh"
    for record in records:
        state = MIND.order[state][MIND.label(record)]
    assert state in MIND.final
    answer = carried(events)
    blocked = next(
        (at for at, event in enumerate(answer) if isinstance(event, ev.Blocked)), len(answer)
    )
    texts, calls, name = "", [], None
    for event in answer[:blocked]:
        match event:
            case ev.Text(text=piece) | ev.NamelessCall(raw=piece):
                texts += piece
            case ev.CallStart():
                name = event.name
            case ev.CallEnd(arguments=arguments) if name is not None:
                calls.append((name, arguments))
                name = None
    assert (
        "".join(r["message"]["content"][0]["text"] for r in records if r["type"] == "assistant")
        == texts
    )
    assert [(r["name"], r["args"]) for r in records if r["type"] == "tool_code"] == calls
    assert all(r["result"] == texts for r in records if r["type"] == "result")
