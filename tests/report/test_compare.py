"""The differences between two runs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from harness.facts import Finding
from harness.judging.rows import (
    Evidence,
    Read,
    Verdict,
)
from harness.report import (
    CellChange,
    Run,
    compare_runs,
    render,
)
from tests.report.document_samples import HEADER, SEVERAL, STREAM, changed, result


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("passed", "failed", "broken"),
        ("passed", "known-failing", "broken"),
        ("passed", "not-carried", "broken"),
        ("passed", "not-run", "broken"),
        ("not-carried", "warning", "broken"),
        ("known-failing", "failed", "broken"),
        ("failed", "passed", "fixed"),
        ("known-failing", "fixed", "fixed"),
        ("not-carried", "passed", "fixed"),
        ("unreviewed", "passed", "fixed"),
        ("failed", "error", "changed"),
        ("not-run", "unreviewed", "changed"),
    ],
)
def test_a_better_verdict_is_fixed_and_a_worse_one_broken(
    before: Verdict, after: Verdict, kind: str
) -> None:
    (change,) = compare_runs(Run(HEADER, [result(before)]), Run(HEADER, [result(after)]))
    assert (change.kind, change.red) == (kind, kind == "broken")
    assert " → " in change.words


def test_a_case_that_only_moved_is_no_change() -> None:
    assert (
        changed(
            SEVERAL,
            [replace(result, line=result.line + 9, provider="code-assist") for result in SEVERAL],
        )
        == []
    )


@pytest.mark.parametrize(
    "other",
    [
        {"evidence": Evidence(STREAM, "c" * 32)},
        {"evidence": Evidence(replace(STREAM, digest="f" * 32), "b" * 32)},
        {"findings": (Finding("[1]", "wrong", "changed"),), "findings_total": 1},
        {"end": "cut"},
    ],
)
def test_the_same_verdict_with_other_evidence_is_a_change(other: dict[str, Any]) -> None:
    assert changed([result("warning")], [result("warning", **other)]) == [
        ("changed", "one", "warning")
    ]
    again = Evidence(replace(STREAM, reads=(Read(9.0, 25),)), "b" * 32)
    assert (
        changed([result()], [result(evidence=again)]) == []
    )  # a repeated recording has other times


def test_new_and_removed_cells_are_changes_and_red_ones_are_marked() -> None:
    changes = compare_runs(
        Run(HEADER, [result(), result(case="old")]),
        Run(HEADER, [result(), result("failed", "new"), result(case="fine")]),
    )
    assert [(change.kind, change.cell.case, change.red) for change in changes] == [
        ("new", "fine", False),
        ("new", "new", True),
        ("gone", "old", False),
    ]


def test_the_index_lists_the_changes_since_the_baseline() -> None:
    base = Run(HEADER, [result(), result("failed", "two"), result(case="old")])
    page = render(
        Run(HEADER, [result("failed"), result("passed", "two"), result(case="new")]), base
    )["index.html"]
    assert (
        page.index("Since the baseline")
        < page.index("1 broken")
        < page.index("1 fixed")
        < page.index("1 new")
        < page.index("1 gone")
    )
    assert page.count("passed → failed") == 1
    assert 'href="gemini-api.html#text.one.anthropic"' in page
    assert "Since the baseline" not in render(base)["index.html"]


def test_a_change_needs_a_cell_before_or_after() -> None:
    with pytest.raises(AssertionError):
        _ = CellChange("new", None, None).cell
