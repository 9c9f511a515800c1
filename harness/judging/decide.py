"""Decides the verdict of a row from its findings. Nothing else turns findings into a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from harness.facts import ACCEPTED, RUN, AspectVerdict, Finding

from .rows import Level, RowKind, Verdict

NOTHING_COMPARED: Final = "nothing was compared"
UNREVIEWED: Final = (
    "an expectation of this case was accepted from a run; review it, then delete `reviewed: no`"
)


@dataclass(frozen=True, slots=True)
class Known:
    """A failure that is declared as known, with its reason and a link. ``expired``: the date on
    which the mark ended, if that is over.
    """

    reason: str
    link: str = ""
    expired: str = ""
    must_fail: bool = True
    """A cell that passes has the verdict *fixed*."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The declarations under which findings are judged."""

    level: Level = "must"
    known: Known | None = None
    is_unreviewed: bool = False
    variants: tuple[str, ...] = ()
    """The ways in which the answer differs from the documented wire. Then nothing is red."""


class Decision(NamedTuple):
    """A verdict, its reason, and the link that belongs to the reason."""

    verdict: Verdict
    reason: str = ""
    link: str = ""


def decide(findings: Sequence[Finding], terms: Terms = Terms()) -> Decision:  # immutable
    """Return the verdict of a cell with these findings. A cell without a finding that compared
    anything is *not run*; a request that the API accepts does not show what becomes of its answer.
    """
    for finding in findings:
        if finding.reason == "unjudged":
            return Decision("error", finding.note)
    red = [finding for finding in findings if finding.red]
    if red and terms.variants:
        lost = "; ".join(finding.sentence for finding in red)
        variants = ", ".join(terms.variants)
        reason = f"the answer is not the documented wire ({variants}): {lost}"
        return Decision("not-run", reason)
    known = terms.known
    if known and not red and known.must_fail:
        reason = f"this cell passes; remove its known_failing mark ({known.reason})"
        return Decision("fixed", reason, known.link)
    if red and known and known.expired:
        reason = f"the known-failing mark expired on {known.expired}: {known.reason}"
        return Decision("failed", reason, known.link)
    if red and known:
        return Decision("known-failing", known.reason, known.link)
    if red:
        return Decision("warning" if terms.level == "should" else "failed")
    if terms.is_unreviewed:
        return Decision("unreviewed", UNREVIEWED)
    if any(finding.verdict == "kept" and finding.subject != ACCEPTED for finding in findings):
        return Decision("passed")
    declared = [str(finding.wire) for finding in findings if finding.verdict == "not_carried"]
    if declared:
        return Decision("not-carried", f"{', '.join(dict.fromkeys(declared))}, as declared")
    notes = (finding.note for finding in findings if finding.verdict != "kept")
    return Decision("not-run", next(notes, NOTHING_COMPARED))


def decided(blank: RowKind, findings: Sequence[Finding]) -> RowKind:
    """Return the row with the verdict of its findings, and those that say something; several may be
    of one aspect. An error of the run is no aspect.
    """
    verdict, reason, _ = decide(findings)
    aspects: dict[str, AspectVerdict] = {}
    listed = tuple(finding for finding in findings if finding.reason or finding.red)
    for finding in findings:
        if finding.subject != RUN and (finding.subject not in aspects or finding.red):
            aspects[finding.subject] = finding.verdict
    return replace(
        blank,
        verdict=verdict,
        reason=reason,
        aspects=aspects,
        findings=listed,
        findings_total=len(listed),
    )


def not_asked(aspect: str, reason: str) -> Finding:
    """Return the finding for an aspect of which the adapter is not asked."""
    return Finding(aspect, "not_asked", "skipped", adapter=reason)
