"""Results and helpers of the browser tests."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from harness.facts import Finding
from harness.judging.rows import (
    Evidence,
    LayerView,
    Read,
    Sent,
    Stream,
)
from tests.support.report_samples import (
    MIXED,
    result,
)

ROOT = Path(__file__).parent.parent.parent


STREAM = Stream(
    200,
    900,
    "a" * 32,
    (Read(112.0, 300), Read(140.5, 100, 1, "message"), Read(512.0, 500)),
    3,
    Sent("POST", "https://x.example/v1", "{}", 2),
)


LAYERS = (
    LayerView("frames", ("@0 112 ms  {}", "@300 140.5 ms  {}"), 0, 2, 1),
    LayerView("events", ('text  {"text": "a"}', 'text  {"text": "b"}'), 0, 2, 1, True),
    LayerView("payloads", ('{"delta": "a"}', '{"delta": "b"}'), 0, 9, 1, True),
)


LOST = replace(
    result(
        "failed",
        "lost",
        findings=(Finding("[1].delta", "wrong", "changed", '"bee"', '"be"', remark="one letter"),),
        findings_total=9,
        first_layer="events",
    ),
    evidence=Evidence(STREAM, "b" * 32, layers=LAYERS, small_case="harness: 1"),
)


RESULTS = [LOST, *(cell for cell in MIXED if cell.case != "lost")]


def pages(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.html"))
