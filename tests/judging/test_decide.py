"""The verdict of a cell: every declaration, and findings of every verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from harness.facts import RED, AspectVerdict, Finding, error_finding
from harness.judging.decide import (
    NOTHING_COMPARED,
    UNREVIEWED,
    Decision,
    Known,
    Terms,
    decide,
    decided,
)
from harness.judging.rows import Level, QuestionRow
from harness.report.aspect_counts import Findings

KEPT = Finding("text", "kept")
NOTED = Finding("media", "kept", "only-raw")
LOST = Finding("finish", "lost", "no-finish", "STOP")
WRONG = Finding("calls", "wrong", "call-twice", adapter={"name": "f", "arguments": {}})
RAISED = Finding("text", "raised", "needless", adapter={"words": "x", "type": "y"})
DECLARED = Finding("ids", "not_carried", "declared", "ids")
ALSO_DECLARED = Finding("urls", "not_carried", "declared", "urls[x]")
SKIPPED = Finding("text", "not_asked", "skipped", adapter="only streams")
NOT_ON_WIRE = Finding("citations", "not_asked", "not-on-wire")
ERROR = error_finding("it hung")
KNOWN = Known("a bug", "https://e.org/1")
PASSES = "this cell passes; remove its known_failing mark (a bug)"


def test_a_cell_with_a_kept_fact_and_nothing_red_passes() -> None:
    for findings in ([KEPT], [NOTED], [KEPT, DECLARED, SKIPPED], [SKIPPED, KEPT]):
        assert decide(findings) == Decision("passed", "", "")


@pytest.mark.parametrize("red", [LOST, WRONG, RAISED])
@pytest.mark.parametrize(("level", "verdict"), [("must", "failed"), ("should", "warning")])
def test_a_red_finding_fails_a_requirement_and_warns_about_a_recommendation(
    red: Finding, level: Level, verdict: str
) -> None:
    for findings in ([red], [KEPT, red], [red, DECLARED]):
        assert decide(findings, Terms(level)) == Decision(verdict, "", "")  # type: ignore[arg-type]  # a verdict


@pytest.mark.parametrize("verdict", get_args(AspectVerdict))
def test_only_lost_wrong_and_raised_are_red(verdict: AspectVerdict) -> None:
    decision = decide([KEPT, Finding("text", verdict)])
    assert (decision.verdict == "failed") == (verdict in RED)


def test_an_error_is_decided_before_everything_else() -> None:
    for terms in (
        Terms(),
        Terms("should", KNOWN, is_unreviewed=True, variants=("a BOM",)),
        Terms(known=replace(KNOWN, expired="2026-01-01")),
    ):
        assert decide([ERROR], terms) == Decision("error", "it hung", "")
        assert decide([KEPT, LOST, ERROR], terms) == Decision("error", "it hung", "")


def test_a_red_finding_on_a_variant_of_the_wire_is_not_red() -> None:
    decision = decide([KEPT, LOST, WRONG], Terms("should", KNOWN, True, ("a BOM", "comments")))
    assert decision == Decision(
        "not-run",
        "the answer is not the documented wire (a BOM, comments): finish lost: the wire ends with"
        " STOP; the adapter gives no reason; calls wrong: the call of f is given twice",
    )
    assert decide([KEPT], Terms(variants=("a BOM",))) == Decision("passed")
    assert decide([SKIPPED], Terms(variants=("a BOM",))).verdict == "not-run"


def test_a_known_failure_that_fails_is_known() -> None:
    for level in get_args(Level):
        decision = decide([KEPT, LOST], Terms(level, KNOWN))
        assert decision == Decision("known-failing", "a bug", "https://e.org/1")
    assert decide([LOST], Terms(known=Known("a bug"))).link == ""


def test_a_known_failure_that_has_expired_fails() -> None:
    expired = replace(KNOWN, expired="2026-01-01")
    reason = "the known-failing mark expired on 2026-01-01: a bug"
    for level in get_args(Level):
        assert decide([LOST], Terms(level, expired)) == Decision(
            "failed", reason, "https://e.org/1"
        )


def test_a_known_failure_that_passes_is_fixed_if_the_mark_must_be_removed() -> None:
    for findings in ([KEPT], [KEPT, DECLARED], [SKIPPED], []):
        for known in (KNOWN, replace(KNOWN, expired="2026-01-01")):
            decision = decide(findings, Terms(known=known, is_unreviewed=True))
            assert decision == Decision("fixed", PASSES, "https://e.org/1")
    may_pass = replace(KNOWN, must_fail=False)
    assert decide([KEPT], Terms(known=may_pass)) == Decision("passed")
    assert decide([LOST], Terms(known=may_pass)).verdict == "known-failing"


def test_an_expectation_that_nobody_has_reviewed_is_never_passed() -> None:
    unreviewed = Terms(is_unreviewed=True)
    for findings in ([KEPT], [DECLARED], [SKIPPED]):
        assert decide(findings, unreviewed) == Decision("unreviewed", UNREVIEWED)
    assert decide([LOST], unreviewed).verdict == "failed"


def test_a_cell_with_only_declared_losses_is_not_carried() -> None:
    twice = [DECLARED, ALSO_DECLARED, DECLARED, SKIPPED]
    assert decide([DECLARED]) == Decision("not-carried", "ids, as declared")
    assert decide(twice) == Decision("not-carried", "ids, urls[x], as declared")


def test_a_cell_in_which_nothing_was_compared_is_not_run() -> None:
    assert decide([]) == Decision("not-run", NOTHING_COMPARED)
    assert decide([SKIPPED, NOT_ON_WIRE]) == Decision("not-run", "only streams")
    assert decide([NOT_ON_WIRE]) == Decision(
        "not-run", "the wire that the adapter asked does not have it"
    )


def test_an_error_of_a_question_is_one_finding_and_no_aspect() -> None:
    row = decided(QuestionRow("error"), [error_finding("it hung")])
    assert (row.verdict, row.reason, row.aspects) == ("error", "it hung", {})
    assert len(Findings([row])) == 1
    red, kept = Finding("tools", "lost", "asked"), Finding("tools", "kept")
    assert decided(QuestionRow("error"), [kept, red, kept]).aspects == {"tools": "lost"}
