"""The explanation of a red cell shows the difference."""

from __future__ import annotations

import pytest

from harness.facts import Finding, Place
from harness.judging.explain import explain
from tests.support.report_samples import result


def test_control_characters_of_terminals_are_escaped() -> None:
    text = "nothing of it \x1b"
    finding = Finding("[0].delta", "wrong", "changed", text, text, remark=text)
    lines = explain(
        result(verdict="failed", reason=text, findings=(finding,), findings_total=1),
        "specs/parallel.yaml:7",
    ).splitlines()
    assert lines[0] == "nothing of it \\u001b"
    assert lines[-3:] == [
        "[0].delta: changed (nothing of it \\u001b)",
        "  expected: nothing of it \\u001b",
        "  got:      nothing of it \\u001b",
    ]


@pytest.mark.parametrize(
    ("finding", "reason", "gist"),
    [
        (
            Finding("[3].delta", "wrong", "changed", '" of course,"', '" course,"'),
            "",
            '[3].delta expected " of course,", got " course,"',
        ),
        (
            Finding("[4]", "lost", "missing", '{"index":1}', remark="one block is lost"),
            "",
            '[4] expected {"index":1}',
        ),
        (Finding("law-2", "wrong", "law", remark="it calls"), "", "it calls"),
        (
            Finding("text", "lost", "text", place=Place(character=3, wire="a", adapter="b")),
            "",
            'text lost: at character 3 the wire has "a", the adapter "b"',
        ),
        (
            None,
            "the adapter raised KeyError at mine.py:3: 'x'",
            "the adapter raised KeyError at mine.py:3: 'x'",
        ),
    ],
)
def test_the_first_line_names_the_difference(
    finding: Finding | None, reason: str, gist: str
) -> None:
    lines = explain(
        result(verdict="failed", reason=reason, findings=(finding,) if finding else ()),
        "specs/parallel.yaml:7",
    ).splitlines()
    assert lines[:2] == [gist, "requirement: Two calls stay two calls."]


def test_a_reason_of_one_line_is_printed_once() -> None:
    text = explain(result(verdict="error", reason="no cassette a"), "specs/parallel.yaml:7")
    assert text.startswith("error: no cassette a\n")
    assert text.count("no cassette a") == 1
