"""Two sweeps of the same streams are compared: the aspects that B loses and A kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.facts import AspectVerdict
from harness.judging.rows import Verdict
from harness.sweep.diff import SweepDifferences, compare_sweeps
from harness.sweep.files import Folder
from harness.sweep.output import write_part
from harness.sweep.row import StreamRow
from harness.sweep.stream import SweepError
from tests.support.captured import need_scale


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_scale()
    monkeypatch.chdir(tmp_path)


def verdict(
    name: str,
    word: Verdict = "passed",
    *,
    model: str = "m",
    digest: str = "",
    **aspects: AspectVerdict,
) -> StreamRow:
    sentence = f"{word}: {name}" if word != "passed" else ""
    return StreamRow(
        id=name,
        source=f"day:{name}",
        adapter="x",
        version="1",
        provider="p",
        model=model,
        verdict=word,
        aspects=aspects,
        sentence=sentence,
        digest=digest or f"d-{name}",
    )


def compared(before: Sequence[StreamRow], after: Sequence[StreamRow]) -> SweepDifferences:
    for folder, rows in (("a", before), ("b", after)):
        half = len(rows) // 2
        write_part("1.parquet", rows[:half], Folder(folder))
        write_part("2.parquet", rows[half:], Folder(folder))
    return compare_sweeps("a", "b")


def test_each_lost_aspect_is_a_group_with_examples() -> None:
    before = [verdict(f"s{n}", text="kept", finish="kept", usage="lost") for n in range(6)]
    after = [
        *[verdict(f"s{n}", "failed", text="lost", finish="kept", usage="lost") for n in range(4)],
        verdict("s4", "failed", text="kept", finish="wrong", usage="lost", model="n"),
        verdict("s5", text="kept", finish="kept", usage="kept"),
    ]
    diff = compared(before, after)
    assert diff.worse
    assert [(loss.aspect, loss.model, loss.verdict, loss.rows) for loss in diff.losses] == [
        ("text", "m", "lost", 4),
        ("finish", "n", "wrong", 1),
    ]
    first = diff.losses[0]
    assert first.provider == "p"
    assert [example.source for example in first.examples] == ["day:s0", "day:s1", "day:s2"]
    assert first.examples[0].sentence == "failed: s0"
    assert (diff.both, diff.only_a, diff.only_b, diff.new_errors) == (6, 0, 0, 0)


def test_an_aspect_that_is_no_longer_compared_is_lost() -> None:
    diff = compared([verdict("s", text="kept")], [verdict("s", "not-run", finish="kept")])
    assert [(loss.aspect, loss.verdict) for loss in diff.losses] == [("text", "not compared")]


def test_equal_sweeps_have_no_differences() -> None:
    rows = [verdict(f"s{n}", "failed", text="lost") for n in range(3)]
    diff = compared(rows, list(reversed(rows)))
    assert (diff.worse, diff.losses, diff.both) == (False, (), 3)


def test_rows_that_b_could_not_judge_are_errors() -> None:
    diff = compared([verdict("s", text="kept")], [verdict("s", "error")])
    assert (diff.worse, diff.new_errors, diff.losses) == (True, 1, ())
    assert diff.errors[0].source == "day:s"


def test_rows_of_one_sweep_alone_are_counted() -> None:
    before = [verdict("s", text="kept"), verdict("old", text="kept")]
    after = [verdict("s", text="kept"), verdict("new", "failed", text="lost")]
    diff = compared(before, after)
    assert (diff.both, diff.only_a, diff.only_b, diff.worse) == (1, 1, 1, False)


def test_the_same_id_with_another_answer_is_another_stream() -> None:
    diff = compared(
        [verdict("s", digest="1", text="kept")], [verdict("s", digest="2", text="lost")]
    )
    assert (diff.both, diff.only_a, diff.only_b, diff.losses) == (0, 1, 1, ())


def test_fixed_rows_are_counted() -> None:
    diff = compared([verdict("s", "failed", text="lost")], [verdict("s", text="kept")])
    assert (diff.mended, diff.worse) == (1, False)


@pytest.mark.slow
def test_outputs_are_also_files_globs_and_urls(tmp_path: Path) -> None:
    compared([verdict("s", text="kept")], [verdict("s", "failed", text="lost")])
    for a in ("a/*.parquet", "a/2.parquet", f"file://{tmp_path}/a"):
        assert len(compare_sweeps(a, "b").losses) == 1


def test_a_path_without_an_output_is_refused() -> None:
    with pytest.raises(SweepError, match="none: not an output of `harness sweep -o`"):
        compare_sweeps("none", "none")


def test_a_stream_that_was_captured_twice_is_compared_once() -> None:
    twice = [verdict("s", text="kept")] * 2
    diff = compared(twice, [verdict("s", "failed", text="lost")] * 2)
    assert (diff.both, diff.losses[0].rows) == (1, 1)
