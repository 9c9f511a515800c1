"""Fingerprints: every feature of the checklist as one small shape, always at the same place, so
that two of them compare at a glance.

A shape says a verdict without its colour: a full square passed, a bar is not carried, a half square
is known failing, a cross failed. What a fingerprint shows stands beside it in words; it is hidden
from screen readers.

What most features are is drawn as a dashed line, whose dashes the style sheet cuts: places in a row
are one stroke of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.conformance.results import VERDICTS, Verdict

STEP: Final = 8
"""From one place to the next; a shape is 6 wide."""
ACROSS: Final = 20
WIDTH: Final = ACROSS * STEP - 2
LINES: Final[dict[Verdict | None, int]] = {"passed": 0, "not-carried": 0, None: 2}
"""What is drawn as a dash in the middle of its place, and how far in from its left and right."""

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
"""How any other verdict is drawn at a place."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The drawing of one pair: a path for each verdict that it has (``none``: no case), in a box of
    ``width`` × ``height``.
    """

    width: int
    height: int
    paths: Sequence[tuple[str, str]]


def fingerprint(features: Sequence[str], worst: Mapping[str, Verdict]) -> Fingerprint:
    """The drawing of the worst verdicts of some features, on the grid of all features."""
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
    """One shape alone, to stand beside its word."""
    return _shape(verdict, 0, 0, 1)


def _shape(verdict: Verdict | None, x: int, y: int, number: int) -> str:
    """``number`` places in a row of what is drawn as a line, or one of any other."""
    if verdict is not None and verdict in SHAPES:
        return SHAPES[verdict](x, y)
    inset = LINES[verdict]
    return f"M{x + inset} {y + 3}h{number * STEP - 2 - 2 * inset}"


_ORDER: Final[tuple[Verdict | None, ...]] = (*VERDICTS, None)
