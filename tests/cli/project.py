"""Files that the tests of commands use."""

from __future__ import annotations

from pathlib import Path

from harness.cassettes import Exchange, Request

URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=AIzaSyA-0123456789-0123456789-0123456"


BODY = 'data: {"candidates": [{"content": {"parts": [{"text": "é\\u001b[2J"}]},"finishReason": "STOP"}]}\r\n\r\n'.encode()


HEADERS = {"content-type": ["application/json"], "x-goog-api-key": ["hush"]}


COUNT = Exchange(
    Request("POST", URL.replace("streamGenerate", "count")),
    200,
    {},
    ((None, b'{"totalTokens": 3}'),),
)


EXCHANGE = Exchange(
    Request("POST", URL, HEADERS, b"{}"), 200, {"set-cookie": ["hush"]}, ((None, BODY),), "complete"
)


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


SPEC = """\
harness: 1
cases:
- case: a
  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  cassette: gemini-api/a
  exchange: 2
  expect: {unified-llm: []}
"""


FEATURES = """\
harness: 1
features:
- id: own.one
  title: One
  meaning: What it is.
  link: https://example.com/
"""
