"""Alignment of two lists: the longest sequence of partners in the same order on both sides.

`align` is Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986). Its
cost grows with the number of differences, so it has a limit. The predicate need not be an equality.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Pairs = list[tuple[int, int]]


def align(left: int, right: int, same: Callable[[int, int], bool], steps: int) -> Pairs:
    """Return partners in order, for lists of ``left`` and ``right`` items.

    ``same`` is asked for two places, at most about ``steps`` + ``left`` + ``right`` times. When
    these are used up, the pairs end at the furthest point that was reached.
    """
    rounds: list[dict[int, int]] = []
    steps += left + right
    for edits in range(left + right + 1):
        now: dict[int, int] = {}
        lowest = -min(edits, right)
        for diagonal in range(lowest + (lowest + edits) % 2, min(edits, left) + 1, 2):
            start = _enter(rounds[-1], diagonal, left, right) if edits else 0
            steps -= 1
            if start < 0:
                continue
            x = start
            while x < left and x - diagonal < right and same(x, x - diagonal):
                x += 1
            steps -= x - start
            now[diagonal] = x
        rounds.append(now)
        if steps < 0 or now.get(left - right) == left:
            break
    furthest = max(rounds[-1].items(), key=lambda end: (2 * end[1] - end[0], end[0]))
    return _retrace(rounds, *furthest, left, right)


def _enter(before: dict[int, int], diagonal: int, left: int, right: int) -> int:
    """The x where the next edit enters this diagonal, -1 if it cannot.

    A diagonal is x - y. The edit skips an item on the left or on the right, whichever gets further.
    """
    skip_left, skip_right = before.get(diagonal - 1, -1), before.get(diagonal + 1, -1)
    by_left = skip_left + 1 if 0 <= skip_left < left else -1
    by_right = skip_right if skip_right - diagonal <= right else -1
    return max(by_left, by_right)


def _retrace(rounds: list[dict[int, int]], diagonal: int, x: int, left: int, right: int) -> Pairs:
    """The partners on the way to a point of the last round."""
    pairs: Pairs = []
    for edits in range(len(rounds) - 1, -1, -1):
        start = _enter(rounds[edits - 1], diagonal, left, right) if edits else 0
        pairs += [(step, step - diagonal) for step in range(x - 1, start - 1, -1)]
        if edits and 0 <= rounds[edits - 1].get(diagonal - 1, -1) == start - 1:
            diagonal, x = diagonal - 1, start - 1
        else:
            diagonal, x = diagonal + 1, start
    return pairs[::-1]


def best_pairs(left: int, right: int, score: Callable[[int, int], float]) -> Pairs:
    """Return the pairs in order with the highest sum of scores; a score of 0 is no pair.

    Asks for every pair, so ``left`` × ``right`` must be small.
    """
    below: list[tuple[float, Any]] = [(0.0, None)] * (right + 1)
    for i in range(left - 1, -1, -1):
        row = [(0.0, None)] * (right + 1)
        for j in range(right - 1, -1, -1):
            choices = [below[j], row[j + 1]]
            if points := score(i, j):
                total, rest = below[j + 1]
                choices.insert(0, (points + total, (i, j, rest)))
            row[j] = max(choices, key=lambda choice: choice[0])
        below = row
    pairs: Pairs = []
    chain = below[0][1]
    while chain:
        i, j, chain = chain
        pairs.append((i, j))
    return pairs
