"""The Anthropic Messages stream: golden streams, one rule a row, and legal order and content for
any legal events.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import to_builtins

from harness.dialects.anthropic import DIALECT as ANTHROPIC
from harness.stream import events as ev
from harness.stream.session import RememberedCall, Session, Tool

ZERO = {"input_tokens": 0, "output_tokens": 0}
START = ev.Start("gemini-3-pro", "r1")
STOP = ev.Finish("stop", "STOP")
STOP_OF_ANOTHER = ev.Finish("stop", "STOP", candidate=1)
EMPTY = "the answer has no content and no finish reason"

Payload = dict[str, Any]


def translate(
    *events: ev.Event, tools: Sequence[Tool] = (), session: Session | None = None
) -> list[Payload]:
    stage = ANTHROPIC.translator(tools, session or Session())
    return [payload for event in events for payload in stage.feed(event)] + stage.close()


def begin(model: str = "gemini-3-pro", usage: Payload = ZERO) -> Payload:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    return {
        "type": "message_start",
        "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage},
    }


def message_delta(reason: str, usage: Payload = ZERO) -> Payload:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage,
    }


def tail(reason: str = "end_turn", usage: Payload = ZERO) -> list[Payload]:
    return [message_delta(reason, usage), {"type": "message_stop"}]


def delta(index: int, **piece: Any) -> Payload:
    return {"type": "content_block_delta", "index": index, "delta": piece}


def stop(index: int) -> Payload:
    return {"type": "content_block_stop", "index": index}


def text(index: int, *pieces: str) -> list[Payload]:
    """A whole text block."""
    start = {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": "text", "text": ""},
    }
    return [start, *(delta(index, type="text_delta", text=piece) for piece in pieces), stop(index)]


def thinking(index: int, *pieces: str, signature: str | None = None) -> list[Payload]:
    """A whole thinking block."""
    block = {"type": "thinking", "thinking": "", "signature": ""}
    signed = [delta(index, type="signature_delta", signature=signature)] if signature else []
    thoughts = [delta(index, type="thinking_delta", thinking=piece) for piece in pieces]
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *thoughts,
        *signed,
        stop(index),
    ]


def tool_use(index: int, call_id: str, name: str, arguments: str) -> list[Payload]:
    """A whole tool_use block."""
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
    start = {"type": "content_block_start", "index": index, "content_block": block}
    return [start, delta(index, type="input_json_delta", partial_json=arguments), stop(index)]


def error(kind: str, message: str) -> Payload:
    return {"type": "error", "error": {"type": kind, "message": message}}


def unknown(raw: Any) -> Payload:
    return {"type": "unknown", "raw": raw}


def call(number: int, name: str, arguments: Payload, **fields: Any) -> list[ev.Event]:
    return [ev.CallStart(number, name, **fields), ev.CallEnd(number, arguments)]


# The payloads between message_start and message_delta, for the events of one answer that finishes
# with STOP.
CONTENT: dict[str, tuple[list[ev.Event], list[Payload]]] = {
    "pieces of text share a block": ([ev.Text("a"), ev.Text(" b")], text(0, "a", " b")),
    "empty pieces say nothing": ([ev.Text(""), ev.Reasoning("")], []),
    "thoughts, then the answer": (
        [ev.Reasoning("h"), ev.Reasoning("mm"), ev.Text("yes")],
        [*thinking(0, "h", "mm"), *text(1, "yes")],
    ),
    "a signature closes its thinking block, so each block has one": (
        [ev.Reasoning("a", "S1"), ev.Reasoning("b", "S2")],
        [*thinking(0, "a", signature="S1"), *thinking(1, "b", signature="S2")],
    ),
    "a later empty thought signs the open thinking block": (
        [ev.Reasoning("a"), ev.Reasoning("", "S")],
        thinking(0, "a", signature="S"),
    ),
    "a signature without any thought": (
        [ev.Text("a"), ev.Reasoning("", "S")],
        [*text(0, "a"), *thinking(1, signature="S")],
    ),
    "a signature of answer text follows its block": (
        [ev.Text("a"), ev.Text("b", "S"), ev.Text("c")],
        [*text(0, "a", "b"), *thinking(1, signature="S"), *text(2, "c")],
    ),
    "a signed empty last part": (
        [ev.Reasoning("hmm", "S1"), ev.Text("answer"), ev.Text("", "S2")],
        [*thinking(0, "hmm", signature="S1"), *text(1, "answer"), *thinking(2, signature="S2")],
    ),
    "a signature of empty answer text is not the signature of the thought before it": (
        [ev.Reasoning("hmm"), ev.Text("", "S")],
        [*thinking(0, "hmm"), *thinking(1, signature="S")],
    ),
    "other candidates are not carried": (
        [
            ev.Text("a"),
            ev.Text("x", "S", candidate=1),
            ev.Reasoning("x", candidate=1),
            ev.Media("image/png", {}, signature="S", candidate=1),
            ev.ToolResult(candidate=1),
            ev.NamelessCall(1, {"command": "ls"}, "raw", candidate=1),
            *call(2, "f", {"x": 1}, candidate=1),
            ev.Finish("length", "MAX_TOKENS", candidate=1),
            ev.Unknown("part kind x", {"x": 1}, candidate=1),
            ev.Annotation("continuation_token", {"continuationToken": "x"}, candidate=1),
            ev.Text("b"),
        ],
        text(0, "a", "b"),
    ),
    "parts that are declared losses end the block; their signatures stay": (
        [
            ev.Text("a"),
            ev.Media("image/png", {}, data="AAAA"),
            ev.Text("b"),
            ev.Code("print(1)", {}, signature="S1"),
            ev.CodeResult("OUTCOME_OK", "1", {}, signature="S2"),
            ev.ServerCall({}, signature="S3"),
            ev.ServerResult({}),
        ],
        [
            *text(0, "a"),
            *text(1, "b"),
            *(p for i, s in enumerate(["S1", "S2", "S3"], 2) for p in thinking(i, signature=s)),
        ],
    ),
    "facts that are declared losses leave the block open": (
        [
            ev.Text("a"),
            *(
                ev.Annotation(n, {n: 1})
                for n in [
                    "citations",
                    "grounding",
                    "url_context",
                    "logprobs",
                    "safety_ratings",
                    "token_count",
                ]
            ),
            *(ev.Metadata(n, {n: 1}) for n in ["id", "created", "trace_id", "credits"]),
            ev.Metadata("model", {"modelVersion": "gemini-3-pro"}),
            ev.Text("b"),
        ],
        text(0, "a", "b"),
    ),
    "facts that are neither carried nor declared losses are unknown payloads": (
        [
            ev.Metadata("model", {"modelVersion": "gemini-4"}),
            ev.Start("gemini-5"),
            ev.Metadata("model_status", {"modelStatus": {"modelStage": "LEGACY"}}),
            ev.Metadata("envelope", {"metadata": {}}),
            ev.Annotation("continuation_token", {"continuationToken": "x"}),
            ev.Annotation("part", {"mediaResolution": {}}),
        ],
        [
            unknown({"modelVersion": "gemini-4"}),
            unknown({"model": "gemini-5"}),
            unknown({"modelStatus": {"modelStage": "LEGACY"}}),
            unknown({"metadata": {}}),
            unknown({"continuationToken": "x"}),
            unknown({"mediaResolution": {}}),
        ],
    ),
    "an unknown thing stands inside a block without closing it": (
        [ev.Text("a"), ev.Unknown("frame", "garbage"), ev.Text("b")],
        [*text(0, "a")[:-1], unknown("garbage"), *text(0, "b")[1:]],
    ),
    "a tool result in the answer is an unknown payload": (
        [ev.Text("a"), ev.ToolResult("i", "f", {"output": 1}, signature="S"), ev.Text("b")],
        [
            *text(0, "a"),
            unknown(
                {
                    "kind": "tool_result",
                    "id": "i",
                    "name": "f",
                    "response": {"output": 1},
                    "signature": "S",
                }
            ),
            *text(1, "b"),
        ],
    ),
}


@pytest.mark.parametrize(("events", "expected"), CONTENT.values(), ids=CONTENT)
def test_content(events: list[ev.Event], expected: list[Payload]) -> None:
    assert translate(START, *events, STOP) == [begin(), *expected, *tail()]


CALLS: dict[str, tuple[list[ev.Event], list[Payload]]] = {
    "a call without id or arguments": (call(1, "f", {}), tool_use(0, "toolu_1", "f", "{}")),
    "text before and after a call": (
        [ev.Text("a"), *call(1, "f", {"a": 1}, id="c1"), ev.Text("b")],
        [*text(0, "a"), *tool_use(1, "c1", "f", '{"a":1}'), *text(2, "b")],
    ),
    "a repeated id is counted": (
        [*call(1, "f", {}, id="same"), *call(2, "g", {}, id="same"), *call(3, "h", {}, id="other")],
        [
            *tool_use(0, "same", "f", "{}"),
            *tool_use(1, "toolu_1", "g", "{}"),
            *tool_use(2, "other", "h", "{}"),
        ],
    ),
    "streamed arguments are one delta with the assembled object": (
        [
            ev.CallStart(1, "f"),
            ev.CallPiece(1, "$.x", "a", more=True),
            ev.Usage({}),
            ev.CallPiece(1, "$.x", "b"),
            ev.CallEnd(1, {"x": "ab"}),
        ],
        tool_use(0, "toolu_1", "f", '{"x":"ab"}'),
    ),
    "characters stay as they are": (
        call(1, "f", {"ü": "😀\u2028"}),
        tool_use(0, "toolu_1", "f", '{"ü":"😀\u2028"}'),
    ),
    "a lone surrogate is escaped, since UTF-8 can't hold it": (
        call(1, "f", {"x": "é\ud800"}),
        tool_use(0, "toolu_1", "f", r'{"x":"\u00e9\ud800"}'),
    ),
    "large numbers keep their value": (
        call(1, "f", {"n": 2**70}),
        tool_use(0, "toolu_1", "f", '{"n":1180591620717411303424}'),
    ),
    "an unknown thing while the arguments arrive stands before the call": (
        [ev.Text("a"), ev.CallStart(1, "f"), ev.Unknown("frame", 1), ev.CallEnd(1, {})],
        [*text(0, "a"), unknown(1), *tool_use(1, "toolu_1", "f", "{}")],
    ),
    "a call that never ended is closed at a clean end": (
        [ev.CallStart(1, "f"), ev.CallPiece(1, "$.x", "a")],
        tool_use(0, "toolu_1", "f", '{"x":"a"}'),
    ),
}


@pytest.mark.parametrize(("events", "expected"), CALLS.values(), ids=CALLS)
def test_calls(events: list[ev.Event], expected: list[Payload]) -> None:
    assert translate(START, *events, ev.Finish("malformed", "UNEXPECTED_TOOL_CALL")) == [
        begin(),
        *expected,
        *tail("tool_use"),
    ]


@pytest.mark.parametrize(
    ("event", "between"),
    [
        (ev.Text(""), []),
        (ev.Text("x", None, 1), []),
        (ev.Text("x", role="system"), [stop(0), unknown(to_builtins(ev.Text("x", role="system")))]),
    ],
)
def test_unusual_text_inside_a_block_is_no_plain_delta(
    event: ev.Event, between: list[Payload]
) -> None:
    payloads = translate(ev.Start("gemini-3-pro"), ev.Text("a"), event, ev.Text("b"))
    first = [begin(), *text(0, "a")[:-1], *between]
    assert payloads[: len(first)] == first
    assert payloads[len(first)] == (text(1, "b")[0] if between else text(0, "b")[1])


def test_nothing_follows_an_error_inside_a_block() -> None:
    events = [ev.Start("gemini-3-pro"), ev.Text("a"), ev.Error("no", 429)]
    assert translate(*events, ev.Text("b")) == translate(*events)


def test_the_session_remembers_names_and_signatures_by_id() -> None:
    session = Session()
    translate(
        START,
        *call(1, "f", {}, id="c1", signature="S1"),
        *call(2, "g", {}),
        ev.NamelessCall(3, {"command": "ls"}, "raw", signature="S3"),
        ev.CallStart(4, "h", signature="S4"),
        ev.Incomplete("cut"),
        session=session,
    )
    assert session.calls == {
        "c1": RememberedCall("f", "S1", "c1"),
        "toolu_1": RememberedCall("g"),
        "toolu_2": RememberedCall("Bash", "S3"),
        "toolu_3": RememberedCall("h", "S4"),
    }


def test_two_replays_of_one_session_share_no_ids() -> None:
    session = Session()
    answers = [translate(START, *call(1, "f", {}), session=session) for _ in range(2)]
    assert [a[0]["message"]["id"] for a in answers] == ["msg_1", "msg_2"]
    assert [a[1]["content_block"]["id"] for a in answers] == ["toolu_1", "toolu_2"]


def tool(name: str, *keys: str, required: Sequence[str] = ()) -> Tool:
    return Tool(
        name,
        {
            "type": "object",
            "properties": {k: {"type": "string"} for k in keys},
            "required": list(required),
        },
    )


READ, GLOB = (
    tool("Read", "file_path", "offset", required=["file_path"]),
    tool("Glob", "pattern", required=["pattern"]),
)


@pytest.mark.parametrize(
    ("payload", "tools", "name"),
    [
        ({"todos": [{"content": "x"}]}, [], "TodoWrite"),
        ({"file_path": "a", "content": "b"}, [], "Write"),
        ({"command": "ls", "timeout": 1}, [], "Bash"),
        ({"command": "ls"}, [tool("Bash", "command"), tool("Shell", "command")], "Bash"),
        ({"command": "ls"}, [tool("Shell", "command"), GLOB], "Shell"),
        ({"pattern": "*"}, [READ, GLOB], "Glob"),
        ({"file_path": "a"}, [READ, GLOB], "Read"),
        ({"file_path": "a"}, [], None),
        ({"todos": []}, [READ], None),
    ],
)
def test_a_bare_payload_is_named(payload: Payload, tools: list[Tool], name: str | None) -> None:
    raw = "<tool_code>…</tool_code>"
    answer = translate(
        START, ev.Text("a"), ev.NamelessCall(1, payload, raw), ev.Text("b"), STOP, tools=tools
    )
    if name is None:
        assert answer == [begin(), *text(0, "a", raw, "b"), *tail()]
    else:
        arguments = json.dumps(payload, separators=(",", ":"))
        assert answer == [
            begin(),
            *text(0, "a"),
            *tool_use(1, "toolu_1", name, arguments),
            *text(2, "b"),
            *tail("tool_use"),
        ]


def test_the_signature_of_a_payload_that_stays_text_follows_it() -> None:
    answer = translate(START, ev.NamelessCall(1, {"zzz": 1}, "raw", signature="S"), STOP)
    assert answer == [begin(), *text(0, "raw"), *thinking(1, signature="S"), *tail()]


USAGES: dict[str, tuple[list[ev.Event], Payload, Payload]] = {
    "output is answer and thoughts, input is without what was cached": (
        [ev.Usage({}, input=10, output=5, reasoning=7, cached=4), ev.Text("a")],
        {"input_tokens": 6, "output_tokens": 12, "cache_read_input_tokens": 4},
        {"input_tokens": 6, "output_tokens": 12, "cache_read_input_tokens": 4},
    ),
    "nothing cached is still a count": (
        [ev.Text("a"), ev.Usage({}, input=10, cached=0)],
        ZERO,
        {"input_tokens": 10, "output_tokens": 0, "cache_read_input_tokens": 0},
    ),
    "message_start waits for the first counts, over facts about the reply": (
        [
            ev.Metadata("created", {}),
            ev.Usage({}, input=3),
            ev.Metadata("trace_id", {}),
            ev.Text("a"),
            ev.Usage({}, output=2),
        ],
        {"input_tokens": 3, "output_tokens": 0},
        {"input_tokens": 3, "output_tokens": 2},
    ),
    "and not for the second": (
        [ev.Usage({}, input=3), ev.Usage({}, output=2), ev.Text("a")],
        {"input_tokens": 3, "output_tokens": 0},
        {"input_tokens": 3, "output_tokens": 2},
    ),
    "zeros when other things come first": (
        [ev.Text(""), ev.Usage({}, input=3), ev.Text("a")],
        ZERO,
        {"input_tokens": 3, "output_tokens": 0},
    ),
    "the latest value of every count": (
        [
            ev.Text("a"),
            ev.Usage({}, input=9, output=1),
            ev.Usage({}, output=4, reasoning=2),
            ev.Usage({}, cached=5),
        ],
        ZERO,
        {"input_tokens": 4, "output_tokens": 6, "cache_read_input_tokens": 5},
    ),
    "a cached count alone takes nothing away": (
        [ev.Text("a"), ev.Usage({}, cached=5)],
        ZERO,
        {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 5},
    ),
}


@pytest.mark.parametrize(("events", "first", "last"), USAGES.values(), ids=USAGES)
def test_usage(events: list[ev.Event], first: Payload, last: Payload) -> None:
    assert translate(START, *events, STOP) == [begin(usage=first), *text(0, "a"), *tail(usage=last)]


@pytest.mark.parametrize(
    ("events", "model", "carried"),
    [
        ([ev.Start("m")], "m", []),
        ([ev.Start()], "", []),
        ([ev.Start(), ev.Metadata("model", {"modelVersion": "m"})], "m", []),
        (
            [ev.Start(), ev.Text(""), ev.Metadata("model", {"modelVersion": "m"})],
            "",
            [{"modelVersion": "m"}],
        ),
        (
            [ev.Start("m"), ev.Metadata("model", {"modelVersion": "n"})],
            "m",
            [{"modelVersion": "n"}],
        ),
        ([ev.Start("m"), ev.Metadata("envelope", {"x": 1}), ev.Text("")], "m", [{"x": 1}]),
        ([ev.Unknown("frame", "?"), ev.Unknown("frame", "!"), ev.Start("m")], "m", ["?", "!"]),
    ],
)
def test_message_start_names_the_model_and_comes_before_everything(
    events: list[ev.Event], model: str, carried: list[Any]
) -> None:
    assert translate(*events, STOP) == [begin(model), *map(unknown, carried), *tail()]


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([ev.Finish("stop", "STOP")], "end_turn"),
        ([ev.Finish("length", "MAX_TOKENS")], "max_tokens"),
        ([ev.Finish("content_filter", "SAFETY")], "refusal"),
        ([ev.Finish("continuation", "CONTINUATION")], "pause_turn"),
        ([ev.Finish("stop", "STOP"), ev.Finish("length", "MAX_TOKENS")], "max_tokens"),
        ([ev.Finish("stop", "STOP"), ev.Finish("length", "MAX_TOKENS", candidate=1)], "end_turn"),
        ([ev.Blocked("PROHIBITED_CONTENT", "no")], "refusal"),
    ],
)
def test_stop_reasons(events: list[ev.Event], reason: str) -> None:
    assert translate(START, *events) == [begin(), *tail(reason)]


@pytest.mark.parametrize(
    "finish", ["stop", "length", "content_filter", "malformed", "continuation", "other"]
)
def test_an_answer_with_a_call_stops_for_it_whatever_the_reason(finish: ev.FinishClass) -> None:
    assert translate(START, *call(1, "f", {}), ev.Finish(finish, "X"))[-2] == message_delta(
        "tool_use"
    )


@pytest.mark.parametrize(
    "part",
    [
        ev.Text("a"),
        ev.Reasoning("a"),
        ev.Media("image/png", {}),
        ev.Code("1", {}),
        ev.ServerCall({}),
        ev.ToolResult(),
    ],
)
def test_other_reasons_end_the_turn_after_content(part: ev.Event) -> None:
    assert translate(START, part, ev.Finish("other", "#99"))[-2] == message_delta("end_turn")


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([ev.Finish("other", "#99")], "#99"),
        ([ev.Text("", "S"), ev.Finish("other", "OTHER")], "OTHER"),
        ([ev.Finish("malformed", "MALFORMED_RESPONSE")], "MALFORMED_RESPONSE"),
        (
            [ev.Text("a"), ev.Finish("malformed", "MALFORMED_FUNCTION_CALL", "f(")],
            "MALFORMED_FUNCTION_CALL: f(",
        ),
        ([ev.Text("a"), ev.Finish("failed", "error")], "the run ended with the status 'error'"),
        ([ev.Text("a")], "the answer gave no finish reason"),
        ([ev.Text("a", candidate=1), STOP_OF_ANOTHER], EMPTY),
        ([ev.Usage({}, input=3)], EMPTY),
        ([ev.Text("be kind", role="system")], EMPTY),
    ],
)
def test_an_answer_without_a_good_end_is_an_error(events: list[ev.Event], message: str) -> None:
    assert translate(START, *events)[-1] == error("api_error", message)


def test_an_empty_stream_is_an_error() -> None:
    assert translate() == [error("api_error", EMPTY)]


def test_the_error_quotes_what_was_not_understood() -> None:
    *_, failure = translate(*(ev.Unknown("frame", text) for text in ("<html>", "x" * 300, "end")))
    assert failure["error"]["message"].startswith(
        "nothing in the answer was understood; it begins with <html> xxx"
    )
    assert len(failure["error"]["message"]) < 300


def test_payloads_come_as_soon_as_they_can() -> None:
    stage = ANTHROPIC.translator([], Session())
    events: list[ev.Event] = [
        START,
        ev.Usage({}),
        ev.Text("a"),
        ev.Text("b"),
        *call(1, "f", {}),
        STOP,
    ]
    assert [len(stage.feed(event)) for event in events] == [0, 0, 3, 1, 1, 3, 0]
    assert len(stage.close()) == 2


def test_the_dialect_declares_its_losses() -> None:
    assert {*map(str, ANTHROPIC.losses)} == {
        *("finish[call]", "finish[other]", "finish_message", "usage[failed]", "usage_details"),
        *("media", "code", "server_tools", "grounding", "citations", "urls", "fields"),
        *("candidates", "logprobs", "safety_ratings", "response_id", "create_time", "credits"),
        *("trace_id", "blocks", "refusal", "billing", "usage[other]", "usage[tool_use]"),
    }
