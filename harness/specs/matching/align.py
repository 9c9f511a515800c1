"""Which items of two lists belong together: the longest run of partners that stands in the same
order on both sides.

`align` is Myers' greedy algorithm (An O(ND) Difference Algorithm and Its Variations, 1986), which
costs as much as the lists differ, in windows: when a window has seen `WIDE` edits it keeps the way
that got furthest and goes on from there; as the steps run out, windows shrink to `NARROW`. So it is
exact while the lists differ by less than `WIDE` items and near-linear beyond. The predicate need
not be an equality: taking a partner as soon as there is one is right for any.

`best_pairs` is for few items that are not equal: the pairs in order with the highest sum of scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

WIDE: Final = 512
NARROW: Final = 16

Pairs = list[tuple[int, int]]


def align(left: int, right: int, same: Callable[[int, int], bool], steps: int) -> Pairs:
    """Partners in order, for lists of ``left`` and ``right`` items; ``same`` is asked for two
    places, about ``steps`` times in vain at most.
    """
    pairs: Pairs = []
    i = j = 0
    while i < left and j < right:
        window = _Window(i, j, left - i, right - j, same)
        found, i_end, j_end = window.cross(steps)
        pairs += found
        steps -= window.asked - (i_end - i)
        i, j = i_end, j_end
    return pairs


class _Window:
    """The rest of two lists, from (``i``, ``j``) on. A diagonal is x - y; what counts is how far x
    gets on each after so many edits.
    """

    def __init__(
        self, i: int, j: int, width: int, height: int, same: Callable[[int, int], bool]
    ) -> None:
        self.i, self.j, self.width, self.height, self.same = i, j, width, height, same
        self.rounds: list[dict[int, int]] = []
        self.asked = 0

    def cross(self, steps: int) -> tuple[Pairs, int, int]:
        """Partners on the way to the end, or to the furthest point that ``steps`` allow; and that
        point.
        """
        before: dict[int, int] = {}
        for edits in range(WIDE + 1):
            if edits > NARROW and self.asked > steps:
                break
            now: dict[int, int] = {}
            for diagonal in range(-min(edits, self.height), min(edits, self.width) + 1):
                if (diagonal + edits) % 2:
                    continue
                x = self._enter(before, diagonal) if edits else 0
                if x < 0:
                    continue
                x = self._slide(x, diagonal)
                now[diagonal] = x
                if x == self.width and x - diagonal == self.height:
                    self.rounds.append(now)
                    return self._retrace(diagonal)
            self.rounds.append(now)
            before = now
        return self._retrace(
            max(before, key=lambda diagonal: (2 * before[diagonal] - diagonal, diagonal))
        )

    def _enter(self, before: dict[int, int], diagonal: int) -> int:
        """Where the last edit puts us on this diagonal: skipping an item on the left or on the
        right, whichever gets further; -1 for nowhere.
        """
        skip_left, skip_right = before.get(diagonal - 1, -1), before.get(diagonal + 1, -1)
        by_left = skip_left + 1 if 0 <= skip_left < self.width else -1
        by_right = skip_right if skip_right >= 0 and skip_right - diagonal <= self.height else -1
        return max(by_left, by_right)

    def _slide(self, x: int, diagonal: int) -> int:
        start = x
        while (
            x < self.width
            and x - diagonal < self.height
            and self.same(self.i + x, self.j + x - diagonal)
        ):
            x += 1
        self.asked += x - start + 1
        return x

    def _retrace(self, diagonal: int) -> tuple[Pairs, int, int]:
        """The partners on the way to the last round's point on this diagonal, and that point."""
        pairs: Pairs = []
        x = self.rounds[-1][diagonal]
        end = self.i + x, self.j + x - diagonal
        for edits in range(len(self.rounds) - 1, -1, -1):
            before = self.rounds[edits - 1] if edits else {}
            start = self._enter(before, diagonal) if edits else 0
            pairs += [
                (self.i + step, self.j + step - diagonal) for step in range(x - 1, start - 1, -1)
            ]
            if not edits:
                break
            if 0 <= before.get(diagonal - 1, -1) == start - 1:
                diagonal, x = diagonal - 1, start - 1
            else:
                diagonal, x = diagonal + 1, start
        return pairs[::-1], *end


def best_pairs(left: int, right: int, score: Callable[[int, int], float]) -> Pairs:
    """The pairs in order with the highest sum of scores; a score of 0 is no pair. Asks for every
    pair: ``left`` × ``right`` must be small.
    """
    scores = [[score(i, j) for j in range(right)] for i in range(left)]
    best = [[0.0] * (right + 1) for _ in range(left + 1)]
    for i in range(left - 1, -1, -1):
        for j in range(right - 1, -1, -1):
            together = scores[i][j] + best[i + 1][j + 1]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    pairs: Pairs = []
    i = j = 0
    while i < left and j < right:
        if scores[i][j] and best[i][j] == scores[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs
