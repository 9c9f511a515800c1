"""The results of an adapter that was asked three questions, one of them not for its wire."""

from __future__ import annotations

from harness.facts import Finding, Place
from harness.judging.judge_results import AdapterResults, JudgeResults
from harness.judging.rows import QuestionRow

ZERO = Finding(
    "settings",
    "lost",
    "asked",
    0.0,
    place=Place(asked="settings.temperature"),
    remark="temperature 0.0 is not sent",
)


def row(
    name: str, *, unary: bool = False, provider: str = "gemini-api", finding: Finding = ZERO
) -> QuestionRow:
    """A row of a question with this finding."""
    not_asked = finding.verdict == "not_asked"
    return QuestionRow(
        "failed" if finding.red else "not-run" if not_asked else "passed",
        provider=provider,
        case=f"{name} (unary)" if unary else name,
        cassette=f"questions/{provider}/{name}",
        exchange=1 + unary,
        question=name,
        requirement=f"About {name}.",
        reason=finding.adapter if not_asked else "",
        aspects={finding.subject: finding.verdict},
        findings=(finding,) if finding.reason else (),
        findings_total=1,
        block="documented",
        unary=unary,
    )


KEPT = Finding("settings", "kept")
UNREAD = Finding("messages", "not_asked", "skipped", adapter="tools: the adapter does not read it")


def judged(*rows: QuestionRow, name: str = "shim", version: str = "1") -> JudgeResults:
    return JudgeResults((AdapterResults(name, "serve: shim:replay", version, questions=rows),))


ASKED = [
    row("settings-zero"),
    row("settings-zero", unary=True, finding=KEPT),
    row("settings-none", finding=KEPT),
    row("tools-plain", finding=UNREAD),
]
