"""Drift of Anthropic's Messages API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Exchange
from harness.recording.drift import compare_cassettes
from tests.server.socket_client import tape

CASSETTES = Path(__file__).parents[3] / "cassettes" / "anthropic"
CALLS = load(CASSETTES / "calls.yaml").exchanges[1]
THOUGHTS = load(CASSETTES / "thinking.yaml").exchanges[0]


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
    ],
)
def test_a_changed_message_is_found(
    exchange: Exchange, old: bytes, new: bytes, found: tuple[str, str, str]
) -> None:
    assert found in drifts(exchange, old, new)
