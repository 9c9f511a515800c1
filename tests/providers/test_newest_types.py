"""What only the newest types of OpenAI's and Anthropic's SDKs have is read as events, and the
oracle reads the same.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import Exchange, replay
from harness.adapters import EVENTS, RunOptions
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading

Message = dict[str, Any]
OF_RESPONSE = {"id": "resp_a", "object": "response", "model": "m", "output": []}
CREATED: Message = {
    "type": "response.created",
    "response": {**OF_RESPONSE, "status": "in_progress"},
}
COMPLETED: Message = {
    "type": "response.completed",
    "response": {**OF_RESPONSE, "status": "completed"},
}
SHELL: Message = {"type": "shell_call_output", "id": "sh_1", "call_id": "c1", "output": []}
SHELL_PIECE: Message = {
    "type": "response.shell_call_output_content.delta",
    "output_index": 0,
    "item_id": "sh_1",
    "command_index": 0,
    "delta": {"stdout": "hello there", "stderr": "no file"},
}
REASONING: Message = {"type": "reasoning", "id": "rs_1", "summary": []}
SUMMARY: Message = {"type": "summary_text", "text": "Hm"}
AT_SUMMARY: Message = {"output_index": 0, "item_id": "rs_1", "summary_index": 0}


def added(item: Message) -> Message:
    return {"type": "response.output_item.added", "output_index": 0, "item": item}


def done(item: Message) -> Message:
    return {"type": "response.output_item.done", "output_index": 0, "item": item}


def output_of(kind: str) -> Message:
    return {"type": kind, "id": "o_1", "call_id": "c1", "output": "the result", "name": "f"}


def chat(**fields: Any) -> Message:
    return {"id": "chatcmpl-a", "object": "chat.completion.chunk", "choices": [], **fields}


MODERATION: Message = {"output": {"type": "error", "code": "c", "message": "m"}}
LISTING: Message = {
    "type": "mcp_tool_listing",
    "mcp_server_name": "srv",
    "tools": [{"name": "f", "description": "It does a thing.", "input_schema": {}}],
}


def block(content: Message, *deltas: Message) -> list[Message]:
    message = {"id": "msg_a", "type": "message", "role": "assistant", "model": "m", "content": []}
    return [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": content},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


READ: dict[str, tuple[str, list[Message], Message]] = {
    "moderation of Chat Completions": (
        "openai",
        [
            chat(moderation=MODERATION),
            chat(choices=[{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]),
        ],
        {"kind": "metadata", "name": "envelope", "raw": {"moderation": MODERATION}},
    ),
    "output of a shell that is cut": (
        "openai",
        [CREATED, added(SHELL), SHELL_PIECE, COMPLETED],
        {
            "kind": "server_result",
            "raw": {**SHELL, "stdout": "hello there", "stderr": "no file"},
            "id": "c1",
            "name": "shell_call_output",
        },
    ),
    **{
        kind: (
            "openai",
            [CREATED, done(output_of(kind)), COMPLETED],
            {"kind": "server_result", "raw": output_of(kind), "id": "c1", "name": "f"},
        )
        for kind in ("function_call_output", "custom_tool_call_output")
    },
    "status of a part of a summary": (
        "openai",
        [
            *(CREATED, added(REASONING)),
            {"type": "response.reasoning_summary_text.delta", **AT_SUMMARY, "delta": "Hm"},
            {
                "type": "response.reasoning_summary_part.done",
                **AT_SUMMARY,
                "part": SUMMARY,
                "status": "incomplete",
            },
            *(done({**REASONING, "summary": [SUMMARY]}), COMPLETED),
        ],
        {"kind": "annotation", "name": "part", "raw": {"status": "incomplete"}},
    ),
    "transcript of sound": (
        "openai",
        [CREATED, {"type": "response.audio.transcript.delta", "delta": "Hi"}, COMPLETED],
        {"kind": "annotation", "name": "part", "raw": {"transcript": "Hi"}},
    ),
    "tools of an MCP server": (
        "anthropic",
        block(LISTING),
        {"kind": "server_result", "raw": LISTING, "name": "mcp_tool_listing"},
    ),
    "estimated tokens of a thought": (
        "anthropic",
        block(
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Hm", "estimated_tokens": 3},
        ),
        {"kind": "annotation", "name": "part", "raw": {"estimated_tokens": 3}},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_new_value_is_an_event_and_no_unknown_one(name: str) -> None:
    provider, messages, expected = READ[name]
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    exchange = Exchange(None, 200, {}, ((None, body),), provider=provider, generates=True)

    events = replay(exchange, layer="events", provider=provider)
    judged = judge_exchange(Reading(exchange, RunOptions(provider=provider)), EVENTS)

    assert expected in [
        {key: value for key, value in event.items() if key in expected} for event in events
    ]
    assert not [event for event in events if event["kind"] == "unknown"]
    assert judged.red == []
