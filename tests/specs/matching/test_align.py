"""The alignment of two lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.specs.matching.align import align, best_pairs

from .payloads import shuffled


@pytest.mark.slow
def test_an_alignment_asks_few_questions() -> None:
    asked = 0

    def same(left: list[int], right: list[int]) -> Callable[[int, int], bool]:
        def ask(i: int, j: int) -> bool:
            nonlocal asked
            asked += 1
            return left[i] == right[j]

        return ask

    numbers = list(range(5000))
    assert len(align(5000, 4990, same(numbers, numbers[:1000] + numbers[1010:]), 300_000)) == 4990
    assert asked < 6000
    for left, right in [
        (numbers, shuffled(numbers)),
        (numbers, [-1] * 5000),
        ([n % 2 for n in numbers], [n % 3 for n in numbers]),
    ]:
        asked = 0
        align(5000, 5000, same(left, right), 50_000)
        assert asked < 250_000


def longest(left: list[int], right: list[int]) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            table[i][j] = max(
                table[i + 1][j], table[i][j + 1], (left[i] == right[j]) + table[i + 1][j + 1]
            )
    return table[0][0]


SMALL = st.lists(st.integers(0, 3), max_size=12)


@pytest.mark.slow
@given(SMALL, SMALL)
def test_an_alignment_is_the_longest_there_is(left: list[int], right: list[int]) -> None:
    pairs = align(len(left), len(right), lambda i, j: left[i] == right[j], 10_000)
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) == longest(left, right)
    assert len(best_pairs(len(left), len(right), lambda i, j: left[i] == right[j])) == len(pairs)
