"""Specs and helpers for the tests of `harness record`."""

from __future__ import annotations

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice

SPEC = """\
harness: 1
cases:
- case: two-turns
  requirement: The user's next text follows the answer.
  features: [requests.calls]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/two-turns
  turns:
  - prompt:
      unified-llm: {model: m, messages: [{role: user, content: [{kind: text, text: Hi}]}]}
  - say: And in German?
  expect:
    unified-llm: recorded
"""
