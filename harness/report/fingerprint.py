"""Fingerprints: small drawings with one shape per feature, always at the same place.

Each verdict has its own shape, not only a colour. A drawing is hidden from screen readers, because
the text beside it has the same information. Most features passed, so these shapes are dashes of one
line, which the style sheet cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.conformance.results import VERDICTS, Verdict

STEP: Final = 8
"""Distance between two places; a shape is 6 wide."""
ACROSS: Final = 20
WIDTH: Final = ACROSS * STEP - 2
LINES: Final[dict[Verdict | None, int]] = {"passed": 0, "not-carried": 0, None: 2}
"""Verdicts drawn as a dash, with the distance of the dash from the sides of its place."""

_Shape = Callable[[int, int], str]

SHAPES: Final[dict[Verdict, _Shape]] = {
    "failed": lambda x, y: f"M{x} {y}l6 6m-6 0l6-6",
    "error": lambda x, y: f"M{x + 1} {y}v6m4 0v-6",
    "fixed": lambda x, y: f"M{x + 3} {y}l3 3-3 3-3-3z",
    "warning": lambda x, y: f"M{x + 3} {y}l3 6h-6z",
    "known-failing": lambda x, y: f"M{x} {y}v6h6z",
    "not-run": lambda x, y: f"M{x} {y}h6v6h-6z",
    "unreviewed": lambda x, y: f"M{x} {y}h6v6h-6zm2 2h2v2h-2z",
}
"""The shapes of all other verdicts, as path data at a place."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The drawing of one pair, ``width`` × ``height``: a path for each verdict in it, or for
    ``none`` if there is no case.
    """

    width: int
    height: int
    paths: Sequence[tuple[str, str]]


def fingerprint(features: Sequence[str], worst: Mapping[str, Verdict]) -> Fingerprint:
    """Draw the worst verdict of each feature on a grid of all features."""
    paths: dict[Verdict | None, list[str]] = {}
    verdicts = [worst.get(feature) for feature in features]
    place = 0
    while place < len(verdicts):
        verdict = verdicts[place]
        row, at = divmod(place, ACROSS)
        run = verdicts[place : place + ACROSS - at]
        number = (
            next((index for index, other in enumerate(run) if other != verdict), len(run))
            if verdict in LINES
            else 1
        )
        paths.setdefault(verdict, []).append(_shape(verdict, at * STEP, row * STEP, number))
        place += number
    rows = -(-len(features) // ACROSS)
    return Fingerprint(
        WIDTH,
        max(rows * STEP - 2, 0),
        [(verdict or "none", "".join(paths[verdict])) for verdict in _ORDER if verdict in paths],
    )


def legend(verdict: Verdict | None) -> str:
    """The shape of a verdict alone, for the key of the drawing."""
    return _shape(verdict, 0, 0, 1)


def _shape(verdict: Verdict | None, x: int, y: int, number: int) -> str:
    """The shape of a verdict; a dash over ``number`` places."""
    if verdict is not None and verdict in SHAPES:
        return SHAPES[verdict](x, y)
    inset = LINES[verdict]
    return f"M{x + inset} {y + 3}h{number * STEP - 2 - 2 * inset}"


_ORDER: Final[tuple[Verdict | None, ...]] = (*VERDICTS, None)
