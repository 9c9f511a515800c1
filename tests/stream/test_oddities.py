"""The oddities of one answer: the first of each name, with its place."""

from __future__ import annotations

from harness.stream.oddities import Oddities, Oddity


def test_the_first_of_each_name_is_kept_in_wire_order() -> None:
    oddities = Oddities()
    oddities.note("usage", 7)
    oddities.place = 12
    for number in range(1000):
        oddities.note("text", number)
        oddities.note("usage", number)
    assert list(oddities) == [Oddity("usage", 0, 7), Oddity("text", 12, 0)]
    assert "text" in oddities
    assert "finish" not in oddities
