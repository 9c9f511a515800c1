"""Large, deep and hostile inputs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.specs.matching import Mismatch, check_expectation, compare

from .payloads import Json, shuffled, words


@pytest.mark.slow
@pytest.mark.parametrize(("size", "number"), [(1000, "900"), (5000, "at least 1,000")])
def test_findings_are_limited_and_the_rest_is_counted(size: int, number: str) -> None:
    events = words(size)
    mismatches = compare(events, [{**event, "delta": event["delta"] + "!"} for event in events])
    assert len(mismatches) == 101
    assert mismatches[-1] == Mismatch(
        "$", "changed", note=f"and {number} more differences that are not shown"
    )
    assert len(compare(events, [], limit=5)) == 1
    assert len(compare({str(n): n for n in range(9)}, {}, limit=5)) == 6


LARGE: list[tuple[str, list[Json], list[Json]]] = [
    ("nothing in common", words(5000), [{"type": "OTHER", "x": n} for n in range(5000)]),
    ("another order", words(5000), shuffled(words(5000))),
    ("reversed", words(5000), words(5000)[::-1]),
    ("few kinds", [n % 7 for n in range(5000)], [n * n % 11 % 7 for n in range(5000)]),
    (
        "operators",
        [{"n": n, "x": {"$any": "string"}} for n in range(2000)],
        [{"n": -n, "x": "y"} for n in range(1, 2000)],
    ),
    (
        "wildcards",
        [{"x": {"$any": "string"}} for n in range(2000)],
        [{"x": n % 2 or "y"} for n in range(2000)],
    ),
    (
        "unordered",
        [{"$unordered": [{"n": {"$re": str(n)}} for n in range(500)]}],
        [[{"n": "x"}] * 500],
    ),
    (
        "contained",
        [{"$contains": [{"n": {"$same": str(n)}} for n in range(500)] + [0]}],
        [[{"n": "x"}] * 900],
    ),
    ("long numbers", list(range(10**4000, 10**4000 + 3)), list(range(10**4000 + 1, 10**4000 + 5))),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expected", "actual"), [case[1:] for case in LARGE], ids=[case[0] for case in LARGE]
)
def test_large_lists_that_differ_everywhere_end(expected: list[Json], actual: list[Json]) -> None:
    assert compare(expected, actual)


def nested(depth: int, leaf: Json, *, lists: bool) -> Json:
    for _ in range(depth):
        leaf = [leaf] if lists else {"a": leaf}
    return leaf


@pytest.mark.slow
@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize(
    "wrap", [lambda value: value, lambda value: {"x": {"$any": True}, "y": value}]
)
def test_values_are_compared_to_a_depth_of_200_at_least(
    wrap: Callable[[Json], Json], *, lists: bool
) -> None:
    def around(value: Json) -> Json:
        return {"x": 1, "y": value} if "x" in str(wrap(0)) else value

    assert compare(wrap(nested(200, 1, lists=lists)), around(nested(200, 1, lists=lists))) == []
    (mismatch,) = compare(wrap(nested(200, 1, lists=lists)), around(nested(200, 2, lists=lists)))
    assert (mismatch.expected, mismatch.got) == (1, 2)
    (mismatch,) = compare(
        wrap(nested(100_000, 1, lists=lists)), around(nested(100_000, 2, lists=lists))
    )
    assert "too deeply" in mismatch.note


def test_many_items_in_another_order_are_placed() -> None:
    items = words(2000)
    assert compare({"$unordered": items}, shuffled(items)) == []
    (mismatch,) = compare(
        {"$unordered": [*items[:-1], {"n": 1}]}, shuffled([*items[:-1], {"n": 2}])
    )
    assert (mismatch.path, mismatch.expected, mismatch.got) == ("$unordered[1999].n", 1, 2)


@pytest.mark.parametrize("count", [12, 200])
def test_one_wrong_item_among_many_that_fit_anywhere_is_named(count: int) -> None:
    expected: Json = {"$unordered": [{"$re": "a.*"}] * count}
    mismatches = compare(expected, [f"a{number}" for number in range(count - 1)] + ["b"])
    assert [(mismatch.path, mismatch.kind) for mismatch in mismatches] == [
        (f"$unordered[{count - 1}]", "changed")
    ]


def test_an_expectation_of_any_depth_is_checked() -> None:
    expected: Json = {"$surprise": 1}
    for _ in range(5_000):
        expected = {"k": expected}
    assert len(check_expectation(expected)) == 1
