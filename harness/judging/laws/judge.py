"""Judges one law for one exchange and one adapter, and writes a small case for a breach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from harness.adapters import NO_OPTIONS, Adapter, AdapterError, Output, RunOptions, Subject
from harness.cassettes import CassetteError
from harness.facts import ASPECTS, Finding, Place
from harness.specs.matching import compare, sides
from harness.stream.exchange import Exchange, Origin

from ..aspects import judge_exchange
from ..decide import Known, Terms, decide
from ..facts_cells import known_failure, known_use
from ..reading import Reading
from ..rows import LawRow, ended
from . import LAWS, Law
from .law import Breach
from .loss import LOSS
from .shrink import FEATURE_OF, as_case, shrink

MAX_FINDINGS: Final = 5
BUDGET: Final = 64 * 1024 * 1024
"""The number of bytes that may be replayed to make a failing exchange smaller. It is not a time, so
the result is the same on every machine.
"""

EMPTY_REPLAY: Final = 512
"""The cost of a replay of an empty body, in bytes."""


@dataclass(frozen=True, slots=True)
class LawCell:
    """One law, one exchange of a cassette, one adapter. ``number`` counts exchanges from 1."""

    law: Law
    cassette: str
    number: int
    exchange: Exchange
    adapter: Adapter
    origin: Origin | None = None
    options: RunOptions = NO_OPTIONS

    @property
    def subject(self) -> Subject:
        """The adapter with the options of its runs."""
        return Subject(self.adapter, self.options)

    @property
    def column(self) -> str:
        """The name of the adapter."""
        return self.adapter.name

    @property
    def name(self) -> str:
        """The name of its test item, such as ``law-3-nothing-lost-nothing-invented-2[art]`` for
        exchange 2.
        """
        return f"law-{self.law.id}-{self.law.name}-{self.number}[{self.column}]"

    @property
    def blank(self) -> LawRow:
        """Its row before it is judged: only its names."""
        law, adapter = self.law, self.adapter
        events = adapter.layer == "events"
        return LawRow(
            "not-run",
            "" if events else adapter.name,
            self.options.provider or "",
            self.cassette,
            self.number,
            layer="events" if events else "facts" if adapter.by_facts else "payloads",
            spec=f"laws/{law.name}",
            line=law.id,
            case=f"{self.cassette}.{self.number}",
            requirement=f"Law {law.id}, {law.title}. {law.sentence}",
            features=(law.feature,),
            source=law.source,
            origin=self.origin,
            end=self.exchange.end,
        )


@dataclass(frozen=True, slots=True)
class LawJudgement:
    """The result of one cell without evidence, and its breaches. ``exception``: the adapter's
    exception for the recording itself.
    """

    result: LawRow
    breaches: tuple[Breach, ...] = ()
    exception: BaseException | None = None


def cells(
    cassette: str,
    exchanges: Sequence[Exchange],
    adapters: Sequence[Adapter],
    origin: Origin | None = None,
) -> Iterator[LawCell]:
    """Yield one cell for each law, each exchange that generates, and each adapter of a law's
    layer.
    """
    for number, exchange in enumerate(exchanges, 1):
        if not exchange.generates:
            continue
        for law in LAWS:
            for adapter in adapters:
                if adapter.layer in law.layers:
                    options = RunOptions(
                        case=f"law-{law.id}-{law.name}",
                        cassette=cassette,
                        provider=exchange.provider,
                    )
                    yield LawCell(law, cassette, number, exchange, adapter, origin, options)


def judge_law(cell: LawCell) -> LawJudgement:
    """Judge one cell."""
    law, exchange, subject = cell.law, cell.exchange, cell.subject
    blank = cell.blank
    if fault := exchange.coding_fault:
        return LawJudgement(ended(blank, "error", fault))
    reason = law.not_run(exchange, subject)
    if reason:
        return LawJudgement(ended(blank, "not-run", reason))
    try:
        if skipped := _skipped(exchange, subject):
            return LawJudgement(ended(blank, "not-run", skipped))
        breaches = law.findings(exchange, subject)
    except AdapterError as error:
        return LawJudgement(ended(blank, "error", str(error)), exception=error.__cause__)
    known = [
        known_failure(subject.adapter, cell.cassette, f"law-{law.id}")
        or (breach.aspect and known_failure(subject.adapter, cell.cassette, breach.aspect))
        for breach in breaches
    ]
    judged = [f"law-{law.id}", *(ASPECTS if law is LOSS else ())]
    failed = {judged[0], *(breach.aspect for breach in breaches)} if breaches else set()
    unknown = [breach for breach, failure in zip(breaches, known, strict=True) if not failure]
    first = next((failure for failure in known if failure), None)
    is_known = bool(first) and not unknown
    findings = tuple(_finding(law, breach) for breach in unknown[:MAX_FINDINGS])
    verdict, reason, link = decide(
        [_finding(law, breach) for breach in breaches] or [Finding(f"law-{law.id}", "kept")],
        Terms(
            known=Known(first.reason, first.link, must_fail=False) if is_known and first else None
        ),
    )
    result = msgspec.structs.replace(
        blank,
        verdict=verdict,
        reason=reason,
        link=link,
        first_layer=blank.layer if unknown else "",
        findings=findings,
        known=known_use(subject.adapter, cell.cassette, judged, failed),
        findings_total=len(unknown),
    )
    raised = (breach.exception for breach in unknown if breach.exception)
    return LawJudgement(result, tuple(unknown), next(raised, None))


def _skipped(exchange: Exchange, subject: Subject) -> str:
    """Return the reason why an adapter that states its facts can't be judged on the exchange, or
    "".
    """
    transcript = subject.output(exchange).transcript if subject.adapter.by_facts else None
    return transcript.skipped if transcript else ""


def _finding(law: Law, breach: Breach) -> Finding:
    """Return the first mismatch, with the sentence as its remark. Without an expectation, the law
    and the sentence.
    """
    subject = f"law-{law.id}"
    if breach.expected is not None and breach.got is not None:
        for mismatch in compare(breach.expected, breach.got)[:1]:
            place = Place(path=mismatch.path)
            return Finding(subject, "wrong", "law", *sides(mismatch), place, breach.sentence)
    return Finding(subject, "wrong", "law", law.sentence, remark=breach.sentence)


def ready_made_case(cell: LawCell) -> str:
    """Return the smallest spec and cassette found that show a breach.

    The breach is the first of the cell, with smaller values. If the law holds, they show the
    exchange itself. If no cassette can hold the exchange, the text reports that.
    """
    law, adapter = cell.law, cell.adapter
    first = next(iter(judge_law(cell).breaches), Breach("", cell.exchange))
    spent = 0

    def run(exchange: Exchange, options: RunOptions) -> Output:
        nonlocal spent
        spent += len(exchange.body) + EMPTY_REPLAY
        return adapter.run(exchange, options)

    counted = Subject(replace(adapter, run=run), cell.options)

    def breaches(exchange: Exchange, subject: Subject) -> list[Breach]:
        try:
            if adapter.by_facts and law.not_run(exchange, subject):
                return []  # a case of such an answer is not red
            return [
                breach for breach in law.findings(exchange, subject) if breach.cause == first.cause
            ]
        except Exception:  # noqa: BLE001  # an adapter or an oracle may not read the smaller exchange
            return []

    small = shrink(
        cell.exchange,
        lambda exchange: spent < BUDGET and bool(breaches(exchange, counted)),
        adapter.effort.shrink,
    )
    shown = next(iter(breaches(small, cell.subject)), Breach("", small))
    features: tuple[str, ...] = (shown.feature or law.feature,)
    expected: dict[str, Any] = {}
    if adapter.by_facts:
        features = _features_of_facts(shown, cell.subject) or features
    elif shown.expected is not None and law.knows_expected:
        expected[adapter.model] = shown.expected
    else:
        expected[adapter.model] = None
    try:
        return as_case(
            shown.exchange,
            name=f"law-{law.id}-{law.name}",
            requirement=law.sentence,
            features=features,
            source=law.source,
            expect=expected,
        )
    except CassetteError as error:  # no cassette can hold the text; the finding remains
        return f"# no case can be written: {error}\n"


def _features_of_facts(breach: Breach, subject: Subject) -> tuple[str, ...]:
    """Return the features of a case that is red for a breach: that of its aspect, or those of all
    red aspects of its exchange.
    """
    reading = Reading(breach.exchange, subject.options)
    red = (breach.aspect,) if breach.aspect else judge_exchange(reading, subject.adapter).red
    return tuple(dict.fromkeys(FEATURE_OF[aspect] for aspect in red))
