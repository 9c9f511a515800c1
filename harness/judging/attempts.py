"""Finds the recorded answers of an adapter that asks again after a failed answer."""

from __future__ import annotations

from collections.abc import Sequence

from harness.pipeline.replay import choose_provider
from harness.pipeline.request_index import is_same_request
from harness.providers import PROVIDERS
from harness.stream.events import INTERRUPTED
from harness.stream.exchange import Exchange


def attempts_after(exchange: Exchange, following: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """Return the answers that an adapter gets if it asks again after a failed one: the next
    exchanges of the same request, up to the first that did not fail. None if all failed: these are
    examples of failures, not attempts. ``following``: the exchanges after this one in its cassette.
    """
    if not exchange.generates:
        return ()
    attempts: list[Exchange] = []
    last = exchange
    for other in following:
        if last.request is None or other.request is None or not other.generates:
            break
        if not is_same_request(last.request, other.request) or not _is_failed(last):
            break
        attempts.append(other)
        last = other
    return () if not attempts or _is_failed(last) else tuple(attempts)


def _is_failed(exchange: Exchange) -> bool:
    """Return whether an answer is broken off, is an error, or gives no reason to end."""
    if exchange.end in INTERRUPTED or exchange.status >= 400:
        return True
    facts = PROVIDERS[choose_provider(exchange, exchange.provider)].facts(exchange)
    return bool(facts.errors or not (facts.finish or facts.block_reason))
