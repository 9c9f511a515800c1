"""SSE text that begins like a Gemini answer is loaded without trying every format, with the same
result.
"""

from __future__ import annotations

import pytest

from harness.cassettes import importers
from harness.cassettes.load import load, read_recording
from harness.stream.exchange import CassetteError
from tests.cassettes.test_shipped_wire import CASSETTES

EVENT = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}\n\n'


def shipped() -> list[bytes]:
    bodies = (
        exchange.body for path in CASSETTES.rglob("*.yaml") for exchange in load(path).exchanges
    )
    return [body for body in bodies if body.startswith((b'data: {"cand', b'data: {"resp'))]


@pytest.mark.slow
def test_shipped_bodies_are_the_same_by_both_ways() -> None:
    bodies = shipped()
    assert len(bodies) > 200
    for body in bodies:
        assert importers.read_events(body, "x") == importers.read(body, "x")


@pytest.mark.parametrize(
    "body",
    [
        EVENT + b"\xff\n",
        EVENT[:-9],
        EVENT + b": a comment\r\rdata: [DONE]\n\n",
        EVENT.replace(b"Hi", b'{\\"type\\":\\"message\\",\\"timestamp\\":\\"2026-11-21\\"}'),
        b'data: {"response": {"candidates": []}}\n\n' * 100,
    ],
)
def test_unusual_bodies_are_the_same_by_both_ways(body: bytes) -> None:
    assert importers.read_events(body, "x") == importers.read(body, "x")


def test_a_body_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "MAX_BYTES", 10)
    with pytest.raises(CassetteError, match="x: the file has 66 bytes; the limit is 10"):
        read_recording(EVENT, "x")
