"""Small inputs that the tests of this folder share."""

from __future__ import annotations

import re

from harness.cassettes import Exchange, Request
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS, with_provider
from harness.specs.models import Case
from harness.specs.reader import read_spec

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
TEXT = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}\n\n'
)


def exchange(body: bytes, **headers: str) -> Exchange:
    named = {name.replace("_", "-"): [value] for name, value in headers.items()}
    return with_provider(
        Exchange(Request("POST", URL, {}, b"{}"), 200, named, ((None, body),), "complete")
    )


def spec(text: str) -> list[Case]:
    return read_spec(
        text,
        "s.yaml",
        dialects=DIALECTS,
        providers=PROVIDERS,
        features={"text.streaming"},
        losses={},
    )


SPEC = """\
harness: 1
cases:
- case: hello
  requirement: The text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  expect:
    mind: {$contains: [{type: result}]}
"""

COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
