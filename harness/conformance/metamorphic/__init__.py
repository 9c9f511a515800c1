"""Wire mutations: named changes of a recorded answer, each with the relation that must hold between
what is made of both.

An answer that was recorded once stands for all that Gemini's wire may do with it: other cuts and
line ends, other spellings, fields nobody has seen, an error in the middle. `mutate` gives the
changed exchanges, `breaches` holds an adapter to the relations::

    for mutation, exchange in mutate(cassette.exchanges[0]):
        ...                                    # serve it, save it, feed it to an adapter

    assert breaches(cassette.exchanges[0], lambda exchange: read(my_adapter(exchange))) == []

``read`` makes a `Said` of an adapter's output: `said` does where its payloads are those of one of
our event models, and an event model of your own fills it in by hand. `reader` reads our own
adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness.pipeline.replay import replay
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from ..laws.order_and_loss import gather_payloads
from .catalogue import MUTATIONS, Mutation
from .relations import Relation, Said

__all__ = ["MUTATIONS", "Mutation", "Relation", "Said", "breaches", "mutate", "reader", "said"]


def mutate(exchange: Exchange) -> Iterator[tuple[Mutation, Exchange]]:
    """Every mutation that finds something to change in an exchange, and the changed exchange."""
    for mutation in MUTATIONS:
        changed = mutation.change(exchange)
        if changed is not None:
            yield mutation, changed


def breaches(exchange: Exchange, read: Callable[[Exchange], Said]) -> list[str]:
    """The relations that do not hold for an adapter, a sentence each. What ``read`` raises is
    raised.
    """
    before = read(exchange)
    return [
        f"{mutation.name} ({mutation.relation.name}): {finding}"
        for mutation, changed in mutate(exchange)
        for finding in mutation.relation.findings(before, read(changed))
    ]


def reader(
    dialect: str, make: Callable[..., list[dict[str, Any]]] = replay, **options: Any
) -> Callable[[Exchange], Said]:
    """Reads what an adapter of one of our event models says; ``make`` is called as `harness.replay`
    is.
    """

    def read(exchange: Exchange) -> Said:
        session = Session()
        return said(make(exchange, dialect=dialect, session=session, **options), dialect, session)

    return read


def said(payloads: list[dict[str, Any]], dialect: str, session: Session | None = None) -> Said:
    """What payloads of one of our event models say; ``session``: the one that our own adapter kept
    signatures of calls in.

    Raises what payloads of another shape make it raise: KeyError, TypeError, AttributeError or
    ValueError.
    """
    facts = gather_payloads(dialect, payloads, session or Session())
    signatures = [signature for _, signature in facts.signatures]
    failed = any(payload["type"] in ("ERROR", "error") for payload in payloads)
    return Said(
        facts.text, facts.thoughts, facts.calls, signatures, facts.finish, facts.usage, failed
    )
