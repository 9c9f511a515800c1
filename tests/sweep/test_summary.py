"""The summary counts rows and keeps examples of each reason, and summaries can be merged."""

from __future__ import annotations

import pytest

from harness.sweep import summary as module
from harness.sweep.row import StreamRow
from harness.sweep.summary import EXAMPLES, Summary


def lost(number: int, sentence: str = "text lost: the wire has 3", group: str = "") -> StreamRow:
    return StreamRow(
        id=f"s{number}",
        source=f"day:{number}",
        adapter="a",
        version="1",
        provider="gemini-api",
        verdict="failed",
        aspects={"text": "lost", "finish": "kept"},
        layer="facts",
        sentence=sentence,
        group=group,
        laws={"5": "passed"},
        worse=("text",),
        better=("usage",),
    )


def test_every_count_of_a_row() -> None:
    variant = StreamRow(
        id="v",
        source="day:9",
        adapter="a",
        version="1",
        verdict="failed",
        sentence="finish wrong",
        variants=("a BOM",),
    )
    summary = Summary.of([lost(1), lost(2), variant])
    assert (summary.rows, summary.variants, summary.verdicts) == (3, 1, {"failed": 3})
    assert summary.red == 2
    assert summary.aspects["gemini-api"] == {"text": {"lost": 2}, "finish": {"kept": 2}}
    assert (summary.worse, summary.better) == ({"text": 2}, {"usage": 2})
    assert summary.laws == {"5": {"passed": 2}}
    assert set(summary.reasons) == {"failed", "variant"}


def test_reasons_that_differ_only_in_values_are_one() -> None:
    rows = [lost(number, f'text lost: the wire has "{number}"', "text") for number in range(9)]
    (reason,) = Summary.of(rows).reasons["failed"]["facts"].values()
    assert reason.rows == 9
    assert [example.source for example in reason.examples] == [f"day:{n}" for n in range(EXAMPLES)]


def test_reasons_with_the_same_sentence_and_other_groups_are_several() -> None:
    rows = [lost(number, "text lost", f"text {number % 2}") for number in range(4)]
    reasons = Summary.of(rows).reasons["failed"]["facts"]
    assert {group: reason.rows for group, reason in reasons.items()} == {"text 0": 2, "text 1": 2}


def test_a_row_without_a_group_is_grouped_by_its_sentence() -> None:
    rows = [lost(number, f"text {number % 2}") for number in range(4)]
    assert list(Summary.of(rows).reasons["failed"]["facts"]) == ["text 0", "text 1"]


def test_merged_summaries_are_the_summary_of_all_rows() -> None:
    rows = [lost(number, f"text lost: {number}", "ab"[number % 2]) for number in range(8)]
    merged = Summary()
    for start in (0, 3, 6):
        merged.merge(Summary.of(rows[start : start + 3]))
    assert merged == Summary.of(rows)


def test_the_order_in_which_parts_end_does_not_matter() -> None:
    parts = [Summary.of([lost(number), lost(number + 10, "other")]) for number in range(6)]
    forward, backward = Summary(), Summary()
    for part in parts:
        forward.merge(part)
    for part in reversed(parts):
        backward.merge(part)
    assert forward == backward


def test_too_many_reasons_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REASONS", 2)
    summary = Summary.of([lost(1, word) for word in ("a", "b", "c", "d", "a")])
    assert len(summary.reasons["failed"]["facts"]) == 2
    assert (summary.other_reasons, summary.rows) == (2, 5)
