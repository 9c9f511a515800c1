"""The facts of canonical events and of the dialects that carry nearly everything: every fault in
them is found.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from harness.facts import Fact, WireFacts
from harness.facts.detail import Fields, InvalidCall, Opaque, Result, UnreadablePiece
from harness.providers.plain_events import gather_events
from tests.readers.test_plain_reading import (
    ERROR,
    FIRST,
    LAST,
    START,
    STRING,
    piece,
    stream_of_calls,
)
from tests.support.facts import gather, losses
from tests.support.wire_answers import facts_of_body, made_facts

VALUES: dict[str, Any] = {
    "text": "Hello",
    "thoughts": "hm",
    "calls": [("f", {"a": 1, "deep": {"b": [True]}}), ("g", {})],
    "signatures": [("text", "QQ=="), ("call", "Qg=="), ("thought", "Qw==")],
    "finish": "MAX_TOKENS",
    "finish_message": "cut",
    "usage": {
        "promptTokenCount": 9,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 14,
    },
}
WIRE = made_facts(**VALUES)
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


def missed(wire: WireFacts, dialect: str, payloads: list[dict[str, Any]]) -> list[str]:
    return losses(wire, payloads, dialect, signatures={"1": "Qg=="})


CARRIED = {"events": EVENTS, "unified-llm": UNIFIED, "anthropic": ANTHROPIC}


@pytest.mark.parametrize("dialect", CARRIED)
def test_a_faithful_translation_loses_nothing(dialect: str) -> None:
    assert missed(WIRE, dialect, CARRIED[dialect]) == []


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
def test_every_dropped_item_with_a_fact_is_missed(dialect: str, index: int) -> None:
    payloads = copy.deepcopy(CARRIED[dialect])
    del payloads[index]
    assert missed(WIRE, dialect, payloads)


@pytest.mark.parametrize("dialect", CARRIED)
@pytest.mark.parametrize(
    ("attribute", "value", "sentence"),
    [
        ("text", "Hellu", "text wrong"),
        ("thoughts", "", "thoughts wrong"),
        ("calls", [("f", {"a": 1, "deep": {"b": [1]}}), ("g", {})], "calls wrong"),
        ("calls", [("f", {"a": 1, "deep": {"b": [True]}})], "calls wrong"),
        ("calls", [("g", {}), ("f", {"a": 1, "deep": {"b": [True]}})], "calls wrong"),
        ("signatures", [("text", "QQ=="), ("call", "Qg==")], "signatures wrong"),
        (
            "signatures",
            [("text", "QQ=="), ("text", "Qg=="), ("thought", "Qw==")],
            "signatures wrong",
        ),
        ("signatures", [*WIRE.signatures, ("text", "Qx==")], "signatures lost"),
        ("usage", {"promptTokenCount": 8}, "usage wrong"),
        ("errors", [(503, "overloaded")], "error lost"),
    ],
)
def test_each_difference_has_its_sentence(
    dialect: str, attribute: str, value: Any, sentence: str
) -> None:
    wire = made_facts(**VALUES | {attribute: value})
    findings = missed(wire, dialect, CARRIED[dialect])
    assert any(line.startswith(sentence) for line in findings), findings
    assert len(findings) <= 4


@pytest.mark.parametrize(
    ("more", "values", "sentence"),
    [
        ([], {"finish": "SAFETY"}, "finish wrong"),
        ([], {"finish_message": "cut short"}, "finish message lost"),
        ([], {"block_reason": "SAFETY"}, "blocked lost"),
        ([Opaque("media", ("QUJD",))], {}, "media lost"),
        ([Opaque("code", ("print(1)",))], {}, "code lost"),
        ([Fields(frozenset({"hologram"}))], {}, "fields lost: lost: hologram"),
        ([UnreadablePiece("{broken")], {}, "fields lost: lost: {broken"),
        ([InvalidCall("h", "a=1")], {}, "calls lost: the call h, whose arguments are not"),
        ([Result(False, "one")], {}, "results lost: the wire has 1 results, the adapter 0"),
    ],
)
@pytest.mark.parametrize("dialect", ["events", "unified-llm"])
def test_facts_that_the_richer_layers_must_carry_are_missed(
    dialect: str, more: list[Fact], values: dict[str, Any], sentence: str
) -> None:
    wire = made_facts(*more, **VALUES | values)
    assert any(line.startswith(sentence) for line in missed(wire, dialect, CARRIED[dialect]))


@pytest.mark.parametrize(
    ("code", "message", "verdict"),
    [
        (503, "", ""),
        (None, "overloaded", ""),
        (500, "no", "error wrong"),
        (None, "no", "error wrong"),
    ],
)
def test_an_error_keeps_its_number_or_its_message(
    code: int | None, message: str, verdict: str
) -> None:
    wire = made_facts(errors=[(503, "overloaded")], error_words=["503", "overloaded"])
    found = losses(wire, [{"kind": "error", "code": code, "message": message}], "events")
    assert [line.partition(":")[0] for line in found] == ([verdict] if verdict else [])


@pytest.mark.parametrize(
    ("wire", "good"),
    [
        (made_facts(finish="STOP", ended_well=True), {"end_turn"}),
        (made_facts(finish="MAX_TOKENS", ended_well=True), {"max_tokens"}),
        (made_facts(finish="SPII", ended_well=True), {"refusal"}),
        (made_facts(finish="MODEL_ARMOR", ended_well=True), {"refusal"}),
        (made_facts(block_reason="OTHER"), {"refusal"}),
        (made_facts(), {"pause_turn", "tool_use"}),
    ],
)
def test_the_stop_reason_has_the_class_of_the_finish_reason(
    wire: WireFacts, good: set[str]
) -> None:
    for reason in ("end_turn", "max_tokens", "pause_turn", "refusal"):
        payloads = [{"type": "message_delta", "delta": {"stop_reason": reason}}]
        assert bool(losses(wire, payloads, "anthropic")) is (reason not in good)


def test_the_class_of_the_end_may_be_stated_once() -> None:
    finish = {"reason": "length", "raw": "STOP"}
    (found,) = losses(
        made_facts(finish="STOP", ended_well=True),
        [{"type": "FINISH", "finish_reason": finish}],
        "unified-llm",
    )
    assert found == 'finish wrong: the payloads state it as "stop" and as "length"'


@pytest.mark.parametrize("name", ["promptTokenCount", "toolUsePromptTokenCount"])
def test_a_raw_object_does_not_hide_a_missing_count(name: str) -> None:
    wire = made_facts(usage={name: 1})
    unified = [{"type": "FINISH", "usage": {"raw": {name: 1}}}]
    assert bool(losses(wire, unified, "unified-llm")) is (name == "promptTokenCount")
    assert losses(wire, [{"kind": "usage", "raw": {name: 1}}], "events")


def test_another_candidate_is_no_fact_of_the_answer() -> None:
    other = {"kind": "media", "raw": {"inlineData": {}}, "candidate": 1, "signature": "QQ=="}
    assert gather_events([other]) == []
    assert gather("unified-llm", [{"type": "PROVIDER_EVENT", "raw": other}]).facts == []


def test_a_signature_that_the_session_forgets_is_missed() -> None:
    assert losses(WIRE, ANTHROPIC, "anthropic") == ["signatures lost: 1 of 3 values lost: Qg=="]


def test_facts_after_an_error_are_not_asked() -> None:
    wire = facts_of_body(f"data: {FIRST}\n\n{ERROR}data: {LAST}\n\n".encode())
    unified: list[dict[str, Any]] = [
        {"type": "TEXT_DELTA", "delta": "Hé"},
        {
            "type": "ERROR",
            "error": {"type": "Server", "message": "overloaded", "status_code": 503},
            "usage": {"input_tokens": 3},
        },
    ]
    assert losses(wire, unified, "unified-llm") == []
    events: list[dict[str, Any]] = [
        {"kind": "text", "text": "Hé"},
        {"kind": "usage", "raw": {}, "input": 3, "output": 5},
        {"kind": "error", "code": 503, "message": "overloaded"},
    ]
    assert losses(wire, events, "events") == []
    late = {"kind": "text", "text": "late"}
    assert losses(wire, [*events, late], "events")


def test_a_cut_is_an_error_that_the_wire_does_not_have() -> None:
    wire = facts_of_body(f"data: {FIRST}\n\n".encode())
    payloads: list[dict[str, Any]] = [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hé"}},
        {"type": "error", "error": {"message": "cut"}},
    ]
    assert losses(wire, payloads, "anthropic", interrupted=True) == []
    assert losses(wire, payloads, "anthropic") == []  # it has no finish reason
    wire.finish, wire.ended_well = "STOP", True
    assert "needless error raised: the adapter reports an error: cut" in losses(
        wire, payloads, "anthropic"
    )


def test_the_error_of_a_malformed_call_names_the_reason() -> None:
    wire = made_facts(finish="MALFORMED_FUNCTION_CALL")
    for word, is_named in (("MALFORMED_RESPONSE", False), ("MALFORMED_FUNCTION_CALL", True)):
        payloads = [{"type": "error", "error": {"message": word}}]
        assert bool(losses(wire, payloads, "anthropic")) is not is_named


def test_an_interrupted_call_is_no_call() -> None:
    wire = facts_of_body(
        stream_of_calls(START, piece("$.a", '"stringValue":"x","willContinue":true'))
    )
    events: list[dict[str, Any]] = [
        {"kind": "call_start", "call": 1, "name": "f", "signature": "QQ=="},
        {"kind": "call_piece", "call": 1, "path": "$.a", "value": "x", "more": True},
        {"kind": "incomplete", "end": "cut"},
    ]
    assert losses(wire, events, "events", interrupted=True) == []
    events.insert(2, {"kind": "call_end", "call": 1, "arguments": {"a": "x"}})
    (found,) = losses(wire, events, "events", interrupted=True)
    assert found.startswith("calls wrong: the wire has no whole object of arguments for f,")


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
    wire = facts_of_body(
        rb'{"candidates":[{"content":{"parts":[{"text":"a<tool_code>{\"x\":1}</tool_code>b"}]}}]}',
        tool_code=True,
    )
    events = [
        {"kind": kind, "text" if kind == "text" else "payload": value, "call": 1}
        for kind, value in payloads
    ]
    assert bool(losses(wire, events, "events")) is lost


def test_a_response_that_differs_from_its_stream_is_found() -> None:
    content = [
        {"kind": "text", "text": "Hell"},
        {"kind": "tool_call", "tool_call": {"name": "f", "arguments": {}}},
    ]
    response = {"message": {"content": content}}
    payloads: list[dict[str, Any]] = [
        {"type": "TEXT_DELTA", "delta": "Hello"},
        {"type": "FINISH", "response": response},
    ]
    findings = losses(made_facts(text="Hello"), payloads, "unified-llm")
    assert findings == [
        'text wrong: the payloads state it as "Hello" and as "Hell"',
        'calls wrong: the payloads state it as [] and as [["f", {}]]',
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
    wire = facts_of_body(stream_of_calls(START, STRING))
    payloads, signatures = INTERRUPTED[dialect], {"1": "QQ=="}
    assert gather(dialect, payloads, signatures).open_call
    assert losses(wire, payloads, dialect, signatures=signatures, interrupted=True) == []


@pytest.mark.parametrize(
    "raw",
    [
        {"executableCode": {}, "thoughtSignature": "QQ=="},
        {"hologram": 1, "thoughtSignature": "QQ=="},
    ],
)
def test_a_part_without_a_payload_of_its_own_is_read_as_wire(
    raw: dict[str, Any],
) -> None:
    wire = facts_of_body(stream_of_calls(json.dumps(raw)))
    passed_on = [{"type": "PROVIDER_EVENT", "raw": raw}]
    assert losses(wire, passed_on, "unified-llm") == []
    assert losses(wire, [], "unified-llm")


def test_findings_can_be_printed_anywhere() -> None:
    (finding,) = losses(made_facts(text="\x1b[2J\x9b1m\ud800\u202eé"), [], "events")
    assert (
        finding
        == 'text lost: at character 0 the wire has "\\u001b[2J\\u009b1m\\ud800\\u202eé", the adapter ""'
    )
