"""The table of the benchmarks compares each figure with the stored one and with the limit."""

import json

from benchmarks.table import KEPT, LIMIT, table

RESULTS = {"frames": {"ours": 3.0, "new": 1.0, f"{LIMIT}orjson": 2.0}, "reads": {"journal": 30.0}}


def test_a_figure_is_shown_beside_the_stored_one_and_the_limit() -> None:
    kept = {"results": {"frames": {"ours": 6.0, f"{LIMIT}orjson": 2.0}, "reads": {"journal": 60.0}}}
    lines = [line.split() for line in table(RESULTS, kept)]
    assert lines == [
        ["now", "kept", "now/kept", "now/limit"],
        ["frames"],
        ["ours", "3.000", "6.000", "0.50", "1.50"],
        ["new", "1.000", "0.50"],
        ["limit:", "orjson", "2.000", "2.000", "1.00", "1.00"],
        ["reads"],
        ["journal", "30.000", "60.000", "0.50"],
    ]


def test_the_stored_figures_have_the_limit_of_each_frame() -> None:
    results = json.loads(KEPT.read_text(encoding="utf-8"))["results"]
    frames = [section for title, section in results.items() if title.startswith("frame to payload")]
    assert frames
    assert all(any(name.startswith(LIMIT) for name in section) for section in frames)
