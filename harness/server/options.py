"""How a server answers: pace, cuts, fault, matching; read from the words of the command line.

A pace says when each read is sent, a fault what goes wrong with every answer that generates. Both
are counted in reads, so that with ``cuts="bytes"`` they are counted in bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from harness.pipeline.replay import Cuts, ReplayError, check_known
from harness.providers import PROVIDERS

Pace = Literal["recorded", "step", "instant"] | float
"""``recorded``: each read at its time. ``step``: at once, still read by read. ``instant``: at once.
A number: so many times as fast.
"""

Match = Literal["request", "path"]
"""``request``: the canonical request decides. ``path``: only method, path and model, in recorded
order.
"""

FaultKind = Literal["cut", "reset", "stall", "status", "slow"]

SLOW_S: Final = 0.5
"""What the fault ``slow`` waits before each read."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``number``: the reads before a cut, reset or stall; the code of a status; 0 for slow."""

    kind: FaultKind
    number: int = 0


@dataclass(frozen=True, slots=True)
class Manner:
    """Everything that is the same for all answers of a server."""

    pace: Pace = "recorded"
    cuts: Cuts = "recorded"
    fault: Fault | None = None
    match: Match = "request"
    provider: str | None = None
    dialect: str | None = None


def read_manner(
    *,
    pace: str | float = "recorded",
    cuts: Cuts = "recorded",
    fault: str | None = None,
    match: str = "request",
    provider: str | None = None,
    dialect: str | None = None,
) -> Manner:
    """The manner that words describe; raises `ReplayError`, which names what is known, for words
    that don't.
    """
    if isinstance(cuts, str):
        check_known("cuts", cuts, ("recorded", "whole", "bytes"))
    if provider is not None:
        check_known(
            "provider", provider, [name for name, one in PROVIDERS.items() if one.wrap is not None]
        )
    if dialect is not None:
        check_known("dialect", dialect, ("anthropic",))
    check_known("match", match, get_args(Match))
    chosen: Match = "path" if match == "path" else "request"
    return Manner(_read_pace(pace), cuts, _read_fault(fault), chosen, provider, dialect)


def _read_pace(pace: str | float) -> Pace:
    match pace:
        case "recorded" | "step" | "instant":
            return pace
    try:
        factor = float(pace)
    except ValueError:
        factor = 0.0
    if not 0 < factor < float("inf"):
        raise ReplayError(
            f"unknown pace {pace!r}; known are recorded, step, instant and a number greater than 0"
            " (2: twice as fast as recorded)"
        )
    return factor


_FAULT: Final = re.compile(r"(cut|reset|stall|status):([0-9]{1,9})|slow")


def _read_fault(fault: str | None) -> Fault | None:
    if fault is None:
        return None
    found = _FAULT.fullmatch(fault)
    if found is None:
        raise ReplayError(
            f"unknown fault {fault!r}; known are cut:N, reset:N, stall:N (after N reads),"
            " status:CODE and slow"
        )
    if found[1] is None:
        return Fault("slow")
    number = int(found[2])
    if found[1] == "status" and not 400 <= number <= 599:
        raise ReplayError(f"the fault {fault!r} is no error; status takes a code from 400 to 599")
    kind: FaultKind = next(kind for kind in get_args(FaultKind) if kind == found[1])
    return Fault(kind, number)
