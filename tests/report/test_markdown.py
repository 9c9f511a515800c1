"""The summary in Markdown."""

from __future__ import annotations

from harness.report import (
    Run,
    render,
)
from tests.report.document_samples import HEADER, result


def test_the_summary_has_a_table_and_escapes_all_texts() -> None:
    hostile = "<img src=x> | `a` [x](javascript:y) @me\n# no"
    text = render(
        Run(
            HEADER,
            [
                result(),
                result("failed", "two", requirement=hostile),
                result("not-carried", "three"),
            ],
        )
    )["summary.md"]
    assert "| Gemini API | 0 of 1 feature<br>cells: ✕ 1 failed, – 1 not carried |" in text
    assert (
        "- ✕ **failed** Gemini API → anthropic: \\<img src=x\\> \\| \\`a\\` \\[x\\]\\(javascript:y\\) \\@me \\# no"
        in text
    )
    assert "three" not in text
