"""Properties that hold for any JSON."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.specs.matching import check_expectation, compare, sides

from .payloads import Json, Payloads

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.sampled_from(["call_1", "call_2"])
)
KEYS = st.sampled_from(["type", "index", "id", "text", "$ref", "'", '"', "0", "[0]", "__x", "a.b"])
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from("ab")},
    optional={
        "index": st.integers(0, 3),
        "id": st.sampled_from(["x_1", "x_2", "x_3"]),
        "text": st.text("ab", max_size=2),
    },
)
OPERATORS = ["$any", "$re", "$same", "$json", "$contains", "$unordered", "$absent", "$literal"]
WORDS = st.sampled_from(["string", "a*", "x", "{}", "[1]", "("])
EXPECTATIONS = st.recursive(
    SCALARS | WORDS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.builds(
            lambda operator, argument: {operator: argument},
            st.sampled_from(OPERATORS),
            inner | st.just(True),
        )
    ),
    max_leaves=12,
)


def copy(value: Json) -> Json:
    """The same value made of other objects, with keys in another order and whole numbers as floats."""
    if isinstance(value, dict):
        return {key: copy(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [copy(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.slow
@settings(deadline=None)
@given(DATA)
def test_a_value_matches_itself(value: Json) -> None:
    assert compare(value, copy(value)) == []
    assert compare({"$literal": value}, copy(value)) == []


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(DATA | EVENTS, min_size=1, max_size=12), st.data())
def test_one_deletion_is_one_finding(items: list[Json], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(items) - 1))
    assert len(compare(items, items[:place] + items[place + 1 :])) == 1
    assert len(compare(items[:place] + items[place + 1 :], items)) == 1


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=8), st.lists(EVENTS, max_size=8))
def test_different_lists_of_events_have_findings(expected: Payloads, actual: Payloads) -> None:
    mismatches = compare(expected, actual)
    assert bool(mismatches) == (expected != actual)
    assert all(mismatch.path.isprintable() for mismatch in mismatches)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(EXPECTATIONS, DATA | EXPECTATIONS)
def test_nothing_raises(expected: Json, actual: Json) -> None:
    check_expectation(expected)
    mismatches = compare(expected, actual)
    assert mismatches == compare(expected, actual)
    for mismatch in mismatches:
        sides(mismatch)
