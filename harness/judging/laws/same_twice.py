"""Law 5: a second replay gives the same output."""

from __future__ import annotations

from harness.adapters import Subject
from harness.stream.exchange import Exchange

from .law import Breach, Law, differing


def second_findings(exchange: Exchange, subject: Subject) -> list[Breach]:
    """Return the first item of the second replay that differs from the first replay."""
    breach = differing(
        subject.items(exchange), exchange, subject, "the second time", "the first time"
    )
    return [breach] if breach else []


SAME_TWICE = Law(
    5,
    "Same twice",
    "A second replay gives the same output.",
    second_findings,
    knows_expected=False,  # it is unknown which of the two runs is right
)
