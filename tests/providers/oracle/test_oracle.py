"""The witness of "nothing lost, nothing invented": it reads every framing and spelling, and sees
every fault in what is carried.
"""

from __future__ import annotations

import ast
import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.facts import Facts
from harness.providers import oracle
from harness.providers.oracle import gather_body, gather_events
from tests.support.facts import gather as gather_dialect
from tests.support.facts import losses

FIRST = '{"candidates":[{"content":{"parts":[{"text":"Hé"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3}}'
LAST = (
    '{"candidates":[{"content":{"parts":[{"text":"llo","thoughtSignature":"QQ=="},'
    '{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"Qg=="}]},"finishReason":"STOP"}],'
    '"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}'
)
ERROR = '{\n  "error": {\n    "code": 503,\n    "message": "overloaded",\n    "status": "UNAVAILABLE"\n  }\n}\n'
SNAKE = (
    '{"candidates":[{"content":{"parts":[{"text":"llo","thought_signature":"QQ=="},'
    '{"function_call":{"name":"f","args":"{\\"a\\":1}"},"thought_signature":"Qg=="}]},"finish_reason":1}],'
    '"usage_metadata":{"prompt_token_count":3,"candidates_token_count":2}}'
)

SAME_ANSWER = {
    "sse crlf": f"data: {FIRST}\r\n\r\ndata: {LAST}\r\n\r\n",
    "sse lf, no last blank line": f"data: {FIRST}\n\ndata: {LAST}",
    "sse cr": f"data: {FIRST}\r\rdata: {LAST}\r\r",
    "sse bom, comment, event, id, no space, done": f"\ufeff: ping\n\nevent: x\nid: 1\ndata:{FIRST}\n\ndata: {LAST}\n\ndata: [DONE]\n\n",
    "sse two data lines, one message": "data: "
    + FIRST.replace(',"usage', '\ndata: ,"usage')
    + f"\n\ndata: {LAST}\n\n",
    "sse no blank line between": f"data: {FIRST}\ndata: {LAST}\n\n",
    "json array": f"[{FIRST}\r\n,\r\n{LAST}]",
    "json lines": f"{FIRST}\n{LAST}\n",
    "json array in one event": f"data: [{FIRST},{LAST}]\n\n",
    "snake case, string args, number": f"[{FIRST},{SNAKE}]",
    "code assist": f'data: {{"response":{FIRST},"traceId":"t"}}\r\n\r\ndata: {{"response":{LAST}}}\r\n\r\n',
}


@pytest.mark.parametrize("body", SAME_ANSWER.values(), ids=SAME_ANSWER.keys())
def test_reads_the_same_answer_in_every_framing_and_spelling(body: str) -> None:
    facts = gather_body(body.encode())
    assert facts.text == "Héllo"
    assert facts.calls == [("f", {"a": 1})]
    assert facts.signatures == [("text", "QQ=="), ("call", "Qg==")]
    assert facts.finish == "STOP"
    assert facts.usage == {"promptTokenCount": 3, "candidatesTokenCount": 2}
    assert (facts.errors, facts.unreadable) == ([], [])


@pytest.mark.parametrize(
    ("parts", "attribute", "value"),
    [
        ('{"text":"hm","thought":true,"thoughtSignature":"QQ=="}', "thoughts", "hm"),
        (
            '{"text":"hm","thought":true,"thoughtSignature":"QQ=="}',
            "signatures",
            [("thought", "QQ==")],
        ),
        (
            '{"inlineData":{"mimeType":"image/png","data":"QQ=="}},{"file_data":{"file_uri":"u"}}',
            "media",
            2,
        ),
        ('{"executableCode":{"code":"1"}},{"codeExecutionResult":{"output":"1"}}', "code", 2),
        ('{"toolCall":{"id":"t"},"thoughtSignature":"QQ=="}', "signatures", [("other", "QQ==")]),
        ('{"hologram":{"x":1}}', "others", {"hologram"}),
        ('{"functionCall":{"name":"f"}}', "calls", [("f", {})]),
        ('{"text":"a"},{"functionCall":null,"text":"b","thought":null}', "text", "ab"),
        (
            '{"thoughtSignature":"QQ=="},{"thought":true,"thoughtSignature":"Qg=="}',
            "signatures",
            [("text", "QQ=="), ("thought", "Qg==")],
        ),
        ('{"text":"a","thoughtSignature":""}', "signatures", []),
    ],
)
def test_reads_every_kind_of_part(parts: str, attribute: str, value: object) -> None:
    body = f'{{"candidates":[{{"content":{{"parts":[{parts}]}}}}]}}'
    assert getattr(gather_body(body.encode()), attribute) == value


COUNTED = {"totalTokenCount": 7, "promptTokenCount": 3}


@pytest.mark.parametrize(
    ("body", "status", "attribute", "value"),
    [
        ('{"promptFeedback":{"blockReason":"SAFETY"}}', 200, "block_reason", "SAFETY"),
        ('{"candidates":[{"finishReason":7}]}', 200, "finish", "#7"),
        (
            '{"candidates":[{"finishReason":"OTHER","finishMessage":"m"}]}',
            200,
            "finish_message",
            "m",
        ),
        ('[{"error":{"code":429,"message":"m"}}]', 429, "errors", [(429, "m")]),
        ('{"error":"boom"}', 200, "errors", [(None, "boom")]),
        ("<html>no</html>", 502, "errors", [(502, "")]),
        ("", 500, "errors", [(500, "")]),
        ("data: {broken\n\n", 200, "unreadable", ["{broken"]),
        (
            '{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]}}]}',
            200,
            "text",
            "a",
        ),
        ('{"functionCalls":[{"name":"f","args":{"a":1}}]}', 200, "calls", [("f", {"a": 1})]),
        (
            '{"usageMetadata":{"totalTokenCount":"7","promptTokenCount":3.0,"trafficType":"9x"}}',
            200,
            "usage",
            COUNTED,
        ),
        ('{"responseFoo":1}', 200, "others", {"responseFoo"}),
    ],
)
def test_reads_what_stands_beside_the_parts(
    body: str, status: int, attribute: str, value: object
) -> None:
    assert getattr(gather_body(body.encode(), status), attribute) == value


def test_an_error_in_mid_stream_keeps_what_was_known_before_it() -> None:
    facts = gather_body(f"data: {FIRST}\r\n\r\n{ERROR}data: {LAST}\r\n\r\n".encode())
    assert facts.errors == [(503, "overloaded")]
    assert facts.text == "Héllo"
    assert facts.at_error is not None
    assert facts.at_error.text == "Hé"


def stream_of_calls(*calls: str) -> bytes:
    frames = (f'data: {{"candidates":[{{"content":{{"parts":[{call}]}}}}]}}\n\n' for call in calls)
    return "".join(frames).encode()


def piece(path: str, value: str, *, going_on: bool = True) -> str:
    more = ',"willContinue":true' if going_on else ""
    return f'{{"functionCall":{{"partialArgs":[{{"jsonPath":"{path}",{value}}}]{more}}}}}'


STRING = piece("$.a", '"stringValue":"x","willContinue":true')
START = '{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"QQ=="}'


BOTH = '{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","numberValue":2},{"jsonPath":"$.b","numberValue":1}]}}'


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([START, STRING, piece("$.a", '"stringValue":"x"'), '{"functionCall":{}}'], {"a": "xx"}),
        (
            [START, piece("$.o[1].n", '"numberValue":3'), piece("$.o[0].n", '"boolValue":true')],
            {"o": [{"n": True}, {"n": 3}]},
        ),
        ([START, piece("$['a b']", '"nullValue":null', going_on=False)], {"a b": None}),
        ([START, STRING, '{"text":"done"}'], {"a": "x"}),
        ([BOTH], {"a": 2, "b": 1}),
    ],
)
def test_puts_streamed_arguments_together(calls: list[str], expected: dict[str, Any]) -> None:
    facts = gather_body(stream_of_calls(*calls))
    assert facts.calls == [("f", expected)]


def test_a_new_name_ends_the_call_before_it_and_the_last_may_stay_open() -> None:
    facts = gather_body(
        stream_of_calls(
            START,
            piece("$.a", '"numberValue":1'),
            '{"functionCall":{"name":"g","willContinue":true}}',
        )
    )
    assert facts.calls == [("f", {"a": 1}), ("g", {})]
    assert facts.open_call


@pytest.mark.parametrize("path", ["a", "$..a", "$.b[99999999]", "$.a[0]", "$.a.b", "$.a"])
def test_a_piece_that_has_no_place_is_named_and_does_no_harm(path: str) -> None:
    facts = gather_body(stream_of_calls(START, STRING, piece(path, '"numberValue":1')))
    assert "partialArgs" in facts.others
    assert facts.calls[0][1]["a"] == "x"


def test_text_ends_a_streamed_call_and_an_empty_one_does_not() -> None:
    going_on = gather_body(stream_of_calls(START, '{"text":""}', STRING))
    ended = gather_body(stream_of_calls(START, '{"text":"so"}', STRING))
    assert (going_on.calls, going_on.others) == ([("f", {"a": "x"})], set())
    assert (ended.calls, ended.others) == ([("f", {})], {"partialArgs"})


def test_a_signature_after_the_first_part_of_a_call_signs_no_call() -> None:
    facts = gather_body(stream_of_calls(START, '{"functionCall":{},"thoughtSignature":"Qg=="}'))
    assert facts.signatures == [("call", "QQ=="), ("text", "Qg==")]


@pytest.mark.parametrize(
    "call", ['{"partialArgs":[{"jsonPath":"$.a","numberValue":1}],"willContinue":true}', "{}"]
)
def test_a_signature_of_a_piece_without_a_call_signs_none(call: str) -> None:
    part = f'{{"functionCall":{call},"thoughtSignature":"QQ=="}}'
    facts = gather_body(f'{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}'.encode())
    assert (facts.calls, facts.marks, facts.signatures) == ([], [], [("piece", "QQ==")])


@pytest.mark.parametrize(
    ("inside", "name", "arguments"),
    [
        ('{"todos":[]}', None, {"todos": []}),
        ('{"tool_name":"f","parameters":{"x":1}}', "f", {"x": 1}),
        ('```json\n{"name":"f","args":{}}\n```', "f", {}),
        ("print(default_api.f(x='1', y=[1, None]))", "f", {"x": "1", "y": [1, None]}),
    ],
)
def test_finds_tool_code_only_when_asked(
    inside: str, name: str | None, arguments: dict[str, Any]
) -> None:
    text = f"a<tool_code>{inside}</tool_code>b"
    body = f'{{"candidates":[{{"content":{{"parts":[{{"text":{json.dumps(text)}}}]}}}}]}}'.encode()
    assert gather_body(body).blocks == []
    assert gather_body(body, tool_code=True).blocks == [(text[1:-1], name, arguments)]


WIRE = Facts(
    text="Hello",
    thoughts="hm",
    calls=[("f", {"a": 1, "deep": {"b": [True]}}), ("g", {})],
    signatures=[("text", "QQ=="), ("call", "Qg=="), ("thought", "Qw==")],
    finish="MAX_TOKENS",
    finish_message="cut",
    usage={
        "promptTokenCount": 9,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 14,
    },
)
EVENTS: list[dict[str, Any]] = [
    {"kind": "start", "model": "m"},
    {"kind": "usage", "raw": {}, "input": 9, "output": 2, "reasoning": 3, "cached": 4, "total": 14},
    {"kind": "reasoning", "text": "hm", "signature": "Qw=="},
    {"kind": "text", "text": "Hel"},
    {"kind": "text", "text": "lo", "signature": "QQ=="},
    {"kind": "text", "text": "another", "candidate": 1},
    {"kind": "call_start", "call": 1, "name": "f", "signature": "Qg=="},
    {"kind": "call_piece", "call": 1, "path": "$.a", "value": 1},
    {"kind": "call_end", "call": 1, "arguments": {"a": 1, "deep": {"b": [True]}}},
    {"kind": "call_start", "call": 2, "name": "g"},
    {"kind": "call_end", "call": 2, "arguments": {}},
    {"kind": "finish", "reason": "length", "raw": "MAX_TOKENS", "message": "cut"},
]
UNIFIED: list[dict[str, Any]] = [
    {"type": "STREAM_START"},
    {"type": "REASONING_START"},
    {"type": "REASONING_DELTA", "reasoning_delta": "hm"},
    {"type": "REASONING_END", "signature": "Qw=="},
    {"type": "TEXT_START", "text_id": "t"},
    {"type": "TEXT_DELTA", "text_id": "t", "delta": "Hello"},
    {"type": "TEXT_END", "text_id": "t", "signature": "QQ=="},
    {"type": "TOOL_CALL_START", "tool_call": {"id": "1", "name": "f"}},
    {
        "type": "TOOL_CALL_END",
        "tool_call": {
            "id": "1",
            "name": "f",
            "arguments": {"a": 1, "deep": {"b": [True]}},
            "signature": "Qg==",
        },
    },
    {"type": "TOOL_CALL_START", "tool_call": {"id": "2", "name": "g"}},
    {"type": "TOOL_CALL_END", "tool_call": {"id": "2", "name": "g", "arguments": {}}},
    {
        "type": "FINISH",
        "finish_reason": {"reason": "tool_calls", "raw": "MAX_TOKENS", "message": "cut"},
        "usage": {
            "input_tokens": 9,
            "output_tokens": 2,
            "reasoning_tokens": 3,
            "cache_read_tokens": 4,
            "total_tokens": 14,
            "raw": {},
        },
    },
]
ANTHROPIC: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": ""},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hm"},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "signature_delta", "signature": "Qw=="},
    },
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "thinking", "thinking": ""},
    },
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "signature_delta", "signature": "QQ=="},
    },
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "1", "name": "f", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 3,
        "delta": {"type": "input_json_delta", "partial_json": '{"a":1,"deep":{"b":[true]}}'},
    },
    {"type": "content_block_stop", "index": 3},
    {
        "type": "content_block_start",
        "index": 4,
        "content_block": {"type": "tool_use", "id": "2", "name": "g", "input": {}},
    },
    {"type": "content_block_stop", "index": 4},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"input_tokens": 5, "output_tokens": 5, "cache_read_input_tokens": 4},
    },
    {"type": "message_stop"},
]


def gather(
    dialect: str, payloads: list[dict[str, Any]], signatures: dict[str, str | None] | None = None
) -> Facts:
    return gather_dialect(dialect, payloads, {"1": "Qg=="} if signatures is None else signatures)


CARRIED = {"events": EVENTS, "unified-llm": UNIFIED, "anthropic": ANTHROPIC}


@pytest.mark.parametrize("dialect", CARRIED)
def test_a_faithful_translation_loses_nothing(dialect: str) -> None:
    assert losses(WIRE, gather(dialect, CARRIED[dialect]), dialect) == []


WITHOUT_A_FACT = {
    *("start", "call_piece", "STREAM_START", "TEXT_START", "REASONING_START", "TOOL_CALL_START"),
    *("message_start", "content_block_start", "content_block_stop", "message_stop"),
}


@pytest.mark.parametrize(
    ("dialect", "index"),
    [
        (dialect, index)
        for dialect, payloads in CARRIED.items()
        for index, payload in enumerate(payloads)
        if payload.get("kind", payload.get("type")) not in WITHOUT_A_FACT
        and not payload.get("candidate")
    ],
)
def test_every_item_that_carries_a_fact_is_missed_when_it_is_dropped(
    dialect: str, index: int
) -> None:
    payloads = copy.deepcopy(CARRIED[dialect])
    del payloads[index]
    assert losses(WIRE, gather(dialect, payloads), dialect)


@pytest.mark.parametrize("dialect", CARRIED)
@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("text", "Hellu", "text lost"),
        ("thoughts", "", "thought invented"),
        ("calls", [("f", {"a": 1, "deep": {"b": [1]}}), ("g", {})], "argument lost"),
        ("calls", [("f", {"a": 1, "deep": {"b": [True]}})], "call invented"),
        ("calls", [("g", {}), ("f", {"a": 1, "deep": {"b": [True]}})], "call order"),
        ("signatures", [("text", "QQ=="), ("call", "Qg==")], "signature invented"),
        ("signatures", [("text", "QQ=="), ("text", "Qg=="), ("thought", "Qw==")], "signature lost"),
        ("usage", {"promptTokenCount": 9}, "usage"),
        ("errors", [(503, "overloaded")], "error lost"),
    ],
)
def test_each_difference_is_said_in_a_sentence(
    dialect: str, attribute: str, value: Any, sentence: str
) -> None:
    wire = copy.deepcopy(WIRE)
    setattr(wire, attribute, value)
    found = losses(wire, gather(dialect, CARRIED[dialect]), dialect)
    assert any(sentence.split()[0] in line for line in found), found
    assert len(found) <= 4


@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("finish_message", None, 'finish message invented: null became "cut"'),
        ("block_reason", "SAFETY", 'block reason lost: "SAFETY" became '),
        ("media", 1, "media lost: 1 became 0"),
        ("code", 1, "code lost: 1 became 0"),
        ("others", {"hologram"}, "field lost: hologram"),
        ("unreadable", ["{broken"], 'unreadable lost: "{broken" left no trace'),
    ],
)
@pytest.mark.parametrize("dialect", ["events", "unified-llm"])
def test_what_the_richer_layers_must_carry_is_missed_there(
    dialect: str, attribute: str, value: Any, sentence: str
) -> None:
    wire = copy.deepcopy(WIRE)
    setattr(wire, attribute, value)
    assert any(
        line.startswith(sentence)
        for line in losses(wire, gather(dialect, CARRIED[dialect]), dialect)
    )


@pytest.mark.parametrize(
    ("code", "message", "sentence"),
    [
        (503, "overloaded", None),
        (500, "overloaded", "error changed: number 503 became 500"),
        (503, "no", 'error lost: "overloaded" became "no"'),
    ],
)
def test_an_error_keeps_its_number_and_its_message(
    code: int, message: str, sentence: str | None
) -> None:
    carried = gather_events([{"kind": "error", "code": code, "message": message}])
    assert losses(Facts(errors=[(503, "overloaded")]), carried, "events") == (
        [sentence] if sentence else []
    )


@pytest.mark.parametrize(
    ("wire", "stop"),
    [
        (Facts(finish="STOP"), "end_turn"),
        (Facts(finish="MAX_TOKENS"), "max_tokens"),
        (Facts(finish="CONTINUATION"), "pause_turn"),
        (Facts(finish="SPII"), "refusal"),
        (Facts(finish="MODEL_ARMOR"), "refusal"),
        (Facts(finish="BRAND_NEW"), "end_turn"),
        (Facts(block_reason="OTHER"), "refusal"),
        (Facts(), "end_turn"),
    ],
)
def test_the_stop_reason_follows_from_the_finish_reason(wire: Facts, stop: str) -> None:
    for reason in ("end_turn", "max_tokens", "pause_turn", "refusal", "tool_use"):
        carried = gather(
            "anthropic", [{"type": "message_delta", "delta": {"stop_reason": reason}}], {}
        )
        assert bool(losses(wire, carried, "anthropic")) is (reason != stop)


@pytest.mark.parametrize("name", ["promptTokenCount", "toolUsePromptTokenCount"])
def test_a_count_with_a_field_of_its_own_is_missed_though_the_raw_object_has_it(name: str) -> None:
    wire = Facts(usage={name: 1})
    unified = gather("unified-llm", [{"type": "FINISH", "usage": {"raw": {name: 1}}}])
    assert bool(losses(wire, unified, "unified-llm")) is (name == "promptTokenCount")
    assert bool(losses(wire, gather_events([{"kind": "usage", "raw": {name: 1}}]), "events"))


def test_another_candidate_is_no_fact_of_the_answer() -> None:
    other = {"kind": "media", "raw": {"inlineData": {}}, "candidate": 1, "signature": "QQ=="}
    assert gather_events([other]) == Facts()
    assert gather("unified-llm", [{"type": "PROVIDER_EVENT", "raw": other}]) == Facts()


def test_a_signature_that_only_the_session_had_is_missed_when_the_session_forgets_it() -> None:
    assert losses(WIRE, gather("anthropic", ANTHROPIC, {}), "anthropic") == [
        'signature lost: "Qg==" of call'
    ]


def test_what_follows_an_error_is_no_loss_in_a_dialect_but_one_in_the_events() -> None:
    wire = gather_body(f"data: {FIRST}\n\n{ERROR}data: {LAST}\n\n".encode())
    unified: list[dict[str, Any]] = [
        {"type": "TEXT_DELTA", "delta": "Hé"},
        {
            "type": "ERROR",
            "error": {"type": "Server", "message": "overloaded", "status_code": 503},
            "usage": {"input_tokens": 3},
        },
    ]
    assert losses(wire, gather("unified-llm", unified), "unified-llm") == []
    events: list[dict[str, Any]] = [
        {"kind": "text", "text": "Hé"},
        {"kind": "error", "code": 503, "message": "overloaded"},
    ]
    assert any("call lost" in line for line in losses(wire, gather_events(events), "events"))


def test_a_cut_is_an_error_that_the_wire_does_not_have() -> None:
    wire = gather_body(f"data: {FIRST}\n\n".encode())
    payloads: list[dict[str, Any]] = [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hé"}},
        {"type": "error", "error": {"message": "cut"}},
    ]
    carried = gather("anthropic", payloads, {})
    assert losses(wire, carried, "anthropic", interrupted=True) == []
    assert losses(wire, carried, "anthropic") == ['error invented: None "cut"']


def test_an_interrupted_call_counts_with_the_arguments_that_arrived() -> None:
    wire = gather_body(
        stream_of_calls(START, piece("$.a", '"stringValue":"x","willContinue":true'))
    )
    events: list[dict[str, Any]] = [
        {"kind": "call_start", "call": 1, "name": "f", "signature": "QQ=="},
        {"kind": "call_piece", "call": 1, "path": "$.a", "value": "x", "more": True},
        {"kind": "incomplete", "end": "cut"},
    ]
    assert losses(wire, gather_events(events), "events", interrupted=True) == []
    del events[1]
    assert losses(wire, gather_events(events), "events", interrupted=True) == [
        'argument lost: f has {"a": "x"}, carried is {}'
    ]


@pytest.mark.parametrize(
    ("payloads", "lost"),
    [
        ([("text", "a"), ("nameless_call", {"x": 1}), ("text", "b")], False),
        ([("text", 'a<tool_code>{"x":1}</tool_code>b')], False),
        ([("text", "ab")], True),
        ([("nameless_call", {"x": 1})], True),
    ],
)
def test_a_tool_code_block_is_either_a_call_or_text(
    payloads: list[tuple[str, Any]], lost: bool
) -> None:
    wire = gather_body(
        rb'{"candidates":[{"content":{"parts":[{"text":"a<tool_code>{\"x\":1}</tool_code>b"}]}}]}',
        tool_code=True,
    )
    events = [
        {"kind": kind, "text" if kind == "text" else "payload": value, "call": 1}
        for kind, value in payloads
    ]
    assert bool(losses(wire, gather_events(events), "events")) is lost


BROKEN = [
    b'data: {"candidates":[{"content":{"parts":[{"text":"\xff"}]}}]}\n\n',
    b"\xff\xfe",
    b"garbage\n\nmore",
    b'data: {"a":NaN}\n\n',
    b'data: "\xff"\n\n',
    b"[" * 5000,
    b'{"a":' * 5000,
]


@pytest.mark.parametrize("raw", BROKEN)
def test_no_body_is_too_broken_to_read(raw: bytes) -> None:
    facts = gather_body(raw)
    assert (facts.text, facts.calls) == ("", [])


def test_a_response_that_says_other_than_its_stream_is_a_contradiction() -> None:
    content = [
        {"kind": "text", "text": "Hell"},
        {"kind": "tool_call", "tool_call": {"name": "f", "arguments": {}}},
    ]
    response = {"message": {"content": content}}
    payloads: list[dict[str, Any]] = [
        {"type": "TEXT_DELTA", "delta": "Hello"},
        {"type": "FINISH", "response": response},
    ]
    found = losses(Facts(text="Hello"), gather("unified-llm", payloads), "unified-llm")
    assert found == [
        "the Response has other text than the stream",
        "the Response has other calls than the stream",
    ]


INTERRUPTED = {
    "unified-llm": [
        {"type": "TOOL_CALL_START", "tool_call": {"id": "1", "name": "f"}},
        {
            "type": "TOOL_CALL_DELTA",
            "delta": '{"a":"x"}',
            "tool_call": {"id": "1", "name": "f", "signature": "QQ=="},
        },
        {"type": "ERROR", "error": {"type": "StreamError", "message": "cut"}},
    ],
    "anthropic": [
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "1", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "delta": {"type": "input_json_delta", "partial_json": '{"a":"x"}'},
        },
        {"type": "error", "error": {"type": "api_error", "message": "cut"}},
    ],
}


@pytest.mark.parametrize("dialect", INTERRUPTED)
def test_an_interrupted_call_is_carried_open(dialect: str) -> None:
    wire = gather_body(stream_of_calls(START, STRING))
    carried = gather(dialect, INTERRUPTED[dialect], {"1": "QQ=="})
    assert carried.open_call
    assert losses(wire, carried, dialect, interrupted=True) == []


@pytest.mark.parametrize(
    "raw",
    [
        {"executableCode": {}, "thoughtSignature": "QQ=="},
        {"hologram": 1, "thoughtSignature": "QQ=="},
    ],
)
def test_a_part_that_has_no_payload_of_its_own_is_read_in_the_shape_of_the_wire(
    raw: dict[str, Any],
) -> None:
    wire = gather_body(stream_of_calls(json.dumps(raw)))
    assert (
        losses(wire, gather("unified-llm", [{"type": "PROVIDER_EVENT", "raw": raw}]), "unified-llm")
        == []
    )
    assert len(losses(wire, gather("unified-llm", []), "unified-llm")) >= 2


def test_findings_can_be_printed_anywhere() -> None:
    (finding,) = losses(Facts(text="\x1b[2J\x9b1m\ud800\u202eé"), Facts(), "events")
    assert (
        finding
        == 'text lost: at character 0 the wire has "\\u001b[2J\\u009b1m\\ud800\\u202eé", carried is ""'
    )


SHOWING = ("harness.stream.json_codec", "harness.stream.printable")
"""The modules that facts themselves need."""


def test_the_oracle_imports_only_facts_and_the_standard_library() -> None:
    """The import contract lists the modules of ours; this also covers other libraries."""
    allowed = {*sys.stdlib_module_names, "harness.facts", *SHOWING}
    for module in Path(oracle.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    assert {name.name.split(".")[0] for name in names} <= allowed
                case ast.ImportFrom(module=str(name), level=0):
                    assert name in allowed or name.split(".")[0] in allowed
