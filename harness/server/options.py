"""Reads and checks the options of a server: pace, cuts, fault and matching.

A pace determines when each read is sent. A fault is applied to every answer that generates. Faults
count reads, so with ``cuts="bytes"`` they count bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from harness.dialects import DIALECTS
from harness.pipeline.replay import Cuts, ReplayError, check_known
from harness.providers import PROVIDERS

Pace = Literal["recorded", "step", "instant"] | float
"""``recorded``: each read at its recorded time. ``step``: no waiting, but each read is sent
separately. ``instant``: no waiting. A number: the speed (2: twice as fast as recorded).
"""

Match = Literal["request", "path"]
"""``request``: the prompts must be equal. ``path``: only method, path and model must be
equal; the exchanges answer in recorded order.
"""

Strictness = Literal["strict", "api", "lenient"]
"""The rules of `harness.server.refusals` that lead to a refusal: all, those of the API, none."""

FaultKind = Literal["cut", "reset", "stall", "close", "status", "slow"]

SLOW_S: Final = 0.5
"""Seconds that the fault ``slow`` waits before each read."""


@dataclass(frozen=True, slots=True)
class ServedFault:
    """``number``: the reads before a cut, reset, stall or close; the HTTP status; 0 for slow."""

    kind: FaultKind
    number: int = 0
    code: int = 1011
    """The code of a close, which only a session has."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options that apply to all answers of a server."""

    pace: Pace = "recorded"
    cuts: Cuts = "recorded"
    fault: ServedFault | None = None
    match: Match = "request"
    provider: str | None = None
    dialect: str | None = None
    strictness: Strictness = "api"


def read_options(
    *,
    pace: str | float = "recorded",
    cuts: Cuts = "recorded",
    fault: str | None = None,
    match: str = "request",
    provider: str | None = None,
    dialect: str | None = None,
    strictness: str = "api",
) -> Options:
    """Read options in the form of the arguments of `serve`. Raises `ReplayError` for an unknown
    value; the message lists the known ones.
    """
    if isinstance(cuts, str):
        check_known("cuts", cuts, ("recorded", "whole", "bytes"))
    if provider is not None:
        check_known(
            "provider",
            provider,
            [name for name, known in PROVIDERS.items() if known.endpoint],
        )
    if dialect is not None:
        served = [name for name, known in DIALECTS.items() if known.apis]
        check_known("dialect", dialect, served)
    check_known("match", match, get_args(Match))
    check_known("strictness", strictness, get_args(Strictness))
    return Options(
        _read_pace(pace),
        cuts,
        _read_fault(fault),
        next(known for known in get_args(Match) if known == match),
        provider,
        dialect,
        next(known for known in get_args(Strictness) if known == strictness),
    )


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
            f"unknown pace {pace!r}; known ones are recorded, step, instant and a number greater"
            " than 0 (2: twice as fast as recorded)"
        )
    return factor


_FAULT: Final = re.compile(
    r"(cut|reset|stall|status):([0-9]{1,9})|(close):([0-9]{1,9}):([0-9]{4})|slow"
)


def _read_fault(fault: str | None) -> ServedFault | None:
    if fault is None:
        return None
    match = _FAULT.fullmatch(fault)
    if match is None:
        raise ReplayError(
            f"unknown fault {fault!r}; known ones are cut:N, reset:N, stall:N (after N reads),"
            " close:N:CODE (a session, after N messages), status:CODE and slow"
        )
    if match[3]:
        return ServedFault("close", int(match[4]), int(match[5]))
    if match[1] is None:
        return ServedFault("slow")
    number = int(match[2])
    if match[1] == "status" and not 400 <= number <= 599:
        raise ReplayError(f"the fault {fault!r} is not an error; the code must be from 400 to 599")
    kind: FaultKind = next(kind for kind in get_args(FaultKind) if kind == match[1])
    return ServedFault(kind, number)
