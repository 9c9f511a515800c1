"""The checks of the wire variants of every wire, for an exchange that has every feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from harness.cassettes import Exchange
from harness.facts import View
from harness.judging.metamorphic import breaches, reader, variants_of
from harness.judging.metamorphic.catalogue import WireVariant


def assert_all_apply(exchange: Exchange, variants: Sequence[WireVariant]) -> None:
    names = [variant.name for variant in variants]
    assert len({*names}) == len(names)
    assert {*names} <= {variant.name for variant, _ in variants_of(exchange)}


def assert_none_applies(exchange: Exchange, variants: Iterable[WireVariant]) -> None:
    applied = {variant.name for variant, _ in variants_of(exchange)}
    assert not {variant.name for variant in variants} & applied


def assert_changes(variant: WireVariant, exchange: Exchange) -> None:
    changed = variant.change(exchange)
    assert changed is not None
    assert (changed.body, changed.end, changed.status) != (exchange.body, "complete", 200)


def assert_faithful(exchanges: Iterable[Exchange], dialect: str = "unified-llm") -> None:
    for exchange in exchanges:
        assert breaches(exchange, reader(dialect)) == []


def broken_relations(exchange: Exchange, fault: Callable[[Exchange], bytes | None]) -> set[str]:
    """The variants whose relation breaks for a reader that gets another body; None means the same
    body.
    """
    read = reader("unified-llm")

    def faulty(variant: Exchange) -> View:
        body = fault(variant)
        return read(variant if body is None else replace(variant, reads=((None, body),)))

    return {finding.partition(" ")[0] for finding in breaches(exchange, faulty)}
