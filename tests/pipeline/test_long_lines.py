"""Messages in one line that is longer than the buffers of common readers: 64 KB, 128 KB and more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.dialects import DIALECTS
from harness.pipeline.replay import replay
from harness.stream.exchange import Exchange

SIZES = [1 << 16, 1 << 17, 1 << 20, pytest.param(1 << 24, marks=pytest.mark.slow)]
READ = 1 << 14


def stream(text: str) -> Exchange:
    """An answer of one message, in reads of 16 KB."""
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
    body = b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\r\n\r\n"
    reads = tuple((5.0, body[at : at + READ]) for at in range(0, len(body), READ))
    return Exchange(None, 200, {}, reads, "complete")


def texts(value: Any, size: int) -> list[str]:
    """The strings of ``size`` characters anywhere in a payload."""
    match value:
        case str():
            return [value] if len(value) == size else []
        case dict():
            return [text for item in value.values() for text in texts(item, size)]
        case list():
            return [text for item in value for text in texts(item, size)]
        case _:
            return []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_of_any_size_is_whole(dialect: str, size: int) -> None:
    text = ("kelp grows " * (size // 11 + 1))[:size]
    payloads = replay(stream(text), provider="gemini-api", dialect=dialect)
    long_texts = texts(payloads[:-1], size)
    assert long_texts
    assert set(long_texts) == {text}
