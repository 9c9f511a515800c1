"""Fingerprints: every feature of the checklist as one small shape, always at the same place, so that two of them compare at a glance.

A shape says a verdict without its colour: a full square passed, a bar is not carried, a half square is known failing, a cross failed. What
a fingerprint shows stands beside it in words; it is hidden from screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..results import Verdict

STEP: Final = 8
"""From one place to the next; a shape is 6 wide."""
ACROSS: Final = 20

_Shape = Callable[[int, int], str]

SHAPES: Final[dict[Verdict | None, _Shape]] = {
    "passed": lambda x, y: f"M{x} {y}h6v6h-6z",
    "failed": lambda x, y: f"M{x} {y}l6 6m-6 0l6-6",
    "error": lambda x, y: f"M{x + 1} {y}v6m4 0v-6",
    "fixed": lambda x, y: f"M{x + 3} {y}l3 3-3 3-3-3z",
    "warning": lambda x, y: f"M{x + 3} {y}l3 6h-6z",
    "known-failing": lambda x, y: f"M{x} {y}v6h6z",
    "not-carried": lambda x, y: f"M{x} {y + 2}h6v2h-6z",
    "not-run": lambda x, y: f"M{x} {y}h6v6h-6z",
    "unreviewed": lambda x, y: f"M{x} {y}h6v6h-6zm2 2h2v2h-2z",
    None: lambda x, y: f"M{x + 2} {y + 2}h2v2h-2z",
}
"""How a verdict is drawn at a place; None: no case."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The drawing of one pair: a path for each verdict that it has (``none``: no case), in a box of ``width`` × ``height``."""

    width: int
    height: int
    paths: Sequence[tuple[str, str]]


def fingerprint(features: Sequence[str], worst: Mapping[str, Verdict]) -> Fingerprint:
    """The drawing of the worst verdicts of some features, on the grid of all features."""
    paths: dict[Verdict | None, list[str]] = {}
    for place, feature in enumerate(features):
        verdict = worst.get(feature)
        row, at = divmod(place, ACROSS)
        paths.setdefault(verdict, []).append(SHAPES[verdict](at * STEP, row * STEP))
    rows = -(-len(features) // ACROSS)
    drawn = [(verdict or "none", "".join(paths[verdict])) for verdict in SHAPES if verdict in paths]
    return Fingerprint(ACROSS * STEP - 2, max(rows * STEP - 2, 0), drawn)


def legend(verdict: Verdict | None) -> str:
    """One shape alone, to stand beside its word."""
    return SHAPES[verdict](0, 0)
