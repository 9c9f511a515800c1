"""The reader of spec files, including hostile text."""

from __future__ import annotations

import json
from datetime import date
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.specs.models import Case
from harness.specs.reader import is_features, is_spec, read_features

from .spec_files import SMALL, WHOLE, edited, failure, read


def test_every_key_is_read() -> None:
    [case] = read(WHOLE)
    assert case.case == "parallel-calls"
    assert case.requirement == "Two calls in one reply stay two calls."
    assert case.features == ("tool-calls.parallel", "text.streaming")
    assert (case.level, case.exchange, case.provider, case.tool_code, case.reviewed) == (
        "should",
        2,
        "code-assist",
        False,
        "no",
    )
    assert case.source == "https://ai.google.dev/gemini-api/docs/function-calling"
    assert case.regression_of == ("vercel/ai#10660", "a-b/c.d#7")
    assert case.cassette == "gemini-api/parallel-calls"
    assert case.expect == {
        "frames": None,
        "events": [],
        "anthropic": [{"type": "message_start", "message": {"$any": "object"}}],
        "unified-llm": [{"type": "FINISH"}],
    }
    assert case.not_carried == {"anthropic": ("grounding",)}
    assert case.kill == {"anthropic": "text-lost"}
    mark = case.known_failing["unified-llm"]
    assert (mark.reason, mark.link, mark.expires) == (
        "The id is lost.",
        "https://example.org/1",
        date(2027, 1, 31),
    )


def test_missing_keys_have_defaults() -> None:
    [case] = read(SMALL)
    assert (case.level, case.exchange, case.provider, case.tool_code, case.reviewed) == (
        "must",
        1,
        None,
        None,
        None,
    )
    assert case.regression_of == ()
    assert case.not_carried == {}
    assert case.known_failing == {}


def test_a_case_knows_its_lines() -> None:
    [case] = read(WHOLE)
    assert case.line == 4
    lines = {key: case.expected_line(key) for key in case.expect}
    assert lines == {"frames": 15, "events": 16, "anthropic": 17, "unified-llm": 20}
    assert case.expected_line("art") == 4


DEEP = """\
harness: 1
cases:
- case: deep
  requirement: A case knows where its items stand.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  expect:
    events:
      $contains:
      - {kind: start}
      - kind: finish
        raw:
          $json:
            "odd key": [1,
              2]
    frames: []
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("$", 9),
        ("[0]", 11),
        ("[0].kind", 11),
        ("[1].kind", 12),
        ("[1..2]", 12),
        ('[1].raw["odd key"][1]', 16),
        ("[1].other.thing", 12),
        ("[7]", 9),
    ],
)
def test_a_case_knows_the_lines_of_its_items(path: str, line: int) -> None:
    [case] = read(DEEP)
    assert case.expected_line("events", path) == line


def test_a_case_cannot_be_changed() -> None:
    [case] = read(SMALL)
    with pytest.raises(ValueError, match="frozen"):
        case.level = "should"


def test_an_empty_expectation_is_allowed() -> None:
    [case] = read(edited(("[{type: ping}]", "")))
    assert case.expect == {"anthropic": None}


def test_a_whole_expectation_may_be_an_operator() -> None:
    [case] = read(edited(("[{type: ping}]", "{$contains: [{type: ping}]}")))
    assert case.expect == {"anthropic": {"$contains": [{"type": "ping"}]}}


def test_a_question_has_a_name() -> None:
    message = str(failure(read, edited(("  features:", "  question: Is 91 prime?\n  features:"))))
    assert "question must be lower-case words joined by '-', not 'Is 91 prime?'" in message


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        ("harness: 1\n", True),
        ("# words\n\n  # more\n---\nharness:   1  # the format\n", True),
        ("\ufeffharness: 1\r\n", True),
        ('harness: "1"\n', True),
        ("'harness': 1\n", True),
        ("harness: 2\n", True),
        ("harness: 1.5\n", True),
        ("", False),
        ("# only words\n", False),
        ("cases: []\nharness: 1\n", False),
        ("  harness: 1\n", False),
        ("harness: one\n", False),
        ("harness:1\n", False),
        ("harness_version: 1\n", False),
        ("- harness: 1\n", False),
        ("interactions: []\n", False),
    ],
)
def test_a_spec_begins_with_its_format_number(head: str, ours: bool) -> None:
    assert is_spec(head) is ours
    assert is_features(head) is False


def test_a_features_file_is_not_a_spec() -> None:
    assert is_features("harness: 1\nfeatures:\n- id: a.b\n")
    assert not is_spec("harness: 1\nfeatures:\n- id: a.b\n")
    assert is_spec("harness: 1\nfeatures: []\ncases: []\n"), (
        "a slip in a spec must not hide the file"
    )
    assert is_spec("harness: 1\ncases:\n- case: x\n  features: [a.b]\n")


@pytest.mark.slow
def test_a_long_head_of_comments_is_skipped() -> None:
    assert is_spec("# x\r\n\r\n" * 200_000 + "harness: 1\n")


CASE_KEYS = [*Case.model_fields, "x"]
INNER_KEYS = ["anthropic", "events", "reason", "link", "expires", "$re", "$any", "$absent", "x"]
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(INNER_KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(text=st.text())
@example("harness: 1")
@example("harness: 1\n  2")
@example("harness: 1\n? [a]\n: 1")
@example("harness: 1\ncases: " + "[" * 5000)
@example("harness: 1\ncases:\n" + "- " * 5000)
@example("harness: 1\n---\nharness: 1")
@example("harness: " + "9" * 5000)
@example("harness: 1\ncases: \x00")
@example("harness: 1\ncases: \ud800")
def test_any_text_gives_cases_or_a_spec_error(text: str) -> None:
    for candidate in (text, "harness: 1\n" + text, SMALL + text, SMALL.replace("It holds.", text)):
        is_spec(candidate), is_features(candidate)
        for attempt in (read, partial(read_features, path="f.yaml")):
            error = failure(attempt, candidate)
            assert error is None or error.problems
            assert error is None or all(line >= 1 for line, _ in error.problems)


@given(case=st.dictionaries(st.sampled_from(CASE_KEYS), TREES), top=TREES)
@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_message_of_pydantic_reaches_the_author(case: dict[str, Any], top: Any) -> None:
    for cases in ([case], [case, top], top):
        text = "harness: 1\ncases: " + json.dumps(cases).replace("\\ud", "\\\\ud")
        message = str(failure(read, text))
        assert "nput should be" not in message
        assert "pydantic" not in message
