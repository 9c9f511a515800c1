"""Metamorphic testing: variants of a recorded answer, and the relations that must hold between the
facts of the variants.

Gemini may send the same answer in many forms: with other cuts and line ends, other spellings,
unknown fields, or an error in the middle. `variants_of` makes these forms from a recorded answer.
`breaches` compares the facts that an adapter reads from each form::

    for variant, exchange in variants_of(cassette.exchanges[0]):
        ...  # serve it, save it, feed it to an adapter

    assert breaches(cassette.exchanges[0], lambda exchange: read(my_adapter(exchange))) == []

``read`` turns the output of an adapter into `harness.facts.View`. `reader` does this for our own
event models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness.dialects import DIALECTS, Payload
from harness.facts import View
from harness.pipeline.replay import choose_provider, replay
from harness.providers import PROVIDERS
from harness.stream.exchange import Exchange
from harness.stream.session import Session

from .catalogue import (
    CUTS,
    SPELLINGS,
    VARIANTS,
    WireVariant,
    others_of,
    spellings_of,
)
from .relations import Relation

__all__ = [
    "SPELLINGS",
    "VARIANTS",
    "Relation",
    "WireVariant",
    "breaches",
    "reader",
    "variants_of",
]


def variants_of(exchange: Exchange) -> Iterator[tuple[WireVariant, Exchange]]:
    """Yield every wire variant that applies to the exchange, with the changed exchange."""
    provider = PROVIDERS[choose_provider(exchange, None)]
    for variant in (*CUTS, *spellings_of(exchange, provider), *others_of(provider)):
        changed = variant.change(exchange)
        if changed is not None:
            yield variant, changed


def breaches(exchange: Exchange, read: Callable[[Exchange], View]) -> list[str]:
    """Return the relations that do not hold for an adapter, one sentence each.

    ``read`` returns the facts that the adapter finds in an exchange. Its exceptions are not caught.
    """
    before = read(exchange)
    return [
        f"{variant.name} ({variant.relation.name}): {finding}"
        for variant, changed in variants_of(exchange)
        for finding in variant.relation.findings(before, read(changed))
    ]


def reader(
    dialect: str, make: Callable[..., list[Payload]] = replay, **options: Any
) -> Callable[[Exchange], View]:
    """Return a function that reads the facts from the output of an adapter of one of our event
    models.

    ``make`` is called like `harness.replay`, with ``options``.
    """

    def read(exchange: Exchange) -> View:
        session = Session()
        payloads = make(exchange, dialect=dialect, session=session, **options)
        return View([*DIALECTS[dialect].facts(payloads, session)])

    return read
