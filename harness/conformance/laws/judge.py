"""Laws as results: one `CaseResult` for a law, an exchange and a dialect or adapter, with a
ready-made case where the law is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from harness.cassettes import CassetteError, Exchange
from harness.pipeline.replay import DEFAULT_PROVIDER
from harness.specs.accept import as_read
from harness.specs.matching import compare, sides
from harness.stream.exchange import Origin as CassetteOrigin

from ..results import CaseResult, Finding, Origin
from . import LAWS, Law
from .corruption import breaking_damage
from .cuts import breaking_cuts, breaking_prefix, shortened, with_cuts
from .replayer import Replayer
from .respelling import FEATURES, breaking_spelling
from .shrink import TRIES, as_case, shrink
from .strangers import ASKED, AdapterFault, Breach, OutOfTime, Stranger, unasked

MAX_FINDINGS: Final = 5
BUDGET: Final = 64 * 1024 * 1024
"""Bytes that may be replayed while a breach is made small: a count, not a time, so that the result
is the same on every machine.
"""

A_REPLAY: Final = 512
"""What a replay of nothing costs, in bytes."""

OWN_TRIES: Final = 3
"""Replays that a law of events asks of the payloads of a dialect of ours: the events, of which
these are made, are tried everywhere.
"""

FEW_SMALLER: Final = 60
"""A breach by a user's adapter is made small in so many tries: each may start as many programs as
its law takes.
"""

Expect = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LawCell:
    """One law, held against one exchange of a cassette, for ``column``: a dialect, ``events``, or a
    user's adapter of that name.

    ``dialect`` is the event model whose payloads that adapter gives; "" for columns of our own.
    """

    law: Law
    cassette: str
    number: int
    exchange: Exchange
    column: str
    origin: CassetteOrigin | None = None
    dialect: str = ""

    @property
    def name(self) -> str:
        """The name of its test item: ``law-3-nothing-lost-nothing-invented-2[art]`` is about
        exchange 2.
        """
        return f"law-{self.law.id}-{self.law.name}-{self.number}[{self.column}]"


def cells(
    cassette: str,
    exchanges: Sequence[Exchange],
    dialects: Sequence[str],
    origin: CassetteOrigin | None = None,
    adapters: Mapping[str, str] | None = None,
) -> Iterator[LawCell]:
    """A cell for every law, generate exchange and dialect, and each of ``adapters`` (name → event
    model).

    A law of events alone has one for these, and asks of a dialect's payloads what it asks of an
    adapter's.
    """
    for number, exchange in enumerate(exchanges, 1):
        if exchange.generates:
            for law in LAWS:
                for column in dialects if "payloads" in law.layers else ("events", *dialects):
                    yield LawCell(law, cassette, number, exchange, column, origin)
                for name, dialect in (adapters or {}).items():
                    yield LawCell(law, cassette, number, exchange, name, origin, dialect)


def hold(
    cell: LawCell,
    replay: Callable[..., Any] | None = None,
    stranger: Stranger | None = None,
    watch: Callable[[Sequence[Breach]], None] | None = None,
) -> CaseResult:
    """The result of one cell; ``replay``: another's in place of ours; ``stranger``: the user's
    adapter that the cell is about.

    ``watch`` is told the breaches, each with the answer that shows it.
    """
    law, exchange, how = cell.law, cell.exchange, _replayer(cell, replay)
    blank = _blank(cell, how)
    stranger = stranger or _payloads_alone(cell, how)
    reason = unasked(law.id, exchange, stranger) if stranger else law.unasked(exchange, how)
    if reason:
        return msgspec.structs.replace(blank, verdict="not-run", reason=reason)
    try:
        found = (
            ASKED[law.id](exchange, stranger)
            if stranger
            else [Breach(one, exchange) for one in law.findings(exchange, how)]
        )
    except (AdapterFault, OutOfTime) as fault:
        return msgspec.structs.replace(blank, verdict="error", reason=str(fault))
    if watch:
        watch(found)
    return msgspec.structs.replace(
        blank,
        verdict="failed" if found else "passed",
        first_layer=blank.layer if found else "",
        findings=tuple(
            _finding(law.id, law.said_of(blank.layer), breach) for breach in found[:MAX_FINDINGS]
        ),
        findings_total=len(found),
    )


def _finding(number: int, sentence: str, breach: Breach) -> Finding:
    """Path and sides where payloads part from payloads, with the sentence as its note; else what
    the law says, and the sentence.
    """
    if breach.expected is not None and breach.got is not None:
        for mismatch in compare(as_read(breach.expected), breach.got)[:1]:
            return Finding(mismatch.path, f"law {number}", *sides(mismatch), breach.sentence)
    return Finding("", f"law {number}", sentence, breach.sentence)


def _blank(cell: LawCell, how: Replayer) -> CaseResult:
    law, payloads = cell.law, cell.column != "events"
    return CaseResult(
        spec=f"laws/{law.name}",
        line=law.id,
        case=f"{cell.cassette}.{cell.number}",
        requirement=f"Law {law.id}, {law.title}. {law.sentence}",
        features=(law.feature,),
        level="must",
        source=law.source,
        provider=how.provider or "",
        adapter=cell.column if payloads else "",
        layer="payloads" if payloads else "events",
        verdict="not-run",
        cassette=cell.cassette,
        exchange=cell.number,
        origin=msgspec.convert(cell.origin, Origin, from_attributes=True) if cell.origin else None,
        end=cell.exchange.end,
    )


def _replayer(cell: LawCell, replay: Callable[..., Any] | None) -> Replayer:
    dialect = "unified-llm" if cell.column == "events" or cell.dialect else cell.column
    how = Replayer(cell.exchange.provider or DEFAULT_PROVIDER, dialect)
    return replace(how, replay=replay) if replay else how


def _payloads_alone(cell: LawCell, how: Replayer) -> Stranger | None:
    """A dialect of ours as an adapter, for a law that looks at events and has no other way to ask
    for payloads.
    """
    if "payloads" in cell.law.layers or cell.column == "events" or cell.dialect:
        return None
    return Stranger(cell.column, cell.column, how.payloads, OWN_TRIES, bytewise=False)


def ready_made_case(
    cell: LawCell, replay: Callable[..., Any] | None = None, stranger: Stranger | None = None
) -> str:
    """A spec and a cassette that show a breach, as small as was found; the empty string where the
    law holds or nothing can be written.
    """
    law, how = cell.law, _replayer(cell, replay)
    stranger = stranger or _payloads_alone(cell, how)
    shown = _example_of_stranger(cell, stranger) if stranger else _example(cell, how)
    try:
        return as_case(
            shown.exchange,
            name=f"law-{law.id}-{law.name}",
            requirement=law.said_of("payloads" if cell.column != "events" else "events"),
            feature=shown.feature or law.feature,
            source=law.source,
            expect=shown.expect or {cell.dialect or cell.column: None},
        )
    except CassetteError as error:  # text that no cassette holds; the finding stands
        return f"# no case can be written: {error}\n"


@dataclass(frozen=True, slots=True)
class _Example:
    """The answer that shows a breach, what is expected of it where the law knows that, and its
    feature where that is not the law's own.
    """

    exchange: Exchange
    expect: Expect = field(default_factory=dict)
    feature: str = ""


def _example(cell: LawCell, how: Replayer) -> _Example:
    spent = 0

    def counted(exchange: Exchange, **options: Any) -> Any:
        nonlocal spent
        spent += len(exchange.body) + A_REPLAY
        return how.replay(exchange, **options)

    counting = replace(how, replay=counted)
    small = shrink(
        cell.exchange,
        lambda exchange: spent < BUDGET and bool(cell.law.findings(exchange, counting)),
        TRIES,
    )
    return _EXAMPLES.get(cell.law.id, _as_it_is)(small, how)


def _example_of_stranger(cell: LawCell, stranger: Stranger) -> _Example:
    """The variant of the smallest exchange at which the adapter breaks the law: recut, respelled,
    cut short or damaged.
    """

    def breaches(exchange: Exchange) -> list[Breach]:
        try:
            return ASKED[cell.law.id](exchange, stranger)
        except (AdapterFault, OutOfTime):
            return []

    small = cell.exchange
    if (
        _EXAMPLES.get(cell.law.id) is not _damaged
    ):  # a smaller exchange would be damaged in other ways
        small = shrink(small, lambda exchange: bool(breaches(exchange)), FEW_SMALLER)
    first = next(iter(breaches(small)), Breach("", small))
    known = (
        cell.law.id != 5 and first.expected is not None
    )  # which of two runs is right, nobody knows
    return _Example(
        first.exchange,
        {cell.dialect or cell.column: as_read(first.expected)} if known else {},
        first.feature,
    )


def _as_it_is(exchange: Exchange, how: Replayer) -> _Example:
    return _Example(exchange)


def _cut(exchange: Exchange, how: Replayer) -> _Example:
    broken = breaking_cuts(exchange, how)
    return (
        _Example(with_cuts(exchange, broken[0]), {"events": as_read(broken[1])})
        if broken
        else _Example(exchange)
    )


def _cut_short(exchange: Exchange, how: Replayer) -> _Example:
    broken = breaking_prefix(exchange, how)
    if broken is None:
        return _Example(exchange)
    short = shortened(exchange, broken[0])
    right = broken[1][: max(0, len(how.events(short)) - 1)]
    return _Example(
        short, {"events": [*as_read(right), {"$contains": {"kind": "incomplete", "end": "cut"}}]}
    )


def _respelled(exchange: Exchange, how: Replayer) -> _Example:
    name, spelled = breaking_spelling(exchange, how) or ("", exchange)
    return _Example(spelled, {"events": as_read(how.events(exchange))}, FEATURES.get(name, ""))


def _damaged(exchange: Exchange, how: Replayer) -> _Example:
    broken = breaking_damage(exchange, how)
    return _Example(broken[0] if broken else exchange)


_EXAMPLES: Final[dict[int, Callable[[Exchange, Replayer], _Example]]] = {
    1: _cut,
    4: _cut_short,
    6: _respelled,
    7: _damaged,
}
"""Law → the variant of an exchange that breaks it, and what its events should be; the exchange
itself for all others.
"""
