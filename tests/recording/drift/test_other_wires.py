"""Drift of Anthropic's Messages API and of OpenAI's Responses API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Exchange
from harness.recording.drift import compare_cassettes
from tests.server.socket_client import tape

CASSETTES = Path(__file__).parents[3] / "cassettes"
CALLS = load(CASSETTES / "anthropic" / "calls.yaml").exchanges[1]
THOUGHTS = load(CASSETTES / "anthropic" / "thinking.yaml").exchanges[0]
ITEMS = load(CASSETTES / "openai" / "responses-calls.yaml").exchanges[1]
REASONING = load(CASSETTES / "openai" / "responses-reasoning.yaml").exchanges[1]


def drifts(recorded: Exchange, old: bytes, new: bytes) -> list[tuple[str, str, str]]:
    assert old in recorded.body
    changed = replace(recorded, reads=((None, recorded.body.replace(old, new)),))
    compared = compare_cassettes(tape(recorded), tape(changed))
    return [(drift.severity, drift.path, drift.feature) for drift in compared]


@pytest.mark.parametrize(
    ("exchange", "old", "new"),
    [
        (CALLS, b"Both.", b"Two of them."),
        (CALLS, b"toolu_02", b"toolu_09"),
        (CALLS, b"Bergen", b"Bodo"),
        (CALLS, b'"output_tokens":71', b'"output_tokens":7'),
        (THOUGHTS, b"c2lnLTAx", b"c2lnLTk5"),
        (ITEMS, b"call_b", b"call_z"),
        (ITEMS, b"Rome", b"Bodo"),
        (ITEMS, b'"output_tokens":5', b'"output_tokens":7'),
        (REASONING, b"I check.", b"I look again."),
        (REASONING, b"gAAAAABo1ReasoningOne", b"gAAAAABo9ReasoningNine"),
    ],
)
def test_another_content_is_no_drift(exchange: Exchange, old: bytes, new: bytes) -> None:
    assert drifts(exchange, old, new) == []


@pytest.mark.parametrize(
    ("exchange", "old", "new", "found"),
    [
        (
            CALLS,
            b'"partial_json"',
            b'"json"',
            ("breaking", "delta.partial_json", "anthropic.input"),
        ),
        (
            CALLS,
            b'"content_block":{"type":"text"',
            b'"content_block":{"kind":"prose","type":"text"',
            ("notable", "content_block.kind", "anthropic.blocks"),
        ),
        (
            CALLS,
            b'"stop_reason":"tool_use"',
            b'"stop_reason":"end_turn"',
            ("notable", "delta.stop_reason", "anthropic.stop-reasons"),
        ),
        (ITEMS, b'"output_index"', b'"place"', ("breaking", "output_index", "openai.items")),
        (
            ITEMS,
            b'"call_id":',
            b'"handle":"h","call_id":',
            ("notable", "item.handle", "openai.items"),
        ),
        (
            ITEMS,
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
