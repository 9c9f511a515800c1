"""The summary sentences of a run."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from harness.judging.rows import (
    Row,
)
from harness.report import Run, Unread, render, summary
from harness.report.tally import headline
from tests.report.page_reader import Page
from tests.support.report_samples import (
    DIALECTS,
    HEADER,
    MIXED,
    PROVIDERS,
    result,
)


@pytest.mark.parametrize(
    ("results", "sentences"),
    [
        ([], ["Nothing ran: no case was selected."]),
        ([result()], ["The one cell passed."]),
        ([result(), result(adapter="unified-llm")], ["All 2 cells passed."]),
        (
            [result(), result(adapter="unified-llm"), result("not-carried", "x")],
            [
                "2 of 3 cells passed, 1 not carried.",
                "Nothing is red.",
                "The lowest share of passed features: Gemini API → anthropic: 0 of 1 feature, 1 in part.",
            ],
        ),
        (
            [
                result(layer="facts"),
                result("not-run", "x", layer="facts"),
                result("not-run", "y", layer="facts", features=("b",)),
            ],
            [
                "1 of 1 cell passed, 2 not run.",
                "Nothing is red.",
                "Most work remains at Gemini API → anthropic: 1 of 2 features, 1 not run.",
            ],
        ),
        (
            [
                result(),
                result("known-failing", "x", provider="code-assist", features=("a",)),
                result(provider="code-assist", features=("b",)),
            ],
            [
                "2 of 3 cells passed, 1 known failing.",
                "Nothing is red.",
                "Most work remains at Code Assist → anthropic: 1 of 2 features, 1 known failing.",
            ],
        ),
        (
            [
                result("failed"),
                result("error", "x", "unified-llm"),
                result("error", "y", "unified-llm"),
                result(adapter="unified-llm"),
            ],
            [
                "1 of 4 cells passed, 1 failed, 2 errors.",
                "Look first at Gemini API → unified-llm: 0 of 1 feature, 1 error.",
            ],
        ),
    ],
)
def test_the_headline_of_a_run(results: list[Row], sentences: list[str]) -> None:
    assert headline(results, PROVIDERS, DIALECTS) == sentences


@pytest.mark.parametrize(
    ("results", "specs", "sentences"),
    [
        ([result()], ["a.yaml"], ["1 spec could not be read.", "The one cell passed."]),
        (
            [result()],
            ["a.yaml", "a.yaml", "b:1: odd name.yaml"],
            ["2 specs could not be read.", "The one cell passed."],
        ),
        ([], ["a.yaml"], ["1 spec could not be read.", "Nothing ran."]),
    ],
)
def test_headline_and_summary_begin_with_unreadable_specs(
    results: list[Row], specs: list[str], sentences: list[str]
) -> None:
    unread = [Unread(spec, f"{spec}:{line}: no") for line, spec in enumerate(specs, 1)]
    assert headline(results, PROVIDERS, DIALECTS, unread) == sentences
    written = render(Run(replace(HEADER, unread=tuple(unread)), results))
    assert " ".join(sentences) in Page(written["index.html"]).text
    lines = written["summary.md"].splitlines()
    assert lines[2] == " ".join(sentences)
    last = max(number for number, line in enumerate(lines) if line.startswith("- not read: "))
    assert lines[last + 1 : last + 2] == ([""] if results else [])


def test_the_summary_has_a_line_per_provider_and_dialect() -> None:
    lines = summary(MIXED)
    assert lines.isascii()
    assert lines.splitlines() == [
        "code-assist / anthropic   1 of 1 cell passed",
        "gemini-api / anthropic    1 of 8 cells passed, 1 failed, 1 error, 1 fixed, 1 warning, 1 known failing, 1 not carried, 1 not run, "
        "1 unreviewed",
        "gemini-api / events       1 of 1 cell passed",
        "gemini-api / unified-llm  1 of 1 cell passed",
        "4 of 11 cells passed, 1 failed, 1 error, 1 fixed, 1 warning, 1 known failing, 1 not carried, 1 not run, 1 unreviewed",
        "Origin of the recordings: 2 written by hand. `harness record` records streams from a live provider.",
    ]
