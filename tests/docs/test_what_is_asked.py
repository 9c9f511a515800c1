"""The examples of the page are run: each verdict, word and sentence is as the page says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.facts import Finding
from harness.judging.questions.comparison import Comparison, SentPrompt
from harness.judging.questions.prompt_comparison import compare_prompts
from harness.judging.questions.question import read_question
from harness.providers import PROVIDERS
from tests.docs.test_pages import blocks

PAGE = Path(__file__).parents[2] / "docs" / "what-is-asked.md"
EXAMPLES = [
    yaml.safe_load(block["body"])
    for block in blocks(PAGE)
    if block["language"] == "yaml" and not block["file"]
]
READ = ("system", "messages", "tools", "choice", "output", "settings", "thinking", "google")
TEXT = {"contents": [{"role": "user", "parts": [{"text": "USER-z1"}]}]}


def compared(example: dict[str, Any], sent: dict[str, Any]) -> list[Finding]:
    """Return the findings of an example for what is sent."""
    if "schema" in example:
        tool = {"name": "tool_z1", "schema": example["schema"]}
        ask: dict[str, Any] = {"tools": [tool]}
        sent = {"tools": [{"functionDeclarations": [{"name": "tool_z1", "parameters": sent}]}]}
    else:
        ask = example["ask"]
        if ask.get("tools"):
            sent = {**sent, "tools": [{"functionDeclarations": ask["tools"]}]}
    ask = {"messages": [{"user": ["USER-z1"]}], **ask}
    question = read_question({"question": "example", "asks": "An example.", "ask": ask})
    provider = PROVIDERS["gemini-api"]
    body = {**TEXT, **sent}
    sent_prompt = SentPrompt(provider.prompt_of(body), body, json_schema=provider.json_schema)
    return compare_prompts(Comparison(question, question.prompt, sent_prompt, READ))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example)[:40])
def test_each_example_has_its_verdicts(example: dict[str, Any]) -> None:
    assert [finding.sentence for finding in compared(example, example["kept"]) if finding.red] == []
    (verdict,) = {"lost", "wrong"} & {*example}
    reds = [each for each in compared(example, example[verdict]) if each.verdict == verdict]
    assert example.get("word") in (None, *(finding.word for finding in reds))
    assert example.get("sentence") in (None, *(finding.sentence for finding in reds))
    assert reds
