"""Adapters for tests: one of our own with a replay function instead of `harness.replay`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.adapters import ADAPTERS, EVENTS, Adapter, Output, RunOptions
from harness.stream.exchange import Exchange
from harness.stream.session import Session

Items = list[dict[str, Any]]
Replay = Callable[..., Items]
"""Called with an exchange and the keyword arguments of `harness.replay`."""


def events_of(replay: Replay, dialect: str = "") -> Adapter:
    """The canonical events of a replay function, independent of the dialect."""

    def run(exchange: Exchange, options: RunOptions) -> Output:
        items = replay(
            exchange, provider=options.provider, layer="events", tool_code=options.tool_code
        )
        return Output(items)

    return replace(EVENTS, run=run)


def payloads_of(replay: Replay, dialect: str = "unified-llm") -> Adapter:
    """The payloads of a replay function for a dialect."""

    def run(exchange: Exchange, options: RunOptions) -> Output:
        session = Session(context=options.context, limit=1 << 62)
        items = replay(
            exchange,
            provider=options.provider,
            dialect=dialect,
            session=session,
            tool_code=options.tool_code,
        )
        return Output(items, session)

    return replace(ADAPTERS[dialect], run=run)
