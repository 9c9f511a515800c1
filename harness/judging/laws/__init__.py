"""The laws: statements that hold for every exchange and every adapter.

A law needs no expectation. It runs an adapter on variants of one exchange, and gives a sentence for
each breach. All random choices are seeded by the body, so the same exchange gives the same findings
on every machine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from harness.adapters import ADAPTERS, EVENTS, Adapter, Subject
from harness.stream.exchange import Exchange
from harness.stream.plugins import installed

from .law import Breach, Law

__all__ = ["LAWS", "Breach", "Law", "check"]

_TABLE: Final = (
    "cuts:CUTS",
    "order:ORDER",
    "loss:LOSS",
    "cut_short:CUT_SHORT",
    "same_twice:SAME_TWICE",
    "spelling:SPELLING",
    "corruption:CORRUPTION",
    "round_trip:ROUND_TRIP",
    "success:SUCCESS",
    "near_identity:NEAR_IDENTITY",
)
"""Each law: its module in this package, and its name in that module."""


def _find(place: str) -> Law:
    module, _, name = place.partition(":")
    law: Law = getattr(import_module(f".{module}", __name__), name)
    return law


_OURS: Final = tuple(map(_find, _TABLE))

LAWS: Final = (*_OURS, *installed("laws", Law, {law.id: law for law in _OURS}, key="id"))
"""Our laws in the order of their numbers, then those of other distributions."""


def check(exchange: Exchange, *adapters: Adapter) -> list[str]:
    """Return all breaches of all laws for one exchange. Each begins with the adapter and the number
    of the law.

    Without ``adapters``: the canonical events and every dialect. Raises `AdapterError`.
    """
    return [
        f"{subject.adapter.name}: law {law.id}: {breach.sentence}"
        for subject in map(Subject, adapters or (EVENTS, *ADAPTERS.values()))
        for law in LAWS
        if subject.adapter.layer in law.layers and not law.not_run(exchange, subject)
        for breach in law.findings(exchange, subject)
    ]
