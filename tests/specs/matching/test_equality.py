"""Equality of values, and the paths of findings."""

from __future__ import annotations

import pytest

from harness.specs.matching import Mismatch, compare

from .payloads import Json, findings

EQUAL = [
    (1, 1.0),
    (0, -0.0),
    ({"n": [1, {"m": 2.0}]}, {"n": [1.0, {"m": 2}]}),
    ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
    (2**64 + 1, 2**64 + 1),
    (10**22, 1e22),
    ({"s": "\ud800", "n": 1}, {"s": "\ud800", "n": 1.0}),
    (None, None),
    ([], []),
    ({}, {}),
    ({"$ref": "#/x", "b": 1}, {"$ref": "#/x", "b": 1.0}),
    ({"$any": "string", "also": 1}, {"$any": "string", "also": 1}),
    ({"$contain": "a"}, {"$contain": "a"}),
]


@pytest.mark.parametrize(("expected", "actual"), EQUAL)
def test_equal_values_give_no_finding(expected: Json, actual: Json) -> None:
    assert compare(expected, actual) == []
    assert compare(actual, expected) == []


CHANGED = [
    (True, 1, "$"),
    (False, 0.0, "$"),
    ({"a": [{"b": True}]}, {"a": [{"b": 1}]}, "a[0].b"),
    ({"s": "\ud800", "n": True}, {"s": "\ud800", "n": 1}, "n"),
    (None, False, "$"),
    ("1", 1, "$"),
    ([], {}, "$"),
    ({"a": {"b": 1}, "c": 1}, {"a": 5, "c": 1}, "a"),
    ({}, None, "$"),
    (2**53, float(2**53) + 2, "$"),
    ({"e": {"type": "A", "n": 1}}, {"e": {"type": "B", "n": 1}}, "e.type"),
    ({"a b": {'"': {"": 1}}}, {"a b": {'"': {"": 2}}}, '["a b"]["\\""][""]'),
    (
        {"0": {"[1]": {"__p": {"a.b": 1}}}},
        {"0": {"[1]": {"__p": {"a.b": 2}}}},
        '["0"]["[1]"].__p["a.b"]',
    ),
    ({"é": 1}, {"é": 2}, '["\\u00e9"]'),
    ([1, 2, 3], [1, 9, 3], "[1]"),
    ([[1], [2, [3]]], [[1], [2, [4]]], "[1][1][0]"),
    ({"t": "one\ntwo\n" * 3000}, {"t": "one\ntwo\n" * 3000 + "!"}, "t"),
    ({"u": {"a": 1, "b": 2, "c": 3}}, {"u": {"a": 2, "b": 2, "c": 3}}, "u.a"),
]


@pytest.mark.parametrize(("expected", "actual", "path"), CHANGED)
def test_one_changed_value_is_one_finding_at_its_path(
    expected: Json, actual: Json, path: str
) -> None:
    assert findings(expected, actual) == [(path, "changed")]
    assert findings(actual, expected) == [(path, "changed")]


def test_a_finding_carries_both_values() -> None:
    assert compare({"a": {"b": 1}}, {"a": {"b": None}}) == [Mismatch("a.b", "changed", 1, None)]


def test_keys_that_one_side_lacks() -> None:
    assert compare({"a": 1, "b": {"c": None}}, {"a": 1, "b": {"d": 2}}) == [
        Mismatch("b.c", "missing", None, None),
        Mismatch("b.d", "extra", None, 2),
    ]


def test_key_order_does_not_change_the_order_of_findings() -> None:
    expected, actual = {"b": 1, "a": {"z": 1, "y": 2}}, {"a": {"y": 3, "z": 4}, "b": 5}
    assert compare(expected, actual) == compare(
        {"a": {"y": 2, "z": 1}, "b": 1}, {"b": 5, "a": {"z": 4, "y": 3}}
    )
