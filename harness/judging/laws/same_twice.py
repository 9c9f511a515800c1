"""Law 5: a second replay gives the same output."""

from __future__ import annotations

from harness.adapters import Adapter
from harness.stream.exchange import Exchange

from .law import Breach, Law, differing


def second_findings(exchange: Exchange, adapter: Adapter) -> list[Breach]:
    """Return the first item of the second replay that differs from the first replay."""
    breach = differing(
        adapter.items(exchange), exchange, adapter, "the second time", "the first time"
    )
    return [breach] if breach else []


SAME_TWICE = Law(
    5,
    "Same twice",
    "A second replay gives the same output.",
    second_findings,
    knows_expected=False,  # it is unknown which of the two runs is right
)
