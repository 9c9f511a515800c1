"""The inputs of property tests are the same in every run, unless the run asks for random ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_the_profile_is_the_one_of_the_option(pytestconfig: pytest.Config) -> None:
    asked = pytestconfig.getoption("--hypothesis-profile", None)
    assert settings.get_current_profile_name() == (asked or "same")


def test_inputs_are_the_same_every_time_unless_random_ones_are_asked() -> None:
    def drawn() -> list[int]:
        numbers = []

        @settings(max_examples=50)
        @given(st.integers())
        def draw(number: int) -> None:
            numbers.append(number)

        draw()
        return numbers

    assert (drawn() == drawn()) is (settings.get_current_profile_name() == "same")
