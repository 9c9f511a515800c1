"""The page of a sweep: counts by provider and aspect, and reasons with examples, all of them
escaped.
"""

from __future__ import annotations

from harness.report.sweep_page import MOST_REASONS, page_values, sweep_page
from harness.sweep.contract import Settings, Target
from harness.sweep.row import StreamRow
from harness.sweep.summary import Summary

SETTINGS = Settings(Target("shop:replay", "shop", "2.1"))


def row(number: int, **fields: object) -> StreamRow:
    blank = {
        "id": f"s{number}",
        "source": f"day.parquet:{number}",
        "adapter": "shop",
        "version": "2.1",
        "provider": "gemini-api",
        "verdict": "passed",
        "aspects": {"text": "kept", "media": "not_carried"},
    }
    return StreamRow(**blank | fields)  # type: ignore[arg-type]  # a dict of fields has no types


def lost(number: int, sentence: str = "text lost: it is <b>gone</b>") -> StreamRow:
    return row(number, verdict="failed", aspects={"text": "lost"}, sentence=sentence, layer="facts")


def test_squares_count_red_and_compared_streams_of_each_provider() -> None:
    summary = Summary.of([row(1), lost(2), row(3, provider=None, aspects={"finish": "kept"})])
    values = page_values(summary, SETTINGS, ["day.parquet"])
    (table,) = values["tables"]
    assert table.aspects == ["text", "finish", "media"]
    squares = {
        row.title: [
            square and (square.red, square.compared, square.other) for square in row.squares
        ]
        for row in table.rows
    }
    assert squares == {
        "gemini-api": [(1, 2, ""), None, (0, 0, "1 not carried")],
        "not known": [None, (0, 1, ""), None],
    }
    assert values["sentences"] == ["2 of 3 streams passed, 1 failed."]


def test_a_page_without_a_judged_stream_has_no_table_of_aspects() -> None:
    bad = row(1, verdict="error", provider="", aspects={}, sentence="headers is 5")
    assert "headers is 5" in sweep_page(Summary.of([bad]), SETTINGS, ["day.parquet"])


def test_a_reason_has_examples_that_can_be_shown_again() -> None:
    page = sweep_page(Summary.of([lost(1), lost(2)]), SETTINGS, ["day.parquet"])
    assert '<i class="failed">failed</i> in 2 streams: text lost: it is &lt;b&gt;gone' in page
    assert page.count("it is &lt;b&gt;gone") == 1
    assert "Stream <code>s2</code>" in page
    assert "harness show day.parquet:2" in page


def test_only_the_most_frequent_reasons_are_shown() -> None:
    words = [f"text lost: {'x' * number}" for number in range(1, MOST_REASONS + 4)]
    rows = [lost(number, word) for number, word in enumerate(words)]
    values = page_values(Summary.of([*rows, lost(99, words[-1])]), SETTINGS, [])
    (group,) = values["groups"]
    assert (len(group.entries), group.more) == (MOST_REASONS, 3)
    assert group.entries[0].number == "in 2 streams"
    assert "3 further reasons are not shown" in sweep_page(
        Summary.of([*rows, lost(99, words[-1])]), SETTINGS, []
    )


def test_the_same_results_give_the_same_page() -> None:
    forward, backward = Summary.of([row(1), lost(2)]), Summary.of([lost(2), row(1)])
    assert sweep_page(forward, SETTINGS, []) == sweep_page(backward, SETTINGS, [])


def test_changes_against_a_baseline_have_a_table() -> None:
    settings = Settings(SETTINGS.adapter, Target("old:replay", "old", "1"))
    changed = row(1, worse=("text",), better=("usage",), against="old 1")
    page = sweep_page(Summary.of([changed]), settings, [])
    assert "Compared with old 1: only aspects that it keeps" in page
    assert '<th scope="row">text</th><td><i class="failed">1</i></td><td>0</td>' in page
    assert '<th scope="row">usage</th><td>0</td><td>1</td>' in page
