"""Alignment of two lists: the longest sequence of partners in the same order on both sides.

`align` is Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986). Its
cost grows with the number of differences, so it has a limit. The predicate need not be an equality.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final

Pairs = list[tuple[int, int]]
NONE: Final = (-1, None)


def align(left: int, right: int, same: Callable[[int, int], bool], steps: int) -> Pairs:
    """Return the pairs of partners, in order, of a list of ``left`` items and one of ``right``.

    ``same`` is asked for two places, at most about ``steps`` + ``left`` + ``right`` times. When
    these are used up, the pairs end at the furthest point that was reached.
    """
    steps += left + right
    # For each diagonal x - y the furthest x, and a chain of the pairs before it, the last first.
    ends: dict[int, tuple[int, Any]] = {1: (0, None)}
    for edits in range(left + right + 1):
        lowest = -min(edits, right)
        for diagonal in range(lowest + (lowest + edits) % 2, min(edits, left) + 1, 2):
            steps -= 1
            # The edit skips an item on the left or on the right, whichever gets further.
            over, under = ends.get(diagonal - 1, NONE), ends.get(diagonal + 1, NONE)
            x = over[0] + 1 if 0 <= over[0] < left else -1
            if x < under[0] <= right + diagonal:
                x, chain = under
            elif x >= 0:
                chain = over[1]
            else:
                continue
            while x < left and x - diagonal < right and same(x, x - diagonal):
                chain = ((x, x - diagonal), chain)
                x += 1
                steps -= 1
            ends[diagonal] = x, chain
        if steps < 0 or ends.get(left - right, NONE)[0] == left:
            break
    furthest = max(ends, key=lambda diagonal: (2 * ends[diagonal][0] - diagonal, diagonal))
    return _unchained(ends[furthest][1])[::-1]


def best_pairs(left: int, right: int, score: Callable[[int, int], float]) -> Pairs:
    """Return the pairs in order with the highest sum of scores; a score of 0 is not a pair.

    Asks for every pair, so ``left`` × ``right`` must be small.
    """
    # For each place on the right the best sum from there on, and a chain of its pairs.
    below: list[tuple[float, Any]] = [(0.0, None)] * (right + 1)
    for i in range(left - 1, -1, -1):
        row = [(0.0, None)] * (right + 1)
        for j in range(right - 1, -1, -1):
            choices = [below[j], row[j + 1]]
            if points := score(i, j):
                total, chain = below[j + 1]
                choices.insert(0, (points + total, ((i, j), chain)))
            row[j] = max(choices, key=itemgetter(0))
        below = row
    return _unchained(below[0][1])


def _unchained(chain: Any) -> Pairs:
    pairs: Pairs = []
    while chain:
        pair, chain = chain
        pairs.append(pair)
    return pairs
