"""Results of ``harness judge`` for tests of pages: every verdict, every block, hostile texts."""

from __future__ import annotations

from msgspec.structs import replace

from harness.facts import AspectVerdict, Finding, Place, error_finding
from harness.judging.judge_results import AdapterResults, JudgeResults, Unjudged
from harness.judging.rows import Block, Evidence, ExchangeRow, LayerView
from tests.support.report_samples import HOSTILE

RED = ("lost", "wrong", "raised")


def excerpt(text: str = "frame 7") -> tuple[LayerView, ...]:
    lines = (text, "another")
    return (
        LayerView("frames", lines, 6, 9, 6),
        LayerView("native", lines, 0, 2),
        LayerView("facts", (), 0, 0),
    )


def red(aspect: str, verdict: AspectVerdict, note: str) -> Finding:
    """A red finding with this sentence as its remark."""
    return Finding(aspect, verdict, "law", remark=note)


def cell(
    cassette: str = "gemini-api/a", exchange: int = 1, **verdicts: AspectVerdict
) -> ExchangeRow:
    """A cell with these verdicts, and with evidence for the red ones. A red finding has the number
    of the exchange as a value.
    """
    findings = tuple(
        Finding(aspect, verdict, "no-finish", wire=str(exchange))
        for aspect, verdict in verdicts.items()
        if verdict in RED
    )
    asked = {*verdicts.values()} - {"not_carried", "not_asked"}
    return ExchangeRow(
        "failed" if findings else "passed" if asked else "not-run",
        cassette=cassette,
        exchange=exchange,
        block="documented",
        aspects=verdicts,
        findings=findings,
        evidence=Evidence(excerpts={finding.subject: excerpt() for finding in findings})
        if findings
        else None,
    )


def with_findings(result: ExchangeRow, *findings: Finding) -> ExchangeRow:
    """The failed cell with these findings instead of its own."""
    verdicts = {finding.subject: finding.verdict for finding in findings}
    return replace(result, verdict="failed", aspects=verdicts, findings=findings)


def again(row: ExchangeRow) -> ExchangeRow:
    """The row as that of a second turn."""
    return replace(row, turn="second")


def error(
    message: str,
    cassette: str = "gemini-api/d",
    exchange: int = 1,
    *,
    group: str = "",
    block: Block = "documented",
    cuts: str = "",
) -> ExchangeRow:
    """A cell that could not be judged."""
    finding = replace(error_finding(message, group), place=Place(cuts=cuts))
    return ExchangeRow(
        "error",
        cassette=cassette,
        exchange=exchange,
        block=block,
        reason=message,
        findings=(finding,),
    )


VARIANT = ExchangeRow(
    "failed",
    cassette="gemini-api/b",
    exchange=3,
    block="variant",
    aspects={"text": "lost"},
    findings=(red("text", "lost", "gone"),),
    variants=("comments",),
)
SHOP = AdapterResults(
    "shop",
    "serve: shims:shop",
    "1.2.3",
    "shop = serve: shims:shop",
    "2026-11-22",
    ("media",),
    (
        cell(text="kept", finish="wrong", usage="not_carried"),
        cell(exchange=2, text="kept", finish="wrong", ids="lost"),
        cell("gemini-api/c", text="kept", finish="kept", citations="not_asked"),
        error("it never asked"),
        VARIANT,
    ),
    (again(cell("gemini-api/c", calls="lost", results="kept")),),
)
OTHER = AdapterResults("other", "other:replay", "unknown", cells=(cell(text="kept"),))
RESULTS = JudgeResults((OTHER, SHOP), (Unjudged("x.yaml", "it is no recording"),))

_HOSTILE_CELL = ExchangeRow(
    "failed",
    cassette=HOSTILE,
    exchange=1,
    block="documented",
    reason=HOSTILE,
    aspects={HOSTILE: "lost", "text": "wrong"},
    findings=(
        red(HOSTILE, "lost", HOSTILE),
        Finding(
            "text",
            "wrong",
            "text",
            HOSTILE,
            HOSTILE,
            Place(3, 4, HOSTILE, HOSTILE, HOSTILE, 5, HOSTILE),
            HOSTILE,
        ),
    ),
    variants=(HOSTILE,),
    requests=HOSTILE,
    evidence=Evidence(excerpts={"text": excerpt(HOSTILE), HOSTILE: excerpt(HOSTILE)}),
)
HOSTILE_RESULTS = JudgeResults(
    (
        AdapterResults(
            HOSTILE,
            HOSTILE,
            HOSTILE,
            HOSTILE,
            HOSTILE,
            (HOSTILE,),
            (_HOSTILE_CELL, error(HOSTILE, HOSTILE, 2, block="variant", cuts=HOSTILE)),
            (again(_HOSTILE_CELL),),
        ),
    ),
    (Unjudged(HOSTILE, HOSTILE),),
)
