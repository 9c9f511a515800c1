"""Fingerprints: small drawings with one shape per feature, always at the same place.

Each verdict has its own shape, not only a colour. A drawing is hidden from screen readers, because
the text beside it has the same information.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.judging.rows import VERDICTS, Verdict

STEP: Final = 8
"""Distance between two places; a shape is 6 wide."""
ACROSS: Final = 20
WIDTH: Final = ACROSS * STEP - 2

_SHAPES: Final[dict[Verdict | None, Callable[[int, int], str]]] = {
    "failed": lambda x, y: f"M{x} {y}l6 6m-6 0l6-6",
    "error": lambda x, y: f"M{x + 1} {y}v6m4 0v-6",
    "fixed": lambda x, y: f"M{x + 3} {y}l3 3-3 3-3-3z",
    "warning": lambda x, y: f"M{x + 3} {y}l3 6h-6z",
    "known-failing": lambda x, y: f"M{x} {y}v6h6z",
    "not-carried": lambda x, y: f"M{x} {y + 3}h6",
    "not-run": lambda x, y: f"M{x} {y}h6v6h-6z",
    "unreviewed": lambda x, y: f"M{x} {y}h6v6h-6zm2 2h2v2h-2z",
    "passed": lambda x, y: f"M{x} {y + 3}h6",
    None: lambda x, y: f"M{x + 2} {y + 3}h2",
}
"""The shape of each verdict as path data at a place; None: no case."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The drawing of one pair."""

    width: int
    height: int
    paths: Sequence[tuple[str, str]]
    """A path for each verdict in it, or for ``none`` if there is no case."""


def fingerprint(features: Sequence[str], worst: Mapping[str, Verdict]) -> Fingerprint:
    """Draw the worst verdict of each feature on a grid of all features."""
    paths: dict[Verdict | None, str] = dict.fromkeys((*VERDICTS, None), "")
    for place, feature in enumerate(features):
        row, at = divmod(place, ACROSS)
        verdict = worst.get(feature)
        paths[verdict] += _SHAPES[verdict](at * STEP, row * STEP)
    rows = -(-len(features) // ACROSS)
    drawn = [(verdict or "none", path) for verdict, path in paths.items() if path]
    return Fingerprint(WIDTH, max(rows * STEP - 2, 0), drawn)


def legend(verdict: Verdict | None) -> str:
    """Return the shape of a verdict alone, for the key of the drawing."""
    return _SHAPES[verdict](0, 0)
