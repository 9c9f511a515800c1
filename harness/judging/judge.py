"""The judge: makes one `Judgement` of one cell, which is a case and an adapter or layer.

For a stream case of our own adapters, the exchange is framed and replayed once. The result and the
evidence (`judging.evidence`) both use that replay. For a user's adapter, the result is made
from its own output. Our replay runs only if frames or events are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, partial
from typing import Any, Final, Literal

import msgspec

from harness.adapters import (
    ADAPTERS,
    EVENTS,
    FACTS,
    FRAMES,
    Adapter,
    AdapterError,
    AdapterMissing,
    Normalize,
    Output,
    RunOptions,
)
from harness.cassettes import Cassette, CassetteError, Exchange, Origin
from harness.facts import Aspect, AspectVerdict, Finding
from harness.pipeline.conversation import converse, expected_requests, sent
from harness.pipeline.replay import (
    Normalized,
    ReplayError,
    Trace,
    choose_provider,
    is_answer,
    plain_frame,
)
from harness.pipeline.request import DEFAULT_PROVIDER, request_translator
from harness.specs.matching import Mismatch, MismatchKind, compare, sides
from harness.specs.models import Case
from harness.stream.generation import TranslationError
from harness.stream.session import Session

from .aspects import compare_output, judge_exchange
from .attempts import attempts_after
from .decide import Known, Terms, decide
from .facts_cells import result_by_facts
from .invented_ids import compare_with_ids
from .reading import Reading
from .rows import CaseRow, CellLayer, Verdict, ended

LowerLayer = Literal["frames", "events"]

NOTHING_EXPECTED: Final = (
    "nothing is expected yet; write an expectation, or run once with --harness-accept and review"
    " the payloads that it writes"
)

SOME_COUNTS: Final = {
    "thoughtsTokenCount": "thought tokens",
    "cachedContentTokenCount": "cached tokens",
}
"""Token counts that only some wires have, by their names in `Facts`."""
VERDICT_OF: Final[Mapping[MismatchKind, AspectVerdict]] = {
    "missing": "lost",
    "extra": "wrong",
    "changed": "wrong",
    "moved": "wrong",
    "recut": "wrong",
}
MAX_FINDINGS: Final = 20
MAX_FINDING_TEXT: Final = 8_000
"""The maximum number of characters in all findings of a cell."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One case for one column."""

    case: Case
    spec: str
    """The file's path relative to the root of the specs."""
    column: str
    """The name of an adapter, ``events`` or ``frames``."""
    dialect: str = ""
    """The key of ``expect`` for an adapter with another name."""
    lost_features: tuple[str, ...] | None = None
    """The features of the case that its declared losses concern; None means all."""
    aspects: tuple[tuple[str, tuple[Aspect, ...] | None], ...] = ()
    """The aspects of each feature, for an adapter that states its facts; None means all."""

    @property
    def key(self) -> str:
        """The key in the case's ``expect``."""
        return self.dialect or self.column

    @property
    def layer(self) -> CellLayer:
        if self.case.kind != "stream":
            return "requests"
        if self.column == "events":
            return "events"
        if self.dialect == FACTS:
            return "facts"
        return "frames" if self.column == "frames" else "payloads"

    @property
    def name(self) -> str:
        """The name of its test item: ``case[column]``."""
        return f"{self.case.case}[{self.column}]"

    @property
    def blank(self) -> CaseRow:
        """Its row before it is judged: only its names."""
        case = self.case
        return CaseRow(
            "not-run",
            self.column if self.layer in ("payloads", "requests", "facts") else "",
            case.provider or "",
            cassette=case.cassette,
            exchange=case.exchange,
            layer=self.layer,
            spec=self.spec,
            line=case.line,
            case=case.case,
            requirement=case.requirement,
            features=case.features,
            level=case.level,
            source=case.source,
            regression_of=case.regression_of,
            question=case.question or "",
        )


@dataclass(frozen=True, slots=True)
class Fixture:
    """The exchanges that a case names, with origin and provider. A request case has none.

    ``following``: the exchanges after them in the cassette.
    """

    exchanges: tuple[Exchange, ...]
    origin: Origin | None
    provider: str
    following: tuple[Exchange, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """The judgement of one cell: its result without evidence, and the data that the evidence
    needs.
    """

    cell: Cell
    result: CaseRow
    fixture: Fixture | None = None
    output: Output | None = None
    """None if no comparison ran."""
    mismatches: dict[CellLayer, list[Mismatch]] = field(default_factory=dict)
    """The mismatches of each layer that differs. The layers below the cell's own layer are compared
    only if that layer differs.
    """
    exception: BaseException | None = None
    """The exception that the adapter raised, if it was raised in this process."""
    reading: Reading | None = None
    """The reading of the answer, for an adapter that states its facts."""

    @cached_property
    def trace(self) -> Trace:
        """The frames and events of the answer. They are from the run, or from one replay for a
        user's adapter.
        """
        if self.fixture is None or not self.fixture.exchanges:
            return Trace()
        return _trace(self.cell.case, self.fixture, self.output)


def judge(
    cell: Cell,
    load: Callable[[str], Cassette],
    adapter: Adapter | None = None,
    *,
    today: date | None = None,
    normalize: Normalize | None = None,
) -> Judgement:
    """Judge one cell.

    ``load`` gives the cassette with a name, or raises `CassetteError`. ``adapter`` is judged
    instead of our own adapter. ``today`` decides whether a known-failing mark has expired.
    ``normalize`` is for cells that share their exchange; see `NormalizedOnce`.
    """
    case = cell.case
    blank = cell.blank
    by_facts = cell.layer == "facts"
    expected = None if by_facts else case.expect[cell.key]
    not_run = expected is None and not by_facts
    try:
        fixture = resolve_fixture(case, load)
    except (CassetteError, ReplayError) as error:
        reason = f"nothing is expected yet, and {error}" if not_run else str(error)
        return Judgement(cell, ended(blank, "not-run" if not_run else "error", reason))
    blank = msgspec.structs.replace(
        blank,
        provider=fixture.provider,
        origin=fixture.origin,
        end=fixture.exchanges[-1].end if fixture.exchanges else "unknown",
    )
    if not_run:
        return Judgement(cell, ended(blank, "not-run", NOTHING_EXPECTED), fixture)
    if by_facts:
        return _judge_facts(cell, fixture, adapter, blank, today)
    try:
        output = run_cell(cell, fixture, adapter, normalize)
        if cell.layer == "requests":
            expected = expected_requests(case, expected, fixture.exchanges, output.items)
    except (CassetteError, AdapterError) as error:
        verdict: Verdict = "not-run" if isinstance(error, AdapterMissing) else "error"
        row = ended(blank, verdict, str(error))
        return Judgement(cell, row, fixture, exception=error.__cause__)
    own = _compare(cell, fixture, adapter, expected, output.items)
    below = [layer for layer in _BELOW.get(cell.layer, ()) if case.expect.get(layer) is not None]
    if own and below:
        output = replace(output, trace=_trace(case, fixture, output))
    mismatches = _mismatches(cell, own, below, output) if own else {}
    verdict, reason, link = decide(_exact(cell, own), _terms(cell, today))
    result = msgspec.structs.replace(
        blank,
        verdict=verdict,
        reason=reason,
        link=link,
        lost_features=cell.lost_features if verdict == "not-carried" else None,
        first_layer=next(iter(mismatches), ""),
        findings=_findings(own),
        findings_total=len(own),
        answered=_answered(cell, fixture, adapter, output) if case.question else {},
    )
    return Judgement(cell, result, fixture, output, mismatches)


def _answered(
    cell: Cell, fixture: Fixture, adapter: Adapter | None, output: Output
) -> dict[str, AspectVerdict]:
    """Return the verdict of each aspect that the wire has, for payloads of a case with a question.
    Token counts that not every wire has are separate aspects. They have the verdict of all counts.
    """
    if cell.layer != "payloads":
        return {}
    reading = Reading(fixture.exchanges[0], RunOptions.of(cell.case))
    judged = compare_output(reading, adapter or _own(cell.column), output)
    answered = {str(aspect): finding.verdict for aspect, finding in judged.aspects.items()}
    if "usage" in answered:
        answered |= {
            name: answered["usage"]
            for count, name in SOME_COUNTS.items()
            if count in reading.facts.usage
        }
    return answered


def _compare(
    cell: Cell, fixture: Fixture, adapter: Adapter | None, expected: Any, items: list[Any]
) -> list[Mismatch]:
    """Compare the items of a run. For a user's adapter, ids that our own dialect invents for this
    exchange are compared by reference.
    """
    mismatches = compare(expected, items)
    if not mismatches or adapter is None or adapter.reference is None:
        return mismatches
    options = RunOptions.of(cell.case)
    own = adapter.reference.output(fixture.exchanges[0], options)
    invented = own.session.invented
    return compare_with_ids(expected, items, invented) if invented else mismatches


def _judge_facts(
    cell: Cell, fixture: Fixture, adapter: Adapter | None, blank: CaseRow, today: date | None
) -> Judgement:
    """Judge a cell of an adapter that states its facts. The spec has no expectation for it."""
    exchange = fixture.exchanges[0]
    options = msgspec.structs.replace(
        RunOptions.of(cell.case), attempts=partial(attempts_after, exchange, fixture.following)
    )
    chosen, reading = adapter or _own(cell.column), Reading(exchange, options)
    judged = judge_exchange(reading, chosen, cassette=cell.case.cassette, number=cell.case.exchange)
    result = result_by_facts(blank, judged, chosen, cell.aspects, _terms(cell, today))
    output = Output.of_transcript(judged.transcript) if judged.transcript else None
    return Judgement(cell, result, fixture, output, exception=judged.exception, reading=reading)


def resolve_fixture(case: Case, load: Callable[[str], Cassette]) -> Fixture:
    """Return the exchanges that the case names. Raises `CassetteError` if they do not exist, and
    `ReplayError` for an unknown provider.
    """
    if case.kind == "request":
        return Fixture((), None, case.provider or DEFAULT_PROVIDER)
    cassette = load(case.cassette)
    count = len(cassette.exchanges)
    last = case.exchange + max(len(case.turns), 1) - 1
    if last > count:
        raise CassetteError(
            f"cassette {case.cassette} has {count} exchange{'s' if count != 1 else ''}; the case"
            f" names number {last}"
        )
    named = cassette.exchanges[case.exchange - 1 : last]
    for number, exchange in enumerate(named, case.exchange):
        if not is_answer(exchange, case.provider):
            raise CassetteError(
                f"exchange {number} of cassette {case.cassette} does not generate; there is nothing"
                " to replay"
            )
        if fault := exchange.coding_fault:
            raise CassetteError(f"exchange {number} of cassette {case.cassette}: {fault}")
    provider = choose_provider(named[0], case.provider)
    exchanges = tuple(
        exchange if exchange.provider else replace(exchange, provider=provider)
        for exchange in named
    )
    return Fixture(exchanges, cassette.origin, provider, cassette.exchanges[last:])


def run_cell(
    cell: Cell,
    fixture: Fixture,
    adapter: Adapter | None = None,
    normalize: Normalize | None = None,
) -> Output:
    """Run the adapter of a cell, by default our own adapter. Raises `AdapterError`."""
    if cell.layer == "requests":
        return Output(_requests(cell, fixture, adapter))
    chosen = adapter or _own(cell.column)
    return chosen.output(fixture.exchanges[0], RunOptions.of(cell.case), normalize)


class NormalizedOnce:
    """A `Normalize` that keeps the last exchange, because the cells of one case are consecutive."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._normalized: Normalized | None = None

    def __call__(
        self, exchange: Exchange, provider: str | None, tool_code: bool | None
    ) -> Normalized:
        key = exchange, provider, tool_code
        if self._normalized is None or self._key[0] is not exchange or self._key != key:
            self._key, self._normalized = key, Normalized(exchange, provider, tool_code)
        return self._normalized


def _own(column: str) -> Adapter:
    of_layers = {"events": EVENTS, "frames": FRAMES}
    adapter = of_layers.get(column) or ADAPTERS.get(column)
    if adapter is None:
        known = ", ".join([*of_layers, *ADAPTERS])
        raise AdapterError(f"there is no adapter {column}; ours are {known}")
    return adapter


def _requests(cell: Cell, fixture: Fixture, adapter: Adapter | None) -> Any:
    """Return the request of a request case, or a list with the request of every turn."""
    case = cell.case
    try:
        own = adapter.request if adapter else None
        translator = own or request_translator(cell.column)
    except TranslationError as error:
        return {"error": str(error)}
    if case.kind == "conversation":
        return converse(case, cell.column, fixture.exchanges, translator)
    options = case.options.get(cell.column, {})
    return sent(case.prompt[cell.column], translator, fixture.provider, options, Session())


def _trace(case: Case, fixture: Fixture, output: Output | None) -> Trace:
    if output is not None and output.trace is not None:
        return output.trace
    return Normalized(fixture.exchanges[0], case.provider, case.tool_code).trace


def _mismatches(
    cell: Cell, own: list[Mismatch], below: list[LowerLayer], output: Output
) -> dict[CellLayer, list[Mismatch]]:
    """Return the mismatches of every layer of a red cell that differs, the lowest layer first."""
    lower_layers: dict[CellLayer, list[Mismatch]] = {}
    for layer in below:
        expected = cell.case.expect[layer]
        if output.trace and (lower := compare(expected, layer_items(output.trace, layer))):
            lower_layers[layer] = lower
    return lower_layers | {cell.layer: own}


_BELOW: Final[dict[CellLayer, tuple[LowerLayer, ...]]] = {
    "payloads": ("frames", "events"),
    "events": ("frames",),
}


def layer_items(trace: Trace, layer: LowerLayer) -> list[Any]:
    """Return the frames or events as plain JSON data."""
    if layer == "frames":
        return [plain_frame(frame) for frame in trace.frames]
    return [msgspec.to_builtins(event) for event in trace.events]


def _terms(cell: Cell, today: date | None) -> Terms:
    """Return the declarations of the case."""
    case = cell.case
    known = None
    if mark := case.known_failing.get(cell.column):
        is_over = mark.expires and today and mark.expires < today
        known = Known(mark.reason, mark.link, str(mark.expires) if is_over else "")
    return Terms(case.level, known, cell.layer != "facts" and case.reviewed == "no")


def _exact(cell: Cell, mismatches: Sequence[Mismatch]) -> list[Finding]:
    """Return the findings of an exact comparison. Without a mismatch, the whole value is kept, or
    not carried as the case declares.
    """
    if mismatches:
        return [
            Finding(mismatch.path, VERDICT_OF[mismatch.kind], mismatch.kind)
            for mismatch in mismatches
        ]
    lost = cell.case.not_carried.get(cell.key)
    if lost:
        return [Finding("$", "not_carried", "declared", ", ".join(lost))]
    return [Finding("$", "kept")]


def _findings(mismatches: list[Mismatch]) -> tuple[Finding, ...]:
    """Return the first findings: at least one, and not more than fit into a report."""
    findings: list[Finding] = []
    room = MAX_FINDING_TEXT
    for mismatch in mismatches[:MAX_FINDINGS]:
        expected, got = sides(mismatch)
        finding = Finding(
            mismatch.path,
            VERDICT_OF[mismatch.kind],
            mismatch.kind,
            expected,
            got,
            remark=mismatch.note,
        )
        texts = (mismatch.path, expected, got, mismatch.note)
        room -= sum(len(text or "") for text in texts)
        if findings and room < 0:
            break
        findings.append(finding)
    return tuple(findings)
