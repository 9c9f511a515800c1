"""The judge: one cell — a case, and the adapter or layer it is judged for — becomes one `CaseResult`.

An adapter is any callable that takes an exchange and gives payloads; ours (`own_adapter`) and a user's are judged alike. Payloads are
compared last: where a case also expects frames or events, the first layer that differs is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import msgspec

from .cassette import Cassette, CassetteError, Exchange
from .matching import Mismatch, compare, sides
from .replaying import ReplayError, choose_provider, replay
from .results import CaseResult, Finding, FirstLayer, Layer, Origin, Verdict
from .spec import Case

Adapter = Callable[[Exchange, Case], list[Any]]
"""What is under test: an exchange goes in, payloads come out."""

NOTHING_EXPECTED: Final = "nothing is expected yet; write it, or run once with --harness-accept and review what that fills in"

MAX_FINDINGS: Final = 20
MAX_WIRE: Final = 1500


@dataclass(frozen=True, slots=True)
class Cell:
    """One case for one column: the name of a dialect, or ``events`` or ``frames``. ``spec`` is the file's path below the specs' root."""

    case: Case
    spec: str
    column: str

    @property
    def layer(self) -> Layer:
        if self.column == "events":
            return "events"
        return "frames" if self.column == "frames" else "payloads"

    @property
    def name(self) -> str:
        """The name of its test item: ``case[column]``."""
        return f"{self.case.case}[{self.column}]"


def own_adapter(dialect: str) -> Adapter:
    """Our own way from an exchange to the payloads of ``dialect``."""

    def adapt(exchange: Exchange, case: Case) -> list[Any]:
        return replay(exchange, provider=case.provider, dialect=dialect, tool_code=case.tool_code)

    return adapt


def judge(cell: Cell, load: Callable[[str], Cassette], adapter: Adapter | None = None, *, today: date | None = None) -> CaseResult:
    """Run one cell.

    ``load`` gives the cassette of a name or raises `CassetteError`; ``today`` decides whether a known-failing mark has expired.
    """
    case = cell.case
    blank = _blank_result(cell)
    not_run = NOTHING_EXPECTED if case.expect[cell.column] is None else ""
    try:
        exchange, origin = _pick(case, load)
        provider = choose_provider(exchange, case.provider)
    except (CassetteError, ReplayError) as error:
        return msgspec.structs.replace(blank, verdict="not-run" if not_run else "error", reason=not_run or str(error))
    blank = msgspec.structs.replace(blank, provider=provider, origin=origin, end=exchange.end, wire=_excerpt(exchange))
    if not_run:
        return msgspec.structs.replace(blank, verdict="not-run", reason=not_run)
    try:
        got = adapter(exchange, case) if adapter else produce(cell, exchange)
    except Exception as error:  # noqa: BLE001  # an adapter under test may raise anything; that is its result
        return msgspec.structs.replace(blank, verdict="error", reason=f"the adapter raised {type(error).__name__}: {error}")
    mismatches = compare(case.expect[cell.column], got)
    verdict, reason, link = _verdict(cell, bool(mismatches), today)
    return msgspec.structs.replace(
        blank,
        verdict=verdict,
        reason=reason,
        link=link,
        first_layer=_first_layer(cell, exchange) if mismatches else "",
        findings=tuple(_finding(mismatch) for mismatch in mismatches[:MAX_FINDINGS]),
        findings_total=len(mismatches),
    )


def _blank_result(cell: Cell) -> CaseResult:
    case = cell.case
    return CaseResult(
        spec=cell.spec,
        line=case.line,
        case=case.case,
        requirement=case.requirement,
        features=case.features,
        level=case.level,
        source=case.source,
        provider=case.provider or "",
        adapter=cell.column if cell.layer == "payloads" else "",
        layer=cell.layer,
        verdict="not-run",
        cassette=case.cassette,
        exchange=case.exchange,
    )


def _pick(case: Case, load: Callable[[str], Cassette]) -> tuple[Exchange, Origin]:
    cassette = load(case.cassette)
    count = len(cassette.exchanges)
    if case.exchange > count:
        raise CassetteError(
            f"cassette {case.cassette} has {count} exchange{'s' if count != 1 else ''}; the case names number {case.exchange}"
        )
    exchange = cassette.exchanges[case.exchange - 1]
    if not exchange.generates:
        raise CassetteError(f"exchange {case.exchange} of cassette {case.cassette} does not generate; there is nothing to replay")
    return exchange, msgspec.convert(cassette.origin, Origin, from_attributes=True)


def produce(cell: Cell, exchange: Exchange) -> list[Any]:
    """What our own pipeline gives for a cell's column."""
    if cell.layer == "payloads":
        return own_adapter(cell.column)(exchange, cell.case)
    return replay(exchange, provider=cell.case.provider, layer=cell.layer, tool_code=cell.case.tool_code)


def _first_layer(cell: Cell, exchange: Exchange) -> FirstLayer:
    """The lowest layer that this case expects something of and that differs; at the least, the cell's own."""
    for column in ("frames", "events"):
        if cell.layer == column:
            break
        expected = cell.case.expect.get(column)
        if expected is not None and compare(expected, produce(Cell(cell.case, cell.spec, column), exchange)):
            return "frames" if column == "frames" else "events"
    return cell.layer


def _verdict(cell: Cell, differs: bool, today: date | None) -> tuple[Verdict, str, str]:
    case = cell.case
    known = case.known_failing.get(cell.column)
    if known and not differs:
        return "fixed", f"this cell passes; take its known_failing mark away ({known.reason})", known.link
    if known and known.expires and today and known.expires < today:
        return "failed", f"the known-failing mark expired on {known.expires}: {known.reason}", known.link
    if known:
        return "known-failing", known.reason, known.link
    if differs:
        return ("warning" if case.level == "should" else "failed"), "", ""
    if case.reviewed == "no":
        return "not-run", "an expectation of this case was accepted from a run; read it, then delete `reviewed: no`", ""
    lost = case.not_carried.get(cell.column)
    if lost:
        return "not-carried", f"{cell.column} does not carry {', '.join(lost)}; this is declared", ""
    return "passed", "", ""


def _finding(mismatch: Mismatch) -> Finding:
    return Finding(mismatch.path, mismatch.kind, *sides(mismatch), mismatch.note)


def _excerpt(exchange: Exchange) -> str:
    """The beginning of the body, and how long it is."""
    size = sum(len(data) for _, data in exchange.reads)
    head = b""
    for _, data in exchange.reads:
        head += data[:MAX_WIRE]
        if len(head) > MAX_WIRE:
            break
    text = head[:MAX_WIRE].decode("utf-8", "backslashreplace")
    return text if size <= MAX_WIRE else f"{text}\n… {size} bytes in all"
