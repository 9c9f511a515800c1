"""The judge: one cell — a case, and the adapter or layer it is judged for — becomes one
`CaseResult`.

An adapter is any callable that takes an exchange and gives payloads; ours (`own_adapter`) and a
user's are judged alike. Payloads are compared last: where a case also expects frames or events, the
first layer that differs is named. What a case asks instead, the request half of an event model
answers, ours or somebody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Literal

import msgspec

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.dialects.dialect import RequestTranslator
from harness.pipeline.conversation import converse, expected_requests, sent
from harness.pipeline.replay import (
    DEFAULT_PROVIDER,
    ReplayError,
    choose_provider,
    is_answer,
    replay,
)
from harness.pipeline.request import request_translator
from harness.specs import Case
from harness.specs.matching import Mismatch, compare, sides
from harness.stream.generation import TranslationError
from harness.stream.printable import excerpt
from harness.stream.session import Session

from .results import CaseResult, Finding, FirstLayer, Layer, Origin, Verdict

Adapter = Callable[[Exchange, Case], list[Any]]
"""What is under test: an exchange goes in, payloads come out."""


class AdapterError(Exception):
    """An adapter that can't be called, or that broke a rule of the calling: the message says
    which.
    """


class AdapterMissing(AdapterError):
    """An adapter that needs what is not installed: its cells are not run. The message has the
    command that installs it.
    """


NOTHING_EXPECTED: Final = (
    "nothing is expected yet; write it, or run once with --harness-accept and review what that"
    " fills in"
)

MAX_FINDINGS: Final = 20
MAX_WIRE: Final = 1500


@dataclass(frozen=True, slots=True)
class Cell:
    """One case for one column: the name of a dialect or of an adapter, or ``events`` or ``frames``.

    ``spec`` is the file's path below the specs' root. ``dialect`` is the key of ``expect`` that an
    adapter of another name is held to.
    """

    case: Case
    spec: str
    column: str
    dialect: str = ""

    @property
    def key(self) -> str:
        """The key of the case's ``expect``."""
        return self.dialect or self.column

    @property
    def layer(self) -> Layer:
        if self.case.kind != "stream":
            return "requests"
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
        session = Session(context=case.context)
        return replay(
            exchange,
            provider=case.provider,
            dialect=dialect,
            tool_code=case.tool_code,
            session=session,
        )

    return adapt


@dataclass(frozen=True, slots=True)
class Fixture:
    """What a case stands on: the exchanges that it names (a request case names none), where they
    are from, and whose wire it is.

    An exchange that does not tell its provider is given that one.
    """

    exchanges: tuple[Exchange, ...]
    origin: Origin | None
    provider: str


def judge(
    cell: Cell,
    load: Callable[[str], Cassette],
    adapter: Adapter | None = None,
    *,
    requests: RequestTranslator | None = None,
    today: date | None = None,
    watch: Callable[[Any], None] | None = None,
) -> CaseResult:
    """Run one cell.

    ``load`` gives the cassette of a name or raises `CassetteError`; ``today`` decides whether a
    known-failing mark has expired. ``adapter`` and ``requests`` are judged in place of our own.
    ``watch`` is told what came out, before it is compared.
    """
    case = cell.case
    blank = _blank_result(cell)
    not_run = case.expect[cell.key] is None
    try:
        ground = resolve_fixture(case, load)
        expected = case.expect[cell.key]
        if cell.layer == "requests" and not not_run:
            expected = expected_requests(case, expected, ground.exchanges)
    except (CassetteError, ReplayError) as error:
        reason = f"nothing is expected yet, and {error}" if not_run else str(error)
        return msgspec.structs.replace(
            blank, verdict="not-run" if not_run else "error", reason=reason
        )
    blank = msgspec.structs.replace(
        blank, provider=ground.provider, origin=ground.origin, **_seen(ground.exchanges)
    )
    if not_run:
        return msgspec.structs.replace(blank, verdict="not-run", reason=NOTHING_EXPECTED)
    try:
        with adapter_faults():
            got = (
                adapter(ground.exchanges[0], case)
                if adapter and cell.layer == "payloads"
                else produce(cell, ground, requests)
            )
    except AdapterError as error:
        verdict: Verdict = "not-run" if isinstance(error, AdapterMissing) else "error"
        return msgspec.structs.replace(blank, verdict=verdict, reason=str(error))
    if watch:
        watch(got)
    return _compare(blank, cell, ground, (expected, got), today)


def _compare(
    blank: CaseResult, cell: Cell, ground: Fixture, pair: tuple[Any, Any], today: date | None
) -> CaseResult:
    """``blank`` with what a comparison of the expected with what came out says."""
    mismatches = compare(*pair)
    verdict, reason, link = _verdict(cell, bool(mismatches), today)
    return msgspec.structs.replace(
        blank,
        verdict=verdict,
        reason=reason,
        link=link,
        first_layer=_first_layer(cell, ground) if mismatches else "",
        findings=tuple(_finding(mismatch) for mismatch in mismatches[:MAX_FINDINGS]),
        findings_total=len(mismatches),
    )


@contextmanager
def adapter_faults() -> Iterator[None]:
    """Whatever an adapter under test raises, as an `AdapterError` that says what and where."""
    try:
        yield
    except AdapterError:
        raise
    # an adapter under test may raise anything; that is its result
    except (Exception, SystemExit) as error:  # noqa: BLE001
        raise AdapterError(
            f"the adapter raised {type(error).__name__}{_raised_at(error)}: {error}"
        ) from None


def _raised_at(error: BaseException) -> str:
    """`` at name.py:12``: the innermost line of the traceback."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return (
        f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        if trace
        else ""
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
        adapter=cell.column if cell.layer in ("payloads", "requests") else "",
        layer=cell.layer,
        verdict="not-run",
        cassette=case.cassette,
        exchange=case.exchange,
    )


def resolve_fixture(case: Case, load: Callable[[str], Cassette]) -> Fixture:
    """What the case names; raises `CassetteError` where that is not there, `ReplayError` for a
    provider that nobody knows.
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
    origin = msgspec.convert(cassette.origin, Origin, from_attributes=True)
    provider = choose_provider(named[0], case.provider)
    exchanges = tuple(
        exchange if exchange.provider else replace(exchange, provider=provider)
        for exchange in named
    )
    return Fixture(exchanges, origin, provider)


def produce(cell: Cell, ground: Fixture, requests: RequestTranslator | None = None) -> Any:
    """What our own pipeline gives for a cell's column, with ``requests`` in place of our own
    request half.
    """
    case = cell.case
    match case.kind:
        case "stream":
            if cell.layer == "payloads":
                return own_adapter(cell.column)(ground.exchanges[0], case)
            return replay(
                ground.exchanges[0],
                provider=case.provider,
                layer=_replayed(cell),
                tool_code=case.tool_code,
            )
        case "request":
            try:
                half = requests or request_translator(cell.column)
            except TranslationError as error:
                return {"error": str(error)}
            return sent(
                case.prompt[cell.column],
                half,
                ground.provider,
                case.options.get(cell.column, {}),
                Session(),
            )
        case "conversation":
            return converse(
                case, cell.column, ground.exchanges, requests or request_translator(cell.column)
            )


def _replayed(cell: Cell) -> Literal["events", "frames"]:
    return "events" if cell.column == "events" else "frames"


def _first_layer(cell: Cell, ground: Fixture) -> FirstLayer:
    """The lowest layer that this case expects something of and that differs; at the least, the
    cell's own.
    """
    for column in ("frames", "events"):
        if cell.layer in (column, "requests"):
            break
        expected = cell.case.expect.get(column)
        if expected is not None and compare(
            expected, produce(Cell(cell.case, cell.spec, column), ground)
        ):
            return "frames" if column == "frames" else "events"
    return cell.layer


def _verdict(cell: Cell, differs: bool, today: date | None) -> tuple[Verdict, str, str]:
    case = cell.case
    known = case.known_failing.get(cell.column)
    if known and not differs:
        return (
            "fixed",
            f"this cell passes; take its known_failing mark away ({known.reason})",
            known.link,
        )
    if known and known.expires and today and known.expires < today:
        return (
            "failed",
            f"the known-failing mark expired on {known.expires}: {known.reason}",
            known.link,
        )
    if known:
        return "known-failing", known.reason, known.link
    if differs:
        return ("warning" if case.level == "should" else "failed"), "", ""
    if case.reviewed == "no":
        return (
            "unreviewed",
            (
                "an expectation of this case was accepted from a run; read it, then delete"
                " `reviewed: no`"
            ),
            "",
        )
    lost = case.not_carried.get(cell.key)
    if lost:
        return "not-carried", f"{', '.join(lost)}, as declared", ""
    return "passed", "", ""


def _finding(mismatch: Mismatch) -> Finding:
    return Finding(mismatch.path, mismatch.kind, *sides(mismatch), mismatch.note)


def _seen(exchanges: tuple[Exchange, ...]) -> dict[str, Any]:
    """How the last of the exchanges ended and what it looked like; nothing of a case without
    any.
    """
    return {"end": exchanges[-1].end, "wire": _excerpt(exchanges[-1])} if exchanges else {}


def _excerpt(exchange: Exchange) -> str:
    """The beginning of the body, and how long it is."""
    return excerpt(exchange.body.decode("utf-8", "backslashreplace"), MAX_WIRE)
