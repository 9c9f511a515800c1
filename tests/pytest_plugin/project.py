"""A project for the tests of the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)


HELLO = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}],"modelVersion": "gemini-x"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "lo"}],"role": "model"},"finishReason": "STOP","index": 0}]}\r\n\r\n'
)


CASE = """\
harness: 1
cases:
- case: hello
  requirement: Text comes in pieces.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  expect:
    unified-llm: {$contains: [{type: TEXT_DELTA, delta: Hel, text_id: text_1}]}
    anthropic: {$contains: [{type: message_stop}]}
"""


def write(pytester: pytest.Pytester, name: str, text: str) -> Path:
    path = pytester.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "-W", "default", *arguments
    )


SHOP = "[pytest]\nharness_adapters =\n    turn = shop:replay\n    turn2 = shop:replay\n"
