"""Texts of spec files, and functions that read them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.specs.models import Case
from harness.specs.reader import read_spec
from harness.specs.spec_error import SpecError

KNOWN: dict[str, Any] = {
    "dialects": ["anthropic", "unified-llm"],
    "providers": ["code-assist", "gemini-api"],
    "features": ["text.streaming", "tool-calls.parallel", "tool-calls.single"],
    "losses": {"anthropic": ["grounding", "other candidates"], "unified-llm": []},
}

WHOLE = """\
# Every key there is.
harness: 1
cases:
- case: parallel-calls
  requirement: Two calls in one reply stay two calls.
  features: [tool-calls.parallel, text.streaming]
  level: should
  source: https://ai.google.dev/gemini-api/docs/function-calling
  regression_of: [vercel/ai#10660, "a-b/c.d#7"]
  cassette: gemini-api/parallel-calls
  exchange: 2
  provider: code-assist
  tool_code: false
  expect:
    frames:
    events: []
    anthropic:
    - type: message_start
      message: {$any: object}
    unified-llm: [{type: FINISH}]
  not_carried: {anthropic: [grounding]}
  kill: {anthropic: text-lost}
  known_failing:
    unified-llm: {reason: The id is lost., link: "https://example.org/1", expires: 2027-01-31}
  reviewed: no
"""

SMALL = """\
harness: 1
cases:
- case: one
  requirement: It holds.
  features: [text.streaming]
  source: https://example.org/docs
  cassette: gemini-api/one
  expect:
    anthropic: [{type: ping}]
"""


def read(text: str, **other: Any) -> list[Case]:
    return read_spec(text, "specs/x.yaml", **{**KNOWN, **other})


def problems(text: str, **other: Any) -> list[tuple[int, str]]:
    with pytest.raises(SpecError) as caught:
        read(text, **other)
    return caught.value.problems


def failure(attempt: Callable[[str], object], text: str) -> SpecError | None:
    try:
        attempt(text)
    except SpecError as error:
        return error
    return None


def edited(*edits: tuple[str, str], text: str = SMALL) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text
