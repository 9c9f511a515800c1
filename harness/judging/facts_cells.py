"""Judges a case by facts. The aspects that the case's features name decide the verdict of a cell.
Other losses are reported with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace as with_fields

from harness.adapters import Adapter, KnownFailure
from harness.facts import ACCEPTED, Aspect, Raw, Transcript

from .aspects import ExchangeJudgement
from .decide import Decision, Known, Terms, decide
from .rows import CaseRow, QuestionRow, Row, RowKind, Verdict
from .run import unused

NOT_COVERED: Final = "facts do not cover the features of this case"
DIFFERS: Final[frozenset[Verdict]] = frozenset({"failed", "warning", "known-failing"})
"""The verdicts of a comparison that found a difference."""
ALWAYS: tuple[Aspect, ...] = ("needless_error", ACCEPTED)
"""The aspects that belong to every case."""


def result_by_facts(
    blank: CaseRow,
    judgement: ExchangeJudgement,
    adapter: Adapter,
    features: Sequence[tuple[str, Sequence[Aspect] | None]],
    terms: Terms,
) -> CaseRow:
    """Return the result of a case for an adapter that states its facts. ``blank`` has the fields of
    the case. ``features`` are its features, each with its aspects. None means all aspects.
    """
    named = [
        aspect
        for aspect in judgement.aspects
        if aspect in ALWAYS or any(concerns(aspect, own) for _, own in features)
    ]
    red = [aspect for aspect in named if judgement.aspects[aspect].red]
    others = [aspect for aspect in judgement.red if aspect not in red]
    terms = replace(
        terms,
        known=terms.known or known_of(adapter, judgement.cassette, red),
        variants=judgement.variants if judgement.block == "variant" else (),
    )
    if judgement.error or not judgement.is_recorded:
        decision = decide(judgement.findings)
    elif named:
        decision = decide([judgement.aspects[aspect] for aspect in named], terms)
    else:
        decision = Decision("not-run", NOT_COVERED)
    reason = decision.reason
    if others and not red:
        beside = f"other losses: {'; '.join(judgement.sentence(aspect) for aspect in others)}"
        reason = f"{reason}; {beside}" if reason else beside
    aspects = {aspect: finding.verdict for aspect, finding in judgement.aspects.items()}
    differs = decision.verdict in DIFFERS
    findings = tuple(judgement.aspects[aspect] for aspect in (red or others))
    transcript = judgement.transcript or Transcript()
    return with_fields(
        blank,
        verdict=decision.verdict,
        reason=reason,
        link=decision.link,
        first_layer="facts" if differs else "",
        findings=findings,
        findings_total=len(findings),
        aspects=aspects,
        answered=aspects if blank.question else {},
        lost_features=_lost_features(red, features) if differs else None,
        declared={str(loss): shown for loss, shown in judgement.losses.items()},
        known=known_use(
            adapter,
            judgement.cassette,
            () if judgement.block == "variant" else judgement.aspects,
            judgement.red,
        ),
        variants=judgement.variants,
        block=judgement.block,
        log=judgement.log,
        raw=any(isinstance(fact, Raw) for fact in transcript.facts()),
    )


def _lost_features(
    red: Collection[Aspect], features: Sequence[tuple[str, Sequence[Aspect] | None]]
) -> tuple[str, ...] | None:
    """Return the features with a red aspect; None for all."""
    if set(red) & set(ALWAYS):
        return None
    return tuple(
        feature for feature, own in features if any(concerns(aspect, own) for aspect in red)
    )


def known_of(adapter: Adapter, cassette: str, red: Sequence[str]) -> Known | None:
    """Return the first known failure of a cell, if all its red aspects are known failures.
    ``cassette``: its cassette or question.
    """
    known = [known_failure(adapter, cassette, aspect) for aspect in red]
    if not known or not all(known) or known[0] is None:
        return None
    first = next((failure for failure in known if failure and failure.expired), known[0])
    return Known(first.reason, first.link, first.expired, must_fail=False)


def with_known(result: RowKind, adapter: Adapter) -> RowKind:
    """Return a result without a case, by the known failures of its adapter: which of them match it,
    and the verdict *known failing* if they explain all that is red. A variant keeps its verdict.
    """
    if result.block == "variant":
        return result
    name = result.question if isinstance(result, QuestionRow) else result.cassette
    red = [finding.subject for finding in result.red_findings]
    result = with_fields(result, known=known_use(adapter, name, result.aspects, red))
    known = known_of(adapter, name, red)
    if result.verdict != "failed" or known is None:
        return result
    verdict, reason, link = decide(result.red_findings, Terms(known=known))
    return with_fields(result, verdict=verdict, reason=reason, link=link)


def concerns(aspect: Aspect, aspects: Sequence[Aspect] | None) -> bool:
    """Return whether a feature with these aspects (None: all aspects) includes an aspect."""
    return aspects is None or aspect in aspects


def unshown_losses(results: Iterable[Row]) -> list[str]:
    """Return a sentence for each declared loss that concerned some cells, but that no cell
    showed.
    """
    return [
        f"{adapter} declares the loss of {loss}, but none of the {cells} cells that it concerns"
        " shows the loss; delete it from harness_losses"
        for adapter, loss, cells in unused((result.adapter, result.declared) for result in results)
    ]


def fixed_failures(results: Iterable[Row]) -> list[str]:
    """Return a sentence for each known failure that concerned some cells, if none of them
    failed.
    """
    return [
        f"{adapter} has the known failure {pattern}, but none of the {cells} cells that it matches"
        " fails; delete the declaration"
        for adapter, pattern, cells in unused((result.adapter, result.known) for result in results)
    ]


def known_use(
    adapter: Adapter, cassette: str, judged: Iterable[str], failed: Collection[str]
) -> dict[str, bool]:
    """Return the patterns of known failures that match an aspect or law that was judged in a cell,
    and whether one of those failed.
    """
    return {
        known.pattern: any(subject in failed for subject in matched)
        for known in adapter.known_failing
        if (matched := [subject for subject in judged if matches(known, cassette, subject)])
    }


def known_failure(adapter: Adapter, cassette: str, subject: str) -> KnownFailure | None:
    """Return the first known failure of an adapter with a pattern that matches ``subject`` (an
    aspect, or ``law-3``), the cassette, or both with a space between.
    """
    return next(
        (known for known in adapter.known_failing if matches(known, cassette, subject)), None
    )


def matches(known: KnownFailure, cassette: str, subject: str) -> bool:
    """Return whether a pattern matches ``subject``, the cassette, or both with a space between."""
    forms = (subject, cassette, f"{cassette} {subject}")
    return any(fnmatchcase(form, known.pattern) for form in forms)
