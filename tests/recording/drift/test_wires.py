"""Drift of the Interactions API and of the OpenAI-compatible endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cassettes import Exchange
from harness.providers import with_provider
from harness.recording.drift import compare_cassettes
from tests.server.socket_client import tape
from tests.server.wires import (
    CALL_STEP,
    CHAT,
    CHAT_DONE,
    INTERACTIONS,
    THOUGHT_STEP,
    chat_call,
    chunk,
    exchange,
    interaction_stream,
    step,
    text_step,
)

STREAM = interaction_stream(THOUGHT_STEP, CALL_STEP, status="requires_action")
CHATS = (
    chunk({"content": "Hi"}),
    chunk({"tool_calls": [chat_call()]}),
    chunk({}, finish_reason="stop"),
    CHAT_DONE,
)
WHOLE = b'{"id":"v1_a","object":"interaction","status":"completed","steps":[{"type":"model_output","content":[{"type":"text","text":"Hi"}]}]}'

Found = list[tuple[str, str, str]]


def drifts(path: str, old: tuple[bytes, ...], new: tuple[bytes, ...]) -> Found:
    cassettes = [tape(answer(path, reads)) for reads in (old, new)]
    compared = compare_cassettes(*cassettes)
    return [(drift.severity, drift.path, drift.feature) for drift in compared]


def answer(path: str, reads: tuple[bytes, ...]) -> Exchange:
    return with_provider(exchange(path, {"model": "m", "stream": len(reads) > 1}, *reads))


def altered(reads: tuple[bytes, ...], old: bytes, new: bytes) -> tuple[bytes, ...]:
    assert any(old in read for read in reads)
    return tuple(read.replace(old, new) for read in reads)


OTHER_CALL = step(
    1,
    {"type": "function_call", "id": "another1", "name": "look", "arguments": {"a": 1}},
    {"type": "arguments_delta", "arguments": '{"b": [{"c": 2}]}'},
)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (INTERACTIONS, STREAM, altered(STREAM, b"U0lH", b"T1RIRVI=")),
        (INTERACTIONS, STREAM, altered(STREAM, b'"total_tokens":9', b'"total_tokens":90')),
        (INTERACTIONS, STREAM, (*STREAM[:2], OTHER_CALL, *STREAM[3:])),
        (
            INTERACTIONS,
            interaction_stream(text_step(0, "One", "two")),
            interaction_stream(text_step(0, "Three"), name="v1_b"),
        ),
        (INTERACTIONS, (WHOLE,), altered((WHOLE,), b'"Hi"', b'"Ho"')),
        (CHAT, CHATS, altered(CHATS, b"call_297140", b"function-call-7")),
        (CHAT, CHATS, altered(CHATS, b'{\\"city\\":\\"Oslo\\"}', b'{\\"town\\":[1]}')),
    ],
)
def test_text_ids_counts_and_arguments_are_no_drift(
    path: str, old: tuple[bytes, ...], new: tuple[bytes, ...]
) -> None:
    assert drifts(path, old, new) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (
            altered(STREAM, b'"status":"requires_action"', b'"status":"incomplete"'),
            [("breaking", "finish reason", "finish.length")],
        ),
        (
            altered(STREAM, b"step.stop", b"step.end"),
            [("breaking", "event_type", "interactions.steps")],
        ),
        (
            altered(STREAM, b"thought_signature", b"signature_delta"),
            [("breaking", "delta.type", "interactions.steps")],
        ),
        (
            altered(STREAM, b'"signature":"U0lH"', b'"seal":"U0lH"'),
            [
                ("breaking", "delta.signature", "interactions.steps"),
                ("notable", "delta.seal", "interactions.steps"),
            ],
        ),
        (
            interaction_stream(CALL_STEP, THOUGHT_STEP, status="requires_action"),
            [("notable", "order of parts", "tool-calls.parallel")],
        ),
        (
            altered(STREAM, b'"usage":{"total_tokens":9}', b'"usage":{"total_tokens":"9"}'),
            [("breaking", "interaction.usage.total_tokens", "usage.totals")],
        ),
        (
            altered(STREAM, b'"object":"interaction"', b'"object":"interaction","tier":"x"'),
            [("notable", "interaction.tier", "unknown.fields")],
        ),
    ],
)
def test_a_changed_interaction_is_found(new: tuple[bytes, ...], expected: Found) -> None:
    assert drifts(INTERACTIONS, STREAM, new) == expected


CHAT_CHANGES: list[tuple[Any, Found]] = [
    (
        altered(CHATS, b'"finish_reason":"stop"', b'"finish_reason":"tool_calls"'),
        [("breaking", "finish reason", "finish.stop")],
    ),
    (
        altered(CHATS, b'"type":"function"', b'"type":"function","index":0'),
        [("notable", "choices[].delta.tool_calls[].index", "compat.calls")],
    ),
    (
        altered(CHATS, b'"google"', b'"vertex"'),
        [
            (
                "breaking",
                "choices[].delta.tool_calls[].extra_content.google",
                "compat.extra-content",
            ),
            (
                "notable",
                "choices[].delta.tool_calls[].extra_content.vertex",
                "compat.extra-content",
            ),
        ],
    ),
    (
        (CHATS[1], CHATS[0], *CHATS[2:]),
        [("notable", "order of parts", "tool-calls.parallel")],
    ),
]


@pytest.mark.parametrize(("new", "expected"), CHAT_CHANGES)
def test_a_changed_chat_completion_is_found(new: tuple[bytes, ...], expected: Found) -> None:
    assert drifts(CHAT, CHATS, new) == expected
