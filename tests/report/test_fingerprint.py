"""The drawings of features."""

from __future__ import annotations

from harness.judging.rows import (
    VERDICTS,
)
from harness.report.badges import fingerprint, legend


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


def test_a_row_has_twenty_places() -> None:
    several = [str(number) for number in range(21)]
    drawing = fingerprint(several, {"19": "passed", "20": "passed"})
    assert (drawing.width, drawing.height) == (158, 14)
    assert drawing.paths[0] == ("passed", "M152 3h6M0 11h6")
