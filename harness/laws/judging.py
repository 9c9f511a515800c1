"""Laws as results: one `CaseResult` for a law, an exchange and a dialect, with a ready-made case where the law is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from ..cassette import CassetteError, Exchange
from ..exchanges import Origin as CassetteOrigin
from ..replaying import DEFAULT_PROVIDER
from ..results import CaseResult, Finding, Origin
from . import LAWS, Law
from .cutting import breaking_cuts, breaking_prefix, shortened
from .garbling import breaking_damage
from .replayer import Replayer
from .respelling import breaking_spelling
from .shrinking import TRIES, as_case, shrink, with_cuts

MAX_FINDINGS: Final = 5
THOROUGH: Final = frozenset({1, 4})
"""Laws that replay an exchange thousands of times; of these a breach is made small in fewer tries."""

FEW_TRIES: Final = 40
Expect = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LawCell:
    """One law, held against one exchange of a cassette, for a dialect or, with ``column`` ``events``, for the canonical events."""

    law: Law
    cassette: str
    number: int
    exchange: Exchange
    column: str
    origin: CassetteOrigin | None = None

    @property
    def name(self) -> str:
        """The name of its test item: ``law-3-nothing-lost-nothing-invented-2[art]`` is about exchange 2."""
        return f"law-{self.law.id}-{self.law.name}-{self.number}[{self.column}]"


def cells(cassette: str, exchanges: Sequence[Exchange], dialects: Sequence[str], origin: CassetteOrigin | None = None) -> Iterator[LawCell]:
    """A cell for every law, generate exchange and dialect; a law of events alone has one for all dialects."""
    for number, exchange in enumerate(exchanges, 1):
        if exchange.generates:
            for law in LAWS:
                for column in dialects if "payloads" in law.layers else ("events",):
                    yield LawCell(law, cassette, number, exchange, column, origin)


def hold(cell: LawCell, replay: Callable[..., Any] | None = None) -> CaseResult:
    """The result of one cell; ``replay``: another adapter's instead of ours."""
    law, exchange, how = cell.law, cell.exchange, _replayer(cell, replay)
    findings = law.findings(exchange, how)
    payloads = cell.column != "events"
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
        verdict="failed" if findings else "passed",
        cassette=cell.cassette,
        exchange=cell.number,
        origin=msgspec.convert(cell.origin, Origin, from_attributes=True) if cell.origin else None,
        end=exchange.end,
        first_layer=("payloads" if payloads else "events") if findings else "",
        findings=tuple(Finding("", f"law {law.id}", note=finding) for finding in findings[:MAX_FINDINGS]),
        findings_total=len(findings),
    )


def _replayer(cell: LawCell, replay: Callable[..., Any] | None) -> Replayer:
    dialect = "unified-llm" if cell.column == "events" else cell.column
    how = Replayer(cell.exchange.provider or DEFAULT_PROVIDER, dialect)
    return replace(how, replay=replay) if replay else how


def ready_made_case(cell: LawCell, replay: Callable[..., Any] | None = None) -> str:
    """A spec and a cassette that show a breach, as small as was found; the empty string where the law holds or nothing can be written."""
    law, how = cell.law, _replayer(cell, replay)

    def breaks(exchange: Exchange) -> bool:
        return bool(law.findings(exchange, how))

    small = shrink(cell.exchange, breaks, FEW_TRIES if law.id in THOROUGH else TRIES)
    shown, expect = _EXAMPLES.get(law.id, _as_it_is)(small, how)
    name = f"law-{law.id}-{law.name}"
    try:
        return as_case(
            shown, name=name, requirement=law.sentence, feature=law.feature, source=law.source, expect=expect or {cell.column: None}
        )
    except CassetteError as error:  # text that no cassette holds; the finding stands
        return f"# no case can be written: {error}\n"


def _as_it_is(exchange: Exchange, how: Replayer) -> tuple[Exchange, Expect]:
    return exchange, {}


def _cut(exchange: Exchange, how: Replayer) -> tuple[Exchange, Expect]:
    broken = breaking_cuts(exchange, how)
    return (with_cuts(exchange, broken[0]), {"events": broken[1]}) if broken else (exchange, {})


def _cut_short(exchange: Exchange, how: Replayer) -> tuple[Exchange, Expect]:
    broken = breaking_prefix(exchange, how)
    if broken is None:
        return exchange, {}
    short = shortened(exchange, broken[0])
    right = broken[1][: max(0, len(how.events(short)) - 1)]
    return short, {"events": [*right, {"$contains": {"kind": "incomplete", "end": "cut"}}]}


def _respelled(exchange: Exchange, how: Replayer) -> tuple[Exchange, Expect]:
    return breaking_spelling(exchange, how) or exchange, {"events": how.events(exchange)}


def _damaged(exchange: Exchange, how: Replayer) -> tuple[Exchange, Expect]:
    broken = breaking_damage(exchange, how)
    return (broken[0] if broken else exchange), {}


_EXAMPLES: Final[dict[int, Callable[[Exchange, Replayer], tuple[Exchange, Expect]]]] = {
    1: _cut,
    4: _cut_short,
    6: _respelled,
    7: _damaged,
}
"""Law → the variant of an exchange that breaks it, and what its events should be; the exchange itself for all others."""
