"""The decoder of usual messages and the reader of all messages give the same events."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness import load, replay
from harness.providers.gemini import normalizer
from harness.providers.gemini.usual import read_usual

CASSETTES = Path(__file__).parents[3] / "cassettes"
FOLDERS = sorted(path.name for path in CASSETTES.iterdir() if path.is_dir())


def events(folder: str) -> Iterator[list[dict[str, Any]]]:
    for path in sorted((CASSETTES / folder).rglob("*.yaml")):
        for exchange in load(path).exchanges:
            if exchange.generates:
                provider = exchange.provider or "gemini-api"
                yield replay(exchange, provider=provider, layer="events")


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recording_reads_the_same(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = list(events(folder))
    monkeypatch.setattr(normalizer, "read_usual", lambda message: (None, ()))
    assert list(events(folder)) == usual


@pytest.mark.parametrize(
    "message",
    [
        {"candidates": [{"content": {"parts": []}, "finish_reason": "STOP"}]},
        {"candidates": [{"content": {"parts": []}, "index": 1}]},
        {"candidates": [{"content": {"parts": []}, "index": False}]},
        {"candidates": [{"content": {"parts": [], "role": "user"}}]},
        {"candidates": [{"content": {"parts": []}}, {"content": {"parts": []}}]},
        {"candidates": [{"finishReason": "STOP"}]},
        {"modelVersion": 3},
        {"promptFeedback": {}},
        {"response": {"candidates": []}, "consumedCredits": []},
        {"response": "text"},
    ],
)
def test_an_unusual_message_is_left_to_the_reader(message: dict[str, Any]) -> None:
    assert read_usual(message) == (None, ())
