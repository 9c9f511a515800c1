"""The laws as they are asked of a user's own adapter, of which nothing is known but that an
exchange goes in and payloads come out.

It has no events, so the laws of events are asked of its payloads; it has no session and no request
half, so what our own event models keep there is not asked for. Where its payloads are those of one
of our event models, grammar, witness and losses are that model's. Each law takes at most as many
replays as the adapter can bear: a program is started for every one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from harness.cassettes import Exchange
from harness.dialects import DIALECTS
from harness.facts import Facts
from harness.pipeline.replay import DEFAULT_PROVIDER
from harness.stream.events import INTERRUPTED
from harness.stream.session import Session

from .corruption import damaged_exchanges, unheard
from .cuts import (
    BYTEWISE,
    WHOLE,
    Cuts,
    cut_sets,
    cuts_of,
    fewest,
    first_prefix,
    prefixes,
    shortened,
    told,
    told_short,
    with_cuts,
)
from .order_and_loss import carried_losses, gather_payloads, gather_wire, illegal_payloads
from .replayer import SMALL, Difference, Items, Replayer, difference, plain, shown
from .respelling import FEATURES, respellings

TRIES: Final = 64
"""Replays of an exchange that a law asks of a function."""

FEW_TRIES: Final = 6
"""Replays of an exchange that a law asks of a program."""

GARBLED: Final = 24
"""So many damaged forms of an exchange a function is given."""

SAME_WIRE: Final = ("lf", "crlf", "cr", "sse")
"""Spellings that no client has to be told of: the others are of other wires, or change text that is
JSON itself.
"""


class AdapterFault(Exception):
    """An adapter raised, or broke a rule of the calling: the message says how."""


class OutOfTime(Exception):
    """An adapter has had all the time that a law gives it: the message says how long."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A user's adapter: the event model whose payloads it gives, perhaps one of its own.

    ``adapt`` raises `AdapterFault`, and `OutOfTime` where it will not be called any more.
    ``bytewise``: whether it is also given an answer byte by byte.
    """

    name: str
    dialect: str
    adapt: Callable[[Exchange], Items]
    tries: int = TRIES
    bytewise: bool = True

    def outcome(self, exchange: Exchange) -> Items:
        """The payloads, or one item that says what went wrong: so that an adapter that breaks on a
        variant differs there.
        """
        try:
            return self.adapt(exchange)
        except AdapterFault as fault:
            return [{"fault": str(fault)}]


@dataclass(frozen=True, slots=True)
class Breach:
    """A sentence, the answer that shows it, and what the adapter gives for that: ``got``, where the
    law says what is ``expected``.

    ``feature``: the line of the checklist that the answer belongs to, where that is not the law's
    own.
    """

    sentence: str
    exchange: Exchange
    expected: Items | None = None
    got: Items | None = None
    feature: str = ""


Findings = Callable[[Exchange, Stranger], list[Breach]]


def _cuts(exchange: Exchange, who: Stranger) -> list[Breach]:
    """Times are left out on both sides: they are no longer those of the reads."""
    recorded = cuts_of(exchange)
    whole = with_cuts(exchange, ())
    expected = who.outcome(whole) if recorded else who.adapt(whole)
    came = who.adapt(with_cuts(exchange, recorded)) if recorded else expected

    def parted(cuts: Cuts) -> Difference | None:
        return difference(
            expected, came if cuts == recorded else who.outcome(with_cuts(exchange, cuts))
        )

    for cuts in chain([recorded] if recorded else (), _cut_sets(exchange, who)):
        if parted(cuts) is not None:
            few = fewest(cuts, lambda fewer: parted(fewer) is not None)
            shows = with_cuts(exchange, few)
            got = who.outcome(shows)
            found = difference(expected, got)
            if found is not None:
                return [
                    Breach(
                        f"{told(exchange, few)}, {found.told('payload', WHOLE)}",
                        shows,
                        expected,
                        got,
                    )
                ]
    return []


def _cut_sets(exchange: Exchange, who: Stranger) -> Iterator[Cuts]:
    size = len(exchange.body)
    if who.bytewise and 1 < size <= BYTEWISE:
        yield tuple(range(1, size))
    yield from cut_sets(exchange, min(SMALL, who.tries), who.tries)


def _order(exchange: Exchange, who: Stranger) -> list[Breach]:
    return _of_the_model(
        illegal_payloads(who.adapt(exchange), DIALECTS[who.dialect]), exchange, who
    )


def _of_the_model(sentences: list[str], exchange: Exchange, who: Stranger) -> list[Breach]:
    """Breaches by payloads of an event model of ours, of which our own payloads say what is
    expected.
    """
    expected = (
        Replayer(exchange.provider or DEFAULT_PROVIDER, who.dialect).payloads(exchange)
        if sentences
        else None
    )
    return [Breach(sentence, exchange, expected) for sentence in sentences]


def _nothing_lost(exchange: Exchange, who: Stranger) -> list[Breach]:
    how = Replayer(exchange.provider, who.dialect)
    wire = gather_wire(exchange, how)
    if (
        who.dialect == "anthropic"
    ):  # keeps those of its calls in the session, which a stranger has not
        wire = _without_signed_calls(wire)
    found = carried_losses(
        wire, who.adapt(exchange), Session(), who.dialect, interrupted=exchange.end in INTERRUPTED
    )
    return _of_the_model(found, exchange, who)


def _without_signed_calls(wire: Facts) -> Facts:
    return replace(
        wire,
        signatures=[one for one in wire.signatures if one[0] != "call"],
        at_error=wire.at_error and _without_signed_calls(wire.at_error),
        at_block=wire.at_block and _without_signed_calls(wire.at_block),
    )


def _cut_short(exchange: Exchange, who: Stranger) -> list[Breach]:
    """An answer that ends early says what the whole says up to there, and that it has failed."""
    full = _facts(who.adapt(exchange), who)
    if isinstance(full, str):
        return [Breach(full, exchange)]
    replayer = Replayer(exchange.provider)
    loose = replayer.finds_tool_code(exchange) or replayer.reads_lines(exchange)

    def judge(short: Exchange) -> str | None:
        payloads = who.outcome(short)
        if not any(
            payload.get("type") in ("ERROR", "error")
            for payload in payloads
            if isinstance(payload, dict)
        ):
            return (
                f"the last payload is {shown(payloads[-1] if payloads else None)}; nothing tells"
                " the cut"
            )
        facts = _facts(payloads, who)
        return facts if isinstance(facts, str) else None if loose else _not_a_beginning(facts, full)

    half = who.tries // 2
    broken = first_prefix(exchange, prefixes(exchange, min(SMALL, who.tries), half, half), judge)
    return [Breach(told_short(exchange, *broken), shortened(exchange, broken[0]))] if broken else []


def _facts(payloads: Items, who: Stranger) -> Facts | str:
    try:
        return gather_payloads(who.dialect, payloads, Session())
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # an adapter's payloads may be of any shape
        return f"the payloads are not of the dialect's shape: {type(error).__name__} {error}"


def _not_a_beginning(facts: Facts, full: Facts) -> str | None:
    for name in ("text", "thoughts"):
        said, whole = getattr(facts, name), getattr(full, name)
        if not whole.startswith(said):
            return f"the {name} {shown(said)} do not begin {shown(whole)}"
    whole_calls = facts.calls[:-1]  # the last may lack arguments
    return (
        None
        if full.calls[: len(whole_calls)] == whole_calls
        else f"the calls {shown(facts.calls)} do not begin {shown(full.calls)}"
    )


def _twice(exchange: Exchange, who: Stranger) -> list[Breach]:
    first, second = who.adapt(exchange), who.outcome(exchange)
    found = difference(first, second)
    return (
        [
            Breach(
                f"the second time, {found.told('payload', 'the first time')}",
                exchange,
                first,
                second,
            )
        ]
        if found
        else []
    )


def _bare(exchange: Exchange) -> Exchange:
    """The exchange with its content encoding undone, and no header that speaks of it."""
    headers = {
        name: values
        for name, values in exchange.headers.items()
        if name.lower() != "content-encoding"
    }
    return replace(plain(exchange), headers=headers)


def _spelling(exchange: Exchange, who: Stranger) -> list[Breach]:
    expected = who.adapt(_bare(exchange))
    found = []
    for name, spelled in _respelled(exchange):
        got = who.outcome(spelled)
        if parted := difference(expected, got):
            sentence = f"spelled with {name}, {parted.told('payload', 'spelled as recorded')}"
            found.append(Breach(sentence, spelled, expected, got, FEATURES.get(name, "")))
    return found


def _respelled(exchange: Exchange) -> Iterator[tuple[str, Exchange]]:
    bare = _bare(exchange)
    names = SAME_WIRE if bare.body.startswith(b"data:") else SAME_WIRE[:2]
    yield from (
        (name, spelled)
        for name, spelled in respellings(bare, Replayer(exchange.provider))
        if name in names
    )


def _bad_input(exchange: Exchange, who: Stranger) -> list[Breach]:
    """The first damaged form of the exchange that the adapter answers badly."""
    for name, damaged in damaged_exchanges(_bare(exchange), who.name, min(GARBLED, who.tries)):
        try:
            finding = unheard(damaged, who.adapt(damaged), "payload")
        except AdapterFault as fault:
            finding = str(fault)
        if finding:
            return [Breach(f"{name}: {finding}; body {shown(damaged.body)}", damaged)]
    return []


ASKED: Final[dict[int, Findings]] = {
    1: _cuts,
    2: _order,
    3: _nothing_lost,
    4: _cut_short,
    5: _twice,
    6: _spelling,
    7: _bad_input,
}
"""Law → what it finds in a user's adapter. Law 8 is about requests, which an adapter of answers
does not make.
"""

OF_OUR_MODELS: Final = frozenset({2, 3, 4})
"""Laws that must know what a payload means."""


def unasked(law: int, exchange: Exchange, who: Stranger) -> str:
    """Why a law can't be asked of an adapter, or of this exchange; "" where it can."""
    if law not in ASKED:
        return f"{who.name} takes answers and sends nothing back"
    if law in OF_OUR_MODELS and who.dialect not in DIALECTS:
        return (
            f"what the payloads of {who.dialect} mean is not known here; it is no event model of"
            " ours"
        )
    return (
        "no part of the answer can be spelled otherwise"
        if law == 6 and not any(True for _ in _respelled(exchange))
        else ""
    )
