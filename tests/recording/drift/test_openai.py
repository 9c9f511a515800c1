"""Drift of OpenAI's Responses API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Exchange
from harness.recording.drift import compare_cassettes
from tests.server.socket_client import tape

CASSETTES = Path(__file__).parents[3] / "cassettes" / "openai"
CALLS = load(CASSETTES / "responses-calls.yaml").exchanges[1]
REASONING = load(CASSETTES / "responses-reasoning.yaml").exchanges[1]


def drifts(recorded: Exchange, old: bytes, new: bytes) -> list[tuple[str, str, str]]:
    assert old in recorded.body
    changed = replace(recorded, reads=((None, recorded.body.replace(old, new)),))
    compared = compare_cassettes(tape(recorded), tape(changed))
    return [(drift.severity, drift.path, drift.feature) for drift in compared]


@pytest.mark.parametrize(
    ("exchange", "old", "new"),
    [
        (CALLS, b"call_b", b"call_z"),
        (CALLS, b"Rome", b"Bodo"),
        (CALLS, b'"output_tokens":5', b'"output_tokens":7'),
        (REASONING, b"I check.", b"I look again."),
        (REASONING, b"gAAAAABo1ReasoningOne", b"gAAAAABo9ReasoningNine"),
    ],
)
def test_another_content_is_no_drift(exchange: Exchange, old: bytes, new: bytes) -> None:
    assert drifts(exchange, old, new) == []


@pytest.mark.parametrize(
    ("exchange", "old", "new", "found"),
    [
        (CALLS, b'"output_index"', b'"place"', ("breaking", "output_index", "openai.items")),
        (
            CALLS,
            b'"call_id":',
            b'"handle":"h","call_id":',
            ("notable", "item.handle", "openai.items"),
        ),
        (
            CALLS,
            b'"status":"completed","error"',
            b'"status":"done","error"',
            ("breaking", "response.status", "openai.status"),
        ),
    ],
)
def test_a_changed_message_is_found(
    exchange: Exchange, old: bytes, new: bytes, found: tuple[str, str, str]
) -> None:
    assert found in drifts(exchange, old, new)
