"""Exchanges and requests of the Interactions API and of the OpenAI-compatible endpoint."""

from __future__ import annotations

import json
from typing import Any

from harness.cassettes import Exchange, Request
from tests.server.socket_client import JSON, SSE

MODEL = "gemini-3.8-flash"
HOST = "https://generativelanguage.googleapis.com"
INTERACTIONS = "/v1beta/interactions"
CHAT = "/v1beta/openai/chat/completions"
SIGNATURE = "U0lH"


def exchange(
    path: str,
    sent: Any,
    *reads: bytes,
    status: int = 200,
    method: str = "POST",
    end: Any = "complete",
) -> Exchange:
    """An exchange with this request; a body that begins like SSE is streamed."""
    streamed = bool(reads) and reads[0][:1] in (b"e", b"d")
    body = b"" if sent is None else json.dumps(sent).encode()
    return Exchange(
        Request(method, HOST + path, {}, body),
        status,
        SSE if streamed else JSON,
        tuple((10.0 * number, data) for number, data in enumerate(reads, 1)),
        end,
    )


def interaction_event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({**fields, "event_type": kind}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


DONE = b"event: done\ndata: [DONE]\n\n"


def interaction_stream(
    *events: bytes, status: str = "completed", name: str = "v1_a"
) -> tuple[bytes, ...]:
    """The reads of a stream with these events between its beginning and its end."""
    whole = {"id": name, "object": "interaction", "model": MODEL}
    return (
        interaction_event("interaction.created", interaction={**whole, "status": "in_progress"}),
        *events,
        interaction_event(
            "interaction.completed",
            interaction={**whole, "status": status, "usage": {"total_tokens": 9}},
        ),
        DONE,
    )


def step(index: int, start: dict[str, Any], *deltas: dict[str, Any], ids: bool = False) -> bytes:
    """The events of one step in one read; with ``ids`` each event has an ``event_id``."""
    named = [
        ("step.start", {"step": start}),
        *(("step.delta", {"delta": delta}) for delta in deltas),
        ("step.stop", {}),
    ]
    return b"".join(
        interaction_event(
            kind, index=index, **fields, **({"event_id": f"e{index}.{place}"} if ids else {})
        )
        for place, (kind, fields) in enumerate(named)
    )


THOUGHT_STEP = step(0, {"type": "thought"}, {"type": "thought_signature", "signature": SIGNATURE})
CALL_STEP = step(
    1,
    {"type": "function_call", "id": "61nzpsv4", "name": "get_weather", "arguments": {}},
    {"type": "arguments_delta", "arguments": '{"city":'},
    {"type": "arguments_delta", "arguments": '"Oslo"}'},
)


def text_step(index: int, *texts: str, ids: bool = False) -> bytes:
    deltas = ({"type": "text", "text": text} for text in texts)
    return step(index, {"type": "model_output"}, *deltas, ids=ids)


CALLING = interaction_stream(THOUGHT_STEP, CALL_STEP, status="requires_action")


def chunk(delta: dict[str, Any], **choice: Any) -> bytes:
    message = {
        "choices": [{"delta": {"role": "assistant", **delta}, **choice, "index": 0}],
        "created": 1790000000,
        "id": "r",
        "model": MODEL,
        "object": "chat.completion.chunk",
    }
    return b"data: " + json.dumps(message, separators=(",", ":")).encode() + b"\n\n"


def chat_call(signature: str | None = SIGNATURE, **more: Any) -> dict[str, Any]:
    signed = {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}
    function = {"arguments": '{"city":"Oslo"}', "name": "get_weather"}
    return {**signed, "function": function, "id": "call_297140", "type": "function", **more}


CHAT_DONE = b"data: [DONE]\n\n"
CHAT_CALLING = (chunk({"tool_calls": [chat_call()]}), chunk({}, finish_reason="stop"), CHAT_DONE)
