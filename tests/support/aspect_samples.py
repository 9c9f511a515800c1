"""Results of ``harness judge`` for tests of pages: every verdict, every block, hostile texts."""

from __future__ import annotations

from harness.judging.judge_results import (
    AdapterResults,
    Result,
    AspectEvidence,
    JudgeResults,
    Side,
    Unjudged,
)
from tests.support.report_samples import HOSTILE


def evidence(text: str = "frame 7") -> AspectEvidence:
    lines = (text, "another")
    return AspectEvidence(Side(lines, 6, 9, 6), Side(lines, 0, 2), Side(()))


def cell(cassette: str = "gemini-api/a", exchange: int = 1, **verdicts: str) -> Result:
    """A cell with these verdicts, and with evidence for the red ones."""
    red = [aspect for aspect, verdict in verdicts.items() if verdict in ("lost", "wrong", "raised")]
    return Result(
        cassette,
        exchange,
        "documented",
        verdicts,
        dict.fromkeys(red, f'of "{exchange}" nothing is left'),
        evidence={aspect: evidence() for aspect in red},
    )


VARIANT = Result("gemini-api/b", 3, "variant", {"text": "lost"}, {"text": "gone"}, ("comments",))
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
        Result("gemini-api/d", 1, "documented", error="it never asked"),
        VARIANT,
    ),
    (cell("gemini-api/c", calls="lost", results="kept"),),
)
OTHER = AdapterResults("other", "other:replay", "unknown", cells=(cell(text="kept"),))
RESULTS = JudgeResults((OTHER, SHOP), (Unjudged("x.yaml", "it is no recording"),))

_HOSTILE_CELL = Result(
    HOSTILE,
    1,
    "documented",
    {HOSTILE: "lost", "text": "wrong"},
    {HOSTILE: HOSTILE, "text": HOSTILE},
    (HOSTILE,),
    evidence={"text": evidence(HOSTILE), HOSTILE: evidence(HOSTILE)},
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
            (_HOSTILE_CELL, Result(HOSTILE, 2, "variant", error=HOSTILE)),
            (_HOSTILE_CELL,),
        ),
    ),
    (Unjudged(HOSTILE, HOSTILE),),
)
