"""The classes of finish reasons: the words of a documented table, in every spelling."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.facts import Entry, Finish, Text, Transcript, finish_class
from harness.facts.finish import FINISH_WORDS, FinishClass, ends_in_call, names_reason
from tests.support.wire_answers import answer, frame, red

PAGE = Path(__file__).parents[2] / "docs/what-is-judged.md"


def test_the_page_has_the_table_of_words() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Words of a finish reason\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|$", section.partition("\n## ")[0], re.MULTILINE)
    words = {kind: {*re.findall("`(\\w+)`", row)} for kind, row in rows}
    assert words == {kind: {word.lower() for word in known} for kind, known in FINISH_WORDS.items()}


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        *[("STOP", "stop"), ("stop", "stop"), ("FinishReason.STOP", "stop"), (" Stop ", "stop")],
        *[("endTurn", "stop"), ("end-turn", "stop"), ("END_TURN", "stop"), ("EndTurn", "stop")],
        *[("stopSequence", "stop"), ("toolCalls", "stop"), ("function_calls", "stop")],
        *[("maxTokens", "length"), ("max tokens", "length"), ("MaxTokens", "length")],
        *[("truncated", "length"), ("token_limit", "length"), ("tokenLimit", "length")],
        ("model_context_window_exceeded", "length"),
        *[("contentFilter", "filter"), ("content-filter", "filter"), ("contentFiltered", "filter")],
        *[("guardrail_intervened", "filter"), ("blocked", "filter"), ("Blocked", "filter")],
        ("content_filter: SAFETY", "filter"),
        ("ContentFilter: a. b", "filter"),
        *[("BRAND_NEW", "other"), ("maxTurns", "other"), ("stopped by the user", "other")],
        *[("unblocked", "other"), ("error", "other"), ("MAXTOKENS", "other")],
        *[("", None), (None, None), ("none", None), ("FinishReason.None", None)],
    ],
)
def test_a_word_has_its_class_in_every_spelling(word: str | None, kind: FinishClass | None) -> None:
    assert finish_class(word) == kind


@pytest.mark.parametrize(
    ("word", "expected"),
    [("toolCalls", True), ("function_calls", True), ("ToolUse", True), ("endTurn", False)],
)
def test_a_word_says_that_a_call_is_waiting(word: str, expected: bool) -> None:
    assert ends_in_call(word) is expected


@pytest.mark.parametrize(
    ("reason", "finish", "expected"),
    [
        ("SAFETY", Finish("guarded", "filter"), {}),
        ("SAFETY", Finish(None, "filter"), {}),
        ("SAFETY", Finish("guarded"), {"finish": "wrong"}),
        ("SAFETY", Finish("guarded", "length"), {"finish": "wrong"}),
        ("SAFETY", Finish("blocked", "stop"), {"finish": "lost"}),
        ("STOP", Finish("guarded", "filter"), {"finish": "wrong"}),
        ("MAX_TOKENS", Finish("halted", "length"), {}),
        ("STOP", Finish("halted", "stop"), {}),
    ],
)
def test_an_adapter_states_the_class_of_its_word(
    reason: str, finish: Finish, expected: dict[str, str]
) -> None:
    wire = answer(frame({"text": "a"}, finishReason=reason))
    assert red(wire, Transcript((Entry(None, (Text("a"), finish)),))) == expected


@pytest.mark.parametrize(
    ("text", "reason", "expected"),
    [
        ("Response was terminated early: MAX_TOKENS", "MAX_TOKENS", True),
        ("stopped by max tokens", "MAX_TOKENS", True),
        ("maxTokens was reached", "MAX_TOKENS", True),
        ("by the content filter", "content_filter", True),
        ("by the content filter", "content_filter: PROHIBITED_CONTENT", True),
        ("prohibited-content", "content_filter: PROHIBITED_CONTENT", True),
        ("Malformed function call", "function_call_filter: MALFORMED_FUNCTION_CALL", True),
        ("blocked: safety", "SAFETY", True),
        ("SAFETYNET", "SAFETY", False),
        ("max_tokens_2", "MAX_TOKENS", True),
        ("climax tokens", "MAX_TOKENS", False),
        ("the reason is OTHER", "OTHER", True),
        ("some other error", "OTHER", False),
        ("Other", "OTHER", False),
        ("unsupported language", "LANGUAGE", False),
        ("LANGUAGE", "LANGUAGE", True),
        ("an error", "error", False),
        ("the interaction is failed", "failed", True),
        ("Failed to parse", "failed", False),
        ("oops", "-", False),
        ("-", "-", False),
    ],
)
def test_a_text_names_a_reason(text: str, reason: str, expected: bool) -> None:
    assert names_reason(text, reason) is expected
