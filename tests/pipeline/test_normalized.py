"""One normalized exchange serves every dialect; the payloads equal those of a separate replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins

from harness.cassettes.load import load
from harness.dialects import DIALECTS
from harness.judging.judge import NormalizedOnce
from harness.pipeline.replay import Normalized, is_answer, plain_frame, replay
from harness.stream.session import Session

CASSETTES = Path(__file__).parents[2] / "cassettes"


def layers(normalized: Normalized) -> tuple[object, object]:
    """Frames and events as plain JSON data."""
    trace = normalized.trace
    return [plain_frame(frame) for frame in trace.frames], to_builtins(trace.events)


@pytest.mark.slow
def test_dialects_can_share_frames_and_events() -> None:
    compared = 0
    for path in sorted(CASSETTES.rglob("*.yaml")):
        for exchange in load(path).exchanges:
            if exchange.provider is None or not is_answer(exchange, None):
                continue
            shared = Normalized(exchange, None, None)
            before = layers(shared)
            for name, dialect in DIALECTS.items():
                payloads = shared.translate(dialect, Session()).payloads
                assert payloads == replay(exchange, dialect=name), (path, name)
                compared += 1
            assert layers(shared) == before, path
            assert before[0] == replay(exchange, layer="frames")
            assert before[1] == replay(exchange, layer="events")
    assert compared > 1000


def test_another_provider_or_option_normalizes_an_exchange_again() -> None:
    first, second = (load(CASSETTES / "gemini-api/art-sdk.yaml").exchanges[0] for _ in "ab")
    normalize = NormalizedOnce()
    kept = normalize(first, None, None)
    assert normalize(first, None, None) is kept
    for others in ((second, None, None), (first, "vertex-ai", None), (first, None, True)):
        assert normalize(first, None, None) is not normalize(*others)
