"""The provider of an exchange, and the facts of the raw answer as its oracle reads them."""

from __future__ import annotations

from harness.facts import Facts
from harness.pipeline.replay import choose_provider
from harness.providers import PROVIDERS, Provider
from harness.stream.exchange import Exchange

from ..adapters import Adapter


def provider_of(exchange: Exchange, adapter: Adapter) -> Provider:
    """The provider as which the adapter reads the exchange."""
    return PROVIDERS[choose_provider(exchange, adapter.options.provider)]


def finds_tool_code(exchange: Exchange, adapter: Adapter) -> bool:
    """Whether ``<tool_code>`` in the text becomes a call."""
    chosen = adapter.options.tool_code
    return provider_of(exchange, adapter).tool_code if chosen is None else chosen


def wire_facts(exchange: Exchange, adapter: Adapter) -> Facts:
    """The facts of the raw answer."""
    return provider_of(exchange, adapter).facts(exchange, adapter.options.tool_code)
