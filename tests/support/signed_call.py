"""A small answer with text, a signed call and counts, in two reads."""

from __future__ import annotations

from harness.cassettes import Exchange, Request

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
ANSWER = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}],"modelVersion": "gemini-x"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "lo"}],"role": "model"},"index": 0}]}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"a": 1}},"thoughtSignature": "QQ=="}]},'
    b'"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2}}\r\n\r\n'
)
EXCHANGE = Exchange(
    Request("POST", URL),
    200,
    {},
    ((1.0, ANSWER[:50]), (9.0, ANSWER[50:])),
    "complete",
    "",
    "gemini-api",
    True,
)
