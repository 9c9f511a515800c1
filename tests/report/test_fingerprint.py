"""The drawings of features."""

from __future__ import annotations

from harness.conformance.results import (
    VERDICTS,
)
from harness.report.fingerprint import fingerprint, legend


def test_a_fingerprint_has_each_feature_at_a_fixed_place() -> None:
    drawing = fingerprint(["a", "b", "c"], {"a": "passed", "c": "failed"})
    other = fingerprint(["a", "b", "c"], {"a": "not-carried", "b": "passed"})
    assert drawing.paths == [
        ("failed", "M16 0l6 6m-6 0l6-6"),
        ("passed", "M0 3h6"),
        ("none", "M10 3h2"),
    ]
    assert other.paths == [("not-carried", "M0 3h6"), ("passed", "M8 3h6"), ("none", "M18 3h2")]
    assert (
        len({legend(verdict) for verdict in (*VERDICTS, None)}) == len(VERDICTS) + 1 - 1
    )  # each dash is thick or thin


def test_equal_neighbours_are_one_dashed_line_per_row() -> None:
    several = [str(number) for number in range(23)]
    passed = fingerprint(several, dict.fromkeys(several[2:], "passed"))
    assert (passed.width, passed.height) == (158, 14)
    assert passed.paths == [("passed", "M16 3h142M0 11h22"), ("none", "M2 3h10")]
