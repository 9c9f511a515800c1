"""Objects are built from pieces that name their place by a JSON path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stream.json_path import (
    MAX_GAP,
    MAX_STEPS,
    Assembly,
    read_path,
    readable_path,
    write_path,
)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$.location", ("location",)),
        ("$.ops[0].name", ("ops", 0, "name")),
        ("$['a b'].c", ("a b", "c")),
        ('$["a.b"][12]', ("a.b", 12)),
        (r"$['it\'s \"q\" \u263a \\']", ('it\'s "q" ☺ \\',)),
        ("$['']", ("",)),
        ("$", ()),
    ],
)
def test_paths_to_a_single_place_are_read(path: str, steps: tuple[str | int, ...]) -> None:
    assert read_path(path) == steps


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "a.b",
        "$a",
        "$.",
        "$..a",
        "$.*",
        "$[*]",
        "$[-1]",
        "$[0:1]",
        "$[?(1)]",
        "$['a",
        r"$['\q']",
        "$[1234567890]",
        "$" + ".a" * (MAX_STEPS + 1),
    ],
)
def test_other_paths_are_not_read(path: str) -> None:
    assert read_path(path) is None


@pytest.mark.slow
@given(st.lists(st.text() | st.integers(0, 999), max_size=5))
def test_a_path_that_is_written_is_read_again(steps: list[str | int]) -> None:
    assert read_path(write_path(*steps)) == tuple(steps)


def assemble(*pieces: tuple[str, Any]) -> tuple[dict[str, Any], list[bool]]:
    assembly = Assembly()
    placed = [assembly.add(path, value) for path, value in pieces]
    return assembly.value(), placed


def test_string_pieces_join_in_any_spelling_of_the_path() -> None:
    assert assemble(("$.a[0]", "Bos"), ("$['a'][0]", "ton"), ('$["a"][0]', "")) == (
        {"a": ["Boston"]},
        [True, True, True],
    )


def test_an_unfinished_object_can_be_read() -> None:
    assembly = Assembly()
    assembly.add("$.a", "x", True)
    assembly.add("$.a", "y", True)
    assert assembly.value() == {"a": "xy"}
    assembly.add("$.a", "z")
    assert assembly.value() == {"a": "xyz"}


def test_arrays_grow_and_gaps_are_null_until_they_are_filled() -> None:
    assert assemble(("$.a[2]", 3), ("$.a[0]", 1)) == ({"a": [1, None, 3]}, [True, True])


@pytest.mark.parametrize(
    "path", ["$.a", "$.a.b", "$.a[0]", "$.b", "$.c.d", "$.c['0']", "$", "", "b"]
)
def test_a_value_at_an_impossible_place_changes_nothing(path: str) -> None:
    before = [("$.a", "x"), ("$.b", 1), ("$.c[0]", 1)]
    assert assemble(*before, (path, True)) == (
        {"a": "x", "b": 1, "c": [1]},
        [True, True, True, False],
    )


def test_gaps_are_bounded_one_by_one_and_together() -> None:
    value, placed = assemble(("$.a[10000]", 1), ("$.b[1]", 1), ("$.c[0][0]", 1))
    assert placed == [True, False, True]
    assert len(value["a"]) == MAX_GAP + 1
    assert assemble(("$.a[6000][6000]", 1)) == ({}, [False])


def test_a_value_is_not_shared_with_its_sender() -> None:
    sent = {"b": [1]}
    value, _ = assemble(("$.a", sent), ("$.a.b[1]", 2))
    assert (sent, value) == ({"b": [1]}, {"a": {"b": [1, 2]}})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "$"),
        (("usage", "total"), "usage.total"),
        ((3, "delta"), "[3].delta"),
        ((range(12, 15), "$re"), "[12..14].$re"),
        (("a b", "é"), '["a b"]["\\u00e9"]'),
    ],
)
def test_a_path_in_a_message_is_short_and_ascii(
    path: tuple[str | int | range, ...], text: str
) -> None:
    assert readable_path(path) == text
