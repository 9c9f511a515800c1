"""The facts of the dialects that carry part of an answer: every fault in the facts that they must
carry is found.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from harness.facts import WireFacts
from tests.support.facts import losses
from tests.support.wire_answers import facts_of_body, made_facts

Payloads = list[dict[str, Any]]

TODOS = [
    {"description": "a", "status": "pending"},
    {"description": " ", "status": "pending"},
    {"description": "b", "status": "blocked"},
    None,
]
LINES = [
    {"type": "init", "session_id": "s"},
    {"type": "message", "role": "user", "content": "prompt"},
    {"type": "message", "role": "assistant", "content": "Hel"},
    {"type": "message", "role": "assistant", "content": "lo"},
    {"type": "tool_use", "tool_name": "f", "tool_id": "1", "parameters": {"a": 1}},
    {"type": "tool_result", "tool_id": "1", "status": "success", "output": "one"},
    {
        "type": "tool_use",
        "tool_name": "write_todos",
        "tool_id": "2",
        "parameters": {"todos": TODOS},
    },
    {"type": "tool_result", "tool_id": "2", "status": "error", "error": {"message": "denied"}},
    {"type": "error", "severity": "warning", "message": "slow"},
    {
        "type": "result",
        "status": "success",
        "stats": {"input_tokens": 3, "output_tokens": 2, "cached": 1, "total_tokens": 5},
    },
]
RUN = "".join(json.dumps(line) + "\n" for line in LINES)

AGENT_EVENTS: Payloads = [
    {"type": "session.started"},
    {"type": "text", "text": "Hel", "role": "assistant"},
    {"type": "text", "text": "lo", "role": "assistant"},
    {"type": "tool.started", "toolName": "f", "toolId": "1", "input": {"a": 1}},
    {"type": "tool.completed", "toolName": "f", "toolId": "1", "output": "one"},
    {"type": "todo_list", "todoId": "2", "items": [{"text": "a", "status": "pending"}]},
    {"type": "tool.completed", "toolName": "write_todos", "toolId": "2", "error": "denied"},
    {"type": "error", "error": "slow", "code": "WARNING"},
    {"type": "turn.completed", "finishReason": "done"},
]
MIND: Payloads = [
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hel"}]}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "lo"}]}},
    {"type": "tool_code", "name": "f", "args": {"a": 1}},
    {"type": "tool_result", "name": "f", "args": {"a": 1}, "result": {"result": "one"}},
    {"type": "tool_code", "name": "write_todos", "args": {"todos": TODOS}},
    {
        "type": "tool_result",
        "name": "write_todos",
        "args": {"todos": TODOS},
        "result": {"error": "denied"},
    },
    {"type": "result", "result": "Hello"},
]
ART: Payloads = [
    {"type": "TOKEN", "tokenType": "LLM_THINKING", "data": "hm"},
    {"type": "TOKEN", "tokenType": "LLM_RESPONSE", "data": "Hello"},
    {"type": "UNKNOWN", "data": {"hologram": {"x": 1}}},
    {
        "type": "METADATA",
        "data": {
            "stopReason": "STOP",
            "inputTokens": 3,
            "providerRawUsage": {"promptTokenCount": 3, "totalTokenCount": 5},
        },
    },
    {"type": "END", "data": None},
]
PARTS = '{"text":"hm","thought":true},{"text":"Hello","thoughtSignature":"QQ=="},{"hologram":{"x":1}},{"functionCall":{"name":"f"}}'
USAGE = (
    '"usageMetadata":{"promptTokenCount":3,"totalTokenCount":5},"responseId":"r","modelVersion":"m"'
)
ANSWER = f'{{"candidates":[{{"content":{{"parts":[{PARTS}]}},"finishReason":"STOP","groundingMetadata":{{"x":1}}}}],{USAGE}}}'

FAITHFUL: Mapping[str, tuple[WireFacts, Payloads]] = {
    "agent-events": (facts_of_body(RUN.encode(), "gemini-cli"), AGENT_EVENTS),
    "art": (facts_of_body(ANSWER.encode()), ART),
    "mind": (facts_of_body(RUN.encode(), "gemini-cli"), MIND),
}


DECLARED = {
    "agent-events": {"session.started", "todo_list", "error", "turn.completed"},
    "art": {"END", "UNKNOWN"},
    "mind": {"result"},
}
"""Kinds of payloads without a fact that the event model must carry. Cases show them."""


@pytest.mark.parametrize("dialect", FAITHFUL)
def test_a_faithful_translation_loses_nothing_but_what_is_declared(dialect: str) -> None:
    wire, payloads = FAITHFUL[dialect]
    assert losses(wire, payloads, dialect, program=dialect != "art") == []


@pytest.mark.parametrize(
    ("dialect", "index"),
    [
        (dialect, index)
        for dialect, (_, payloads) in FAITHFUL.items()
        for index, payload in enumerate(payloads)
        if payload["type"] not in DECLARED[dialect]
    ],
)
def test_every_dropped_payload_with_a_fact_is_missed(dialect: str, index: int) -> None:
    wire, payloads = FAITHFUL[dialect]
    kept = [*payloads[:index], *payloads[index + 1 :]]
    assert losses(wire, kept, dialect, program=dialect != "art")


@pytest.mark.parametrize(
    ("dialect", "index", "change", "sentence"),
    [
        ("agent-events", 3, {"input": {"a": 2}}, "calls wrong: the wire calls f"),
        ("agent-events", 6, {"type": "text", "text": ""}, "results lost: the wire has 2 results"),
        ("agent-events", 4, {"error": "boom"}, "results wrong: a result failed on one side only"),
        ("agent-events", 4, {"output": "two"}, 'results wrong: a result has the text "one"'),
        ("agent-events", 8, {"finishReason": "odd"}, "finish wrong: the wire ends with success"),
        ("agent-events", 1, {"role": "system"}, "text lost"),
        ("art", 0, {"tokenType": "LLM_RESPONSE"}, "thoughts lost"),
        ("art", 1, {"data": "Hell"}, "text lost"),
        (
            "art",
            3,
            {"data": {"stopReason": "STOP", "inputTokens": 4, "providerRawUsage": {}}},
            "usage wrong: the wire has input 3",
        ),
        (
            "art",
            3,
            {"data": {"stopReason": "MAX_TOKENS", "inputTokens": 3}},
            "finish wrong: the wire ends with STOP; the adapter reports MAX_TOKENS",
        ),
        (
            "art",
            3,
            {"data": {"inputTokens": 3, "providerRawUsage": {"totalTokenCount": 5}}},
            "finish lost: the wire ends with STOP; the adapter gives no reason",
        ),
        ("mind", 6, {"result": "Hell"}, 'text wrong: the payloads state it as "Hello" and as'),
        ("mind", 3, {"result": {"error": "boom"}}, "results wrong: a result failed on one side"),
        ("mind", 2, {"args": {"a": True}}, "calls wrong: the wire calls f"),
    ],
)
def test_each_difference_has_its_sentence(
    dialect: str, index: int, change: dict[str, Any], sentence: str
) -> None:
    wire, payloads = FAITHFUL[dialect]
    changed = copy.deepcopy(payloads)
    changed[index] |= change
    findings = losses(wire, changed, dialect, program=dialect != "art")
    assert any(line.startswith(sentence) for line in findings), findings


ERROR = made_facts(text="a", errors=[(429, "quota")])
BLOCKED = facts_of_body(b'{"promptFeedback":{"blockReason":"SAFETY"}}')
ENDS: Mapping[str, tuple[str, WireFacts, bool, Payloads]] = {
    "agent-events, error": (
        "agent-events",
        ERROR,
        False,
        [
            {"type": "text", "text": "a"},
            {"type": "error", "error": "quota"},
            {"type": "turn.completed", "finishReason": "error"},
        ],
    ),
    "agent-events, cut": (
        "agent-events",
        made_facts(),
        True,
        [{"type": "error", "error": "cut"}, {"type": "turn.completed", "finishReason": "error"}],
    ),
    "art, error": (
        "art",
        ERROR,
        False,
        [
            {"type": "TOKEN", "tokenType": "LLM_RESPONSE", "data": "a"},
            {"type": "ERROR", "data": {"message": "quota", "code": 429}},
            {"type": "END", "data": None},
        ],
    ),
    "art, blocked": (
        "art",
        BLOCKED,
        False,
        [{"type": "ERROR", "data": {"message": "Gemini API call blocked: SAFETY"}}],
    ),
    "art, nothing": (
        "art",
        made_facts(),
        False,
        [{"type": "ERROR", "data": {"message": "Invalid response structure from Gemini SDK: x"}}],
    ),
    "mind, error": (
        "mind",
        ERROR,
        False,
        [
            {"type": "assistant", "message": {"content": [{"type": "text", "text": "a"}]}},
            {"type": "error", "code": "RATE_LIMIT_EXCEEDED", "message": "quota"},
        ],
    ),
    "mind, blocked": (
        "mind",
        BLOCKED,
        False,
        [{"type": "error", "code": "AGENT_ERROR", "message": "blocked: SAFETY"}],
    ),
    "mind, failed run": (
        "mind",
        facts_of_body(b'{"type": "result", "status": "cancelled"}\n', "gemini-cli"),
        False,
        [
            {
                "type": "error",
                "code": "AGENT_ERROR",
                "message": "the run ended with the status 'cancelled'",
            }
        ],
    ),
    "mind, cut": (
        "mind",
        made_facts(),
        True,
        [{"type": "error", "code": "AGENT_ERROR", "message": "cut"}],
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_every_way_to_end_is_known_and_missed(name: str) -> None:
    dialect, wire, interrupted, payloads = ENDS[name]
    program = name == "mind, failed run"
    assert losses(wire, payloads, dialect, interrupted=interrupted, program=program) == []
    errors = [payload for payload in payloads if payload["type"] in ("error", "ERROR")]
    without = [payload for payload in payloads if payload not in errors]
    if name not in ("agent-events, cut", "mind, failed run"):  # what is left does not end well
        assert losses(
            wire,
            [*without, *([] if "nothing" not in name else ART)],
            dialect,
            interrupted=interrupted,
        )


def test_an_answer_that_holds_something_is_not_called_invalid() -> None:
    invalid = [
        {"type": "ERROR", "data": {"message": "Invalid response structure from Gemini SDK: x"}}
    ]
    wire = made_facts(text="a", finish="STOP", ended_well=True)
    assert (
        "needless error raised: the adapter reports an error: Invalid"
        in losses(wire, invalid, "art")[-1]
    )


def test_text_after_a_refusal_is_no_loss_in_art() -> None:
    text = b'data: {"candidates":[{"content":{"parts":[{"text":"late"}]}}]}\n\n'
    wire = facts_of_body(b'data: {"promptFeedback":{"blockReason":"SAFETY"}}\n\n' + text)
    assert (
        losses(
            wire,
            [{"type": "ERROR", "data": {"message": "Gemini API call blocked: SAFETY"}}],
            "art",
        )
        == []
    )


def test_a_leaked_to_do_list_is_a_list_or_text() -> None:
    block = '<tool_code>{"todos": [{"content": "x", "status": "pending"}]}</tool_code>'
    body = json.dumps(
        {"candidates": [{"content": {"parts": [{"text": f"a{block}b"}]}, "finishReason": "STOP"}]}
    ).encode()
    wire = facts_of_body(body, tool_code=True)
    end = {"type": "turn.completed", "finishReason": "done"}
    items = [{"text": "x", "status": "pending"}]
    payloads: Payloads = [
        {"type": "text", "text": "a"},
        {"type": "todo_list", "items": items},
        {"type": "text", "text": "b"},
        end,
    ]
    assert losses(wire, payloads, "agent-events") == []
    assert (
        losses(
            wire,
            [{"type": "text", "text": f"a{block}b"}, end],
            "agent-events",
        )
        == []
    )


def test_a_line_that_is_not_json_is_an_error() -> None:
    noise = {"type": "error", "error": "Failed to parse: {oops", "code": "JSONL_PARSE_ERROR"}
    wire, end = facts_of_body((RUN + "{oops\n").encode(), "gemini-cli"), AGENT_EVENTS[-1]
    payloads = [*AGENT_EVENTS[:-1], noise, end]
    assert losses(wire, payloads, "agent-events", program=True) == []
    (lost,) = losses(wire, [*payloads[:1], *payloads[2:]], "agent-events", program=True)
    assert lost.startswith("text lost")


def test_the_rest_of_the_output_is_text_without_a_role() -> None:
    wire = facts_of_body((RUN + "trailing").encode(), "gemini-cli")
    rest = {"type": "text", "text": "trailing"}
    before, end = AGENT_EVENTS[:-1], AGENT_EVENTS[-1]
    assert losses(wire, [*before, rest, end], "agent-events", program=True) == []
    other = {"type": "text", "text": "training"}
    assert losses(wire, [*before, other, end], "agent-events", program=True)
