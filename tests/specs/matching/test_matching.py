"""Matching: what counts as equal, what operators accept, and in how few findings a difference is
told.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.specs.matching import Mismatch, check_expectation, compare, sides
from harness.specs.matching.align import align, best_pairs

Json = Any
Payloads = list[dict[str, Json]]


def told(expected: Json, actual: Json) -> list[tuple[str, str]]:
    """The findings as path and kind."""
    return [(mismatch.path, mismatch.kind) for mismatch in compare(expected, actual)]


# ---- equality

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
    assert told(expected, actual) == [(path, "changed")]
    assert told(actual, expected) == [(path, "changed")]


def test_a_finding_carries_both_values() -> None:
    assert compare({"a": {"b": 1}}, {"a": {"b": None}}) == [Mismatch("a.b", "changed", 1, None)]


def test_keys_that_one_side_lacks() -> None:
    assert compare({"a": 1, "b": {"c": None}}, {"a": 1, "b": {"d": 2}}) == [
        Mismatch("b.c", "missing", None, None),
        Mismatch("b.d", "extra", None, 2),
    ]


def test_the_order_of_findings_does_not_depend_on_key_order() -> None:
    expected, actual = {"b": 1, "a": {"z": 1, "y": 2}}, {"a": {"y": 3, "z": 4}, "b": 5}
    assert compare(expected, actual) == compare(
        {"a": {"y": 2, "z": 1}, "b": 1}, {"b": 5, "a": {"z": 4, "y": 3}}
    )


# ---- operators

ACCEPTED = [
    ({"$any": True}, None),
    ({"s": "\ud800", "id": {"$any": True}}, {"s": "\ud800", "id": 1}),
    ({"$any": True}, {"x": [1]}),
    ({"$any": "string"}, ""),
    ({"$any": "number"}, 1.5),
    ({"$any": "number"}, 2),
    ({"$any": "integer"}, 2),
    ({"$any": "integer"}, 2.0),
    ({"$any": "boolean"}, False),
    ({"$any": "object"}, {}),
    ({"$any": "array"}, []),
    ({"$any": "null"}, None),
    ({"$re": "call_[0-9]+"}, "call_17"),
    ({"$re": "(?s)a.b"}, "a\nb"),
    ({"$json": {"a": {"$any": "integer"}}}, '{"a": 1}'),
    ({"$json": [1, True]}, "[1.0, true]"),
    ({"$json": {"$json": 1}}, '"1"'),
    ({"$contains": "bc"}, "abcd"),
    ({"$contains": ""}, ""),
    ({"$contains": [2, 4]}, [1, 2, 3, 4]),
    ({"$contains": []}, []),
    ({"$contains": [{"$any": "string"}, 2]}, [1, "a", 2, "b"]),
    (
        {"$contains": {"a": 1, "b": {"$contains": {"c": 2}}}},
        {"a": 1, "b": {"c": 2, "d": 3}, "e": 4},
    ),
    ({"$contains": {"a": {"$absent": True}}}, {"b": 1}),
    ({"$contains": {}}, {"b": 1}),
    ({"$unordered": [1, 2, 2, "a"]}, [2, "a", 1.0, 2]),
    ({"$unordered": [{"$any": "integer"}, {"$any": True}, "x"]}, ["x", "y", 1]),
    ({"$unordered": [{"$any": True}, {"$any": "number"}, {"$any": "integer"}]}, [3, 2.5, "x"]),
    ({"a": {"$absent": True}, "b": 1}, {"b": 1}),
    ({"a": {"$absent": True}}, {}),
    ({"$literal": {"$any": True}}, {"$any": True}),
    ({"$literal": 1}, 1.0),
    ({"a": {"$literal": {"$re": "x"}}}, {"a": {"$re": "x"}}),
    ([{"$same": "id"}, {"x": {"$same": "id"}}], [[1], {"x": [1.0]}]),
    ([{"$same": "a"}, {"$same": "b"}], [1, 1]),
    ({"$unordered": [{"$same": "x"}, {"x": {"$same": "x"}}]}, [{"x": 1}, 1]),
    (
        [{"$contains": [{"a": {"$same": "x"}}, {"b": {"$same": "x"}}]}],
        [[{"a": 1}, {"a": 2}, {"b": 2}]],
    ),
    (
        {"$contains": [{"$contains": {"id": {"$same": "x"}}}, {"of": {"$same": "x"}}]},
        [{"id": 1}, {"id": 2}, {"of": 2}],
    ),
]


@pytest.mark.parametrize(("expected", "actual"), ACCEPTED)
def test_operators_accept(expected: Json, actual: Json) -> None:
    assert check_expectation(expected) == []
    assert compare(expected, actual) == []
    assert compare({"in": [expected]}, {"in": [actual]}) == []


REFUSED = [
    ({"$any": "string"}, None, "$", "changed"),
    ({"$any": "number"}, True, "$", "changed"),
    ({"$any": "integer"}, 1.5, "$", "changed"),
    ({"$any": "integer"}, True, "$", "changed"),
    ({"a": {"$any": True}}, {}, "a", "missing"),
    ({"$re": "a"}, "ab", "$", "changed"),
    ({"$re": "a"}, "a\n", "$", "changed"),
    ({"$re": "1"}, 1, "$", "changed"),
    ({"$re": "x"}, {"$re": "x"}, "$", "changed"),
    ({"$json": 1}, 1, "$", "changed"),
    ({"$json": 1}, "one", "$", "changed"),
    ({"$json": True}, "1", "$.$json", "changed"),
    ({"$json": None}, "NaN", "$", "changed"),
    ({"$json": {"$any": True}}, "[" * 100_000, "$", "changed"),
    (
        {"args": {"$json": {"city": "Paris", "n": 1}}},
        {"args": '{"city": "Rome", "n": 1}'},
        "args.$json.city",
        "changed",
    ),
    ({"$contains": "x"}, "abc", "$", "changed"),
    ({"$contains": "x"}, ["x"], "$", "changed"),
    ({"$contains": [4, 2]}, [1, 2, 3, 4], "$contains[1]", "missing"),
    ({"$contains": [2, 2]}, [1, 2, 3], "$contains[1]", "missing"),
    ({"$contains": {"a": 1}}, {"b": 1}, "a", "missing"),
    ({"$contains": {"a": {"$any": True}}}, {"b": 1}, "a", "missing"),
    ({"$contains": {"a": 1, "z": 2}}, {"a": 2, "b": 3, "z": 2}, "a", "changed"),
    ({"$contains": {"a": {"$absent": True}}}, {"a": None}, "a", "extra"),
    ({"$unordered": [1, 2]}, [2, 1, 1], "[2]", "extra"),
    ({"$unordered": [1, 2, 3]}, [3, 1], "$unordered[1]", "missing"),
    ({"$unordered": [1, {"a": 1}]}, [{"a": 2}, 1], "$unordered[1].a", "changed"),
    ({"$unordered": [True]}, [1], "$unordered[0]", "changed"),
    ({"$unordered": [1]}, {"0": 1}, "$", "changed"),
    ({"a": {"$absent": True}}, {"a": None}, "a", "extra"),
    ({"$literal": {"$any": True}}, 5, "$", "changed"),
    ({"$literal": {"a": {"b": 1}}}, {"a": {"b": 2}}, "a.b", "changed"),
    ([{"$same": "id"}, {"$same": "id"}], [1, 2], "[1]", "changed"),
    ([{"$same": "id"}, {"$same": "id"}], [1, True], "[1]", "changed"),
    (
        {"a": {"$same": "x"}, "b": [{"c": {"$same": "x"}}]},
        {"b": [{"c": 2}], "a": 1},
        "b[0].c",
        "changed",
    ),
]


@pytest.mark.parametrize(("expected", "actual", "path", "kind"), REFUSED)
def test_operators_refuse(expected: Json, actual: Json, path: str, kind: str) -> None:
    assert check_expectation(expected) == []
    assert told(expected, actual) == [(path.removeprefix("$."), kind)]


def test_a_name_is_bound_by_its_first_use_also_in_an_item_that_differs() -> None:
    expected = [{"type": "a", "id": {"$same": "id"}, "n": 1}, {"type": "b", "id": {"$same": "id"}}]
    actual = [{"type": "a", "id": "x", "n": 2}, {"type": "b", "id": "y"}]
    mismatches = compare(expected, actual)
    assert [(mismatch.path, mismatch.expected, mismatch.got) for mismatch in mismatches] == [
        ("[0].n", 1, 2),
        ("[1].id", "x", "y"),
    ]
    assert "$same: id" in mismatches[1].note


def test_names_survive_an_item_that_is_missing() -> None:
    expected = [{"type": kind, "id": {"$same": "id"}} for kind in "abcd"]
    actual = [{"type": kind, "id": 7} for kind in "acd"]
    assert told(expected, actual) == [("[1]", "missing")]


def test_items_with_operators_are_aligned_by_what_they_accept() -> None:
    expected = [{"type": "delta", "text": f"t{n}", "ts": {"$any": "integer"}} for n in range(300)]
    actual = [
        {"type": "delta", "text": f"t{n}", "ts": n} for n in range(300) if n not in (40, 41, 200)
    ]
    actual[100]["ts"] = None
    assert told(expected, actual) == [
        ("[40..41]", "missing"),
        ("[102].ts", "changed"),
        ("[200]", "missing"),
    ]


def test_an_item_with_operators_may_stand_for_a_piece_of_text() -> None:
    expected = deltas("a", "b", "c", "d", "e")
    expected[2] = {"type": "TEXT_DELTA", "delta": {"$any": "string"}, "text_id": "text_1"}
    assert told(expected, deltas("a", "x", "b", "c", "d", "f", "e")) == [
        ("[1]", "extra"),
        ("[5]", "extra"),
    ]


def test_an_item_with_operators_may_stand_for_the_whole_text() -> None:
    expected = [
        {"type": "D", "delta": {"$any": "string"}},
        {"type": "E"},
        {"type": "D", "delta": "x"},
        {"type": "E"},
        {"type": "D", "delta": "y"},
    ]
    actual = [
        {"type": "P"},
        {"type": "D", "delta": "q"},
        *expected[1:4],
        {"type": "D", "delta": "z"},
    ]
    assert told(expected, actual) == [("[0]", "extra"), ("[4].delta", "changed")]


def test_who_is_paired_does_not_depend_on_names() -> None:
    expected = [
        {"type": "a", "id": {"$same": "x"}},
        {"type": "a", "id": {"$same": "x"}},
        {"type": "z"},
    ]
    actual = [{"type": "a", "id": 1}, {"type": "a", "id": 2}, {"type": "a", "id": 1}, {"type": "z"}]
    assert told(expected, actual) == [("[1].id", "changed"), ("[2]", "extra")]


def test_deepdiff_sees_only_what_has_no_operators() -> None:
    expected = {"id": {"$any": "string"}, "usage": {"in": 1, "out": 2}, "gone": {"$absent": True}}
    assert told(expected, {"id": "x", "usage": {"in": 1, "out": 3, "all": 4}}) == [
        ("usage.all", "extra"),
        ("usage.out", "changed"),
    ]


MALFORMED = [
    ({"$any": "foo"}, ("$any",), "foo"),
    ({"$any": False}, ("$any",), "boolean"),
    ([0, {"a": {"$re": 5}}], (1, "a", "$re"), "not number"),
    ({"$re": "("}, ("$re",), "not a valid regular expression"),
    ({"$same": ""}, ("$same",), "empty"),
    ({"$same": ["x"]}, ("$same",), "array"),
    ({"$contains": 5}, ("$contains",), "number"),
    ({"$contains": {"$re": "a"}}, ("$contains",), "operator $re"),
    ({"$unordered": {"a": 1}}, ("$unordered",), "object"),
    ({"a": {"$absent": False}}, ("a", "$absent"), "false"),
    ({"$absent": True}, ("$absent",), "value of a key"),
    ([{"$absent": True}], (0, "$absent"), "value of a key"),
    ({"$json": {"$absent": True}}, ("$json", "$absent"), "value of a key"),
    ({"$unordered": [{"$re": 1}]}, ("$unordered", 0, "$re"), "not number"),
    ({"$contains": {"a": {"$any": "x"}}}, ("$contains", "a", "$any"), "'x'"),
]


@pytest.mark.parametrize(("expected", "path", "word"), MALFORMED)
def test_an_operator_that_is_written_wrongly_is_reported_with_its_place(
    expected: Json, path: tuple[str | int, ...], word: str
) -> None:
    ((found, message),) = check_expectation(expected)
    assert found == path
    assert word in message
    assert compare(expected, expected) != []


def test_faults_come_in_reading_order() -> None:
    faults = check_expectation({"a": [{"$re": 1}, {"$any": 1}], "b": {"$same": 1}})
    assert [path for path, _ in faults] == [("a", 0, "$re"), ("a", 1, "$any"), ("b", "$same")]


@pytest.mark.parametrize(
    "data", [{"$contain": 5}, {"$any": "foo", "b": 1}, {"$literal": {"$re": 5}}, {"$ref": "#/x"}]
)
def test_other_dollar_keys_are_data(data: Json) -> None:
    assert check_expectation(data) == []


# ---- patterns

NOT_IN_RE2 = [
    (r"(a)\1", r"RE2, which matches $re, has no back-reference \1; write the pattern without it"),
    (r"(?P<n>a)(?P=n)", "RE2, which matches $re, has no back-reference"),
    ("(a)?(?(1)b|c)", "RE2, which matches $re, has no condition"),
    ("a(?=b)", "RE2, which matches $re, has no look-ahead (?=;"),
    ("a(?!b)", "RE2, which matches $re, has no look-ahead (?!;"),
    ("(?<=a)b", "RE2, which matches $re, has no look-behind"),
    ("(?<!a)b", "RE2, which matches $re, has no look-behind"),
    ("a++", "RE2, which matches $re, has no possessive repeat ++;"),
    ("(?>a*)b", "RE2, which matches $re, has no atomic group"),
    ("(?#word)a", "RE2, which matches $re, has no comment"),
    ("(", "not a valid regular expression: missing ): ("),
    ("((){9999}){9999}", "not a valid regular expression: invalid repetition size: {9999}"),
    ("(" * 240 + "a" + ")" * 240 + "(", "not a valid regular expression"),
    ("a" * 501, "the pattern has 501 characters; at most 500 are allowed"),
    (r"\pL{9}", "the pattern is too large"),
    ("(((a?b?){9}){9}){9}", "the pattern is too large: 2,"),
]


@pytest.mark.parametrize(("pattern", "reason"), NOT_IN_RE2)
def test_a_pattern_that_cannot_be_used_is_refused_with_the_reason(
    pattern: str, reason: str
) -> None:
    ((path, message),) = check_expectation({"$re": pattern})
    assert path == ("$re",)
    assert message.startswith(f"$re: {reason}")
    (mismatch,) = compare({"$re": pattern}, "a" * 60)
    assert mismatch.note == message


BACKTRACKING = [
    "(a+)+",
    "(a*)*b",
    "(a|a)*b",
    "(ab|cd)+",
    "((ab|cd)e)*",
    "(?:a{1,50}){1,9}!",
    "(.*)*!",
    "(a?){50}",
    "a?" * 60 + "a" * 60 + "!",
    ".*.*.*.*.*.*.*x",
    "(?:ab)*a" * 8,
]


@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_a_pattern_on_which_other_engines_hang_ends(pattern: str) -> None:
    assert check_expectation({"$re": pattern}) == []
    assert told({"$re": f"(?:{pattern})#"}, "a" * 100_000) == [("$", "changed")]


USUAL = [
    ("(a?)?b", "ab"),
    ("(ab|cd){10}", "abcd" * 5),
    ("[0-9]{20}" * 6, "0" * 120),
    ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "00112233-4455-6677-8899-aabbccddeeff"),
    (r"\d{4}-\d{2}-\d{2}T.*Z", "2026-01-01T00:00:00.123Z"),
    ("https?://[^/]+/.*", "https://a.example/b"),
    ("(?i)(stop|max_tokens)?", "STOP"),
    ("(?i:S)top", "stop"),
    ("(?s).*error.*", "an\nerror\nhere"),
    ("(ab){2,3}c*", "ababcc"),
    ("[A-Za-z0-9+/]+={0,2}", "aGk="),
    ("(?:(?:a|b)c){3}", "acbcac"),
    (".*?x", "aax"),
    ("Grüße, .{2}", "Grüße, 世界"),
    (".🌊", "\ud83c\udf0a🌊"),
    ("a.b", "a\ud800b"),
]


@pytest.mark.parametrize(("pattern", "text"), USUAL)
def test_a_pattern_matches_the_whole_text(pattern: str, text: str) -> None:
    assert check_expectation({"$re": pattern}) == []
    assert compare({"$re": pattern}, text) == []
    assert told({"$re": pattern}, "\n") == [("$", "changed")]


@pytest.mark.parametrize(("pattern", "text"), [(r"\d", "٣"), (r"\w", "é"), (r"\s", "\u2003")])
def test_classes_of_characters_are_ascii(pattern: str, text: str) -> None:
    assert told({"$re": pattern}, text) == [("$", "changed")]


def test_a_text_that_is_too_long_for_a_pattern_is_a_finding_that_says_so() -> None:
    (mismatch,) = compare({"$re": "a*"}, "a" * 100_001)
    assert mismatch.note == ("a text of 100,001 characters is too long for $re (at most 100,000)")


def test_patterns_that_take_too_many_steps_are_given_up() -> None:
    expected = [{"$re": f"(((a?){{9}}){{9}}){{9}}{n}"} for n in range(20)]
    mismatches = compare(expected, [f"{'a' * 99_990}{n}" for n in range(19)])
    assert "given up" in mismatches[-1].note


def test_a_search_that_is_given_up_says_so() -> None:
    items = [{"a": {"$same": name}, "b": {"$same": f"{name}x"}} for name in "abcdefghijkl"]
    mismatches = compare(
        {"$unordered": [*items, {"$re": "no"}]}, [{"a": n, "b": n} for n in range(12)] + [{}]
    )
    assert "given up" in mismatches[-1].note


def test_a_search_without_names_never_goes_back() -> None:
    (mismatch,) = compare({"$contains": [{"$any": "integer"}] * 30 + ["no"]}, [1] * 60)
    assert mismatch.path == "$contains[30]"


# ---- lists


def deltas(*texts: str) -> Payloads:
    return [{"type": "TEXT_DELTA", "delta": text, "text_id": "text_1"} for text in texts]


def words(count: int) -> Payloads:
    return deltas(*(f"word {number} " for number in range(count)))


RUNS: list[tuple[list[Json], list[Json], list[tuple[str, str]]]] = [
    ([1, 2, 3], [1, 3], [("[1]", "missing")]),
    ([1, 3], [1, 2, 3], [("[1]", "extra")]),
    ([1, 2, 3, 4], [1, 4], [("[1..2]", "missing")]),
    ([], [1, 2], [("[0..1]", "extra")]),
    (["a", "a", "a"], ["a", "a"], [("[2]", "missing")]),
    (
        [1, 2, 3, 4, 5, 6],
        [2, 3, 9, 5, 6, 7],
        [("[0]", "missing"), ("[3]", "changed"), ("[5]", "extra")],
    ),
    (
        [{"type": "a"}, {"type": "b", "x": 1}],
        [{"type": "a"}, {"type": "c", "y": 2}],
        [("[1]", "changed")],
    ),
    ([{"type": "a", "n": 1, "m": 2}], [{"type": "b", "n": 1, "m": 2}], [("[0].type", "changed")]),
    (
        [{"type": "a", "n": 1}, {"type": "b"}],
        [{"type": "a", "n": 2}],
        [("[0].n", "changed"), ("[1]", "missing")],
    ),
    ([{"type": "a", "n": 1}], [{"type": "b", "n": 1}], [("[0].type", "changed")]),
    ([{"type": "a"}], [5], [("[0]", "changed")]),
    ([5], [{"type": "a"}], [("[0]", "changed")]),
    ([{"0": 1}], [[1]], [("[0]", "changed")]),
    ([{"p": [1, 2, 3]}], [{"p": [1, 3]}], [("[0].p[1]", "missing")]),
    ([{"p": [{"t": "x"}, {"t": "y"}]}], [{"p": [{"t": "y"}]}], [("[0].p[0]", "missing")]),
    ([True, 2], [1, 2], [("[0]", "changed")]),
    (
        [{"type": "a"}, {"type": "b", "n": 1}],
        [{"type": "b", "n": 2}],
        [("[0]", "missing"), ("[1].n", "changed")],
    ),
    (["ab", "c"], ["a", "bc"], [("[0]", "changed"), ("[1]", "changed")]),
]


@pytest.mark.parametrize(("expected", "actual", "findings"), RUNS)
def test_runs_and_pairs(
    expected: list[Json], actual: list[Json], findings: list[tuple[str, str]]
) -> None:
    assert told(expected, actual) == findings


def test_a_run_of_missing_items_is_one_finding_with_all_of_them() -> None:
    (mismatch,) = compare(words(10), words(10)[:3] + words(10)[6:])
    assert mismatch == Mismatch("[3..5]", "missing", words(10)[3:6], None, "3 items")


def test_one_event_of_5000_deleted_is_one_finding() -> None:
    events = words(5000)
    assert compare(events, events[:2500] + events[2501:]) == [
        Mismatch("[2500]", "missing", events[2500])
    ]


def test_several_unrelated_differences_are_several_findings() -> None:
    events = words(1000)
    actual = [*events[:100], *events[101:500], {"type": "PING"}, *events[500:800], *events[803:]]
    actual[-1] = {**actual[-1], "delta": "other"}
    assert told(events, actual) == [
        ("[100]", "missing"),
        ("[499]", "extra"),
        ("[800..802]", "missing"),
        ("[999].delta", "changed"),
    ]


def block(index: int, text: str, tool: int | None = None) -> Payloads:
    content = (
        {"type": "tool_use", "id": f"toolu_{tool}", "name": "f", "input": {}}
        if tool
        else {"type": "text", "text": ""}
    )
    delta = (
        {"type": "input_json_delta", "partial_json": text}
        if tool
        else {"type": "text_delta", "text": text}
    )
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def message(blocks: list[tuple[str, bool]]) -> Payloads:
    """A message of the anthropic dialect: for each block its text, and whether it is a tool
    call.
    """
    payloads: Payloads = [{"type": "message_start", "message": {"id": "msg_1"}}]
    tools = 0
    for index, (text, is_tool) in enumerate(blocks):
        tools += is_tool
        payloads += block(index, text, tools if is_tool else None)
    return [
        *payloads,
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


TEXTS = [(f"text {number}", False) for number in range(533)]
TOOLS = [(json.dumps({"q": number}), True) for number in range(533)]
MIXED = [(f"{number}", number % 3 == 1) for number in range(533)]
LOST_BLOCKS = [
    (TEXTS, 200, "3 items; index −1 from here"),
    (TEXTS, 0, "3 items; index −1 from here"),
    (TEXTS, 532, "3 items"),
    (TOOLS, 100, "3 items; index −1 from here; toolu_ ids −1 from here"),
    (MIXED, 99, "3 items; index −1 from here"),
    (MIXED, 100, "3 items; index −1 from here; toolu_ ids −1 from here"),
]


@pytest.mark.parametrize(("blocks", "lost", "note"), LOST_BLOCKS)
def test_one_block_of_1600_payloads_lost_is_one_finding_and_says_what_it_shifts(
    blocks: list[tuple[str, bool]], lost: int, note: str
) -> None:
    expected, actual = message(blocks), message(blocks[:lost] + blocks[lost + 1 :])
    start = 1 + 3 * lost
    assert compare(expected, actual) == [
        Mismatch(f"[{start}..{start + 2}]", "missing", expected[start : start + 3], None, note),
    ]
    (extra,) = compare(actual, expected)
    assert (extra.path, extra.kind, extra.note) == (
        f"[{start}..{start + 2}]",
        "extra",
        note.replace("−", "+"),
    )


def test_a_block_lost_where_ids_are_not_renumbered_shifts_nothing() -> None:
    expected = message([("{}", True)] * 9)
    actual = [payload for payload in expected if payload.get("index") != 4]
    assert compare(expected, actual) == [
        Mismatch("[13..15]", "missing", expected[13:16], None, "3 items")
    ]


def test_a_lost_block_is_one_finding_also_where_the_expectation_has_operators() -> None:
    expected = message(TOOLS[:60])
    for payload in expected:
        if payload["type"] == "content_block_start":
            payload["content_block"]["name"] = {"$any": "string"}
    (mismatch,) = compare(expected, message(TOOLS[:20] + TOOLS[21:60]))
    assert (mismatch.path, mismatch.note) == (
        "[61..63]",
        "3 items; index −1 from here; toolu_ ids −1 from here",
    )


def calls(*names: str) -> Payloads:
    return [
        {"type": kind, "tool_call": {"id": f"call_{number}", "name": name}}
        for number, name in enumerate(names, 1)
        for kind in ("TOOL_CALL_START", "TOOL_CALL_END")
    ]


def test_a_lost_call_is_one_finding_and_says_that_the_ids_shift() -> None:
    expected, actual = calls("a", "b", "c", "d"), calls("a", "c", "d")
    assert compare(expected, actual) == [
        Mismatch("[2..3]", "missing", expected[2:4], None, "2 items; call_ ids −1 from here")
    ]


def test_two_lost_blocks_are_two_findings() -> None:
    expected, actual = message(TEXTS[:30]), message(TEXTS[:5] + TEXTS[6:20] + TEXTS[21:30])
    assert [mismatch.note for mismatch in compare(expected, actual)] == [
        "3 items; index −1 from here",
        "3 items; index −2 from here",
    ]


def test_a_lost_and_a_new_block_are_two_findings() -> None:
    expected, actual = (
        message(TEXTS[:30]),
        message([*TEXTS[:5], *TEXTS[6:20], ("new", False), *TEXTS[20:30]]),
    )
    assert [(mismatch.kind, mismatch.note) for mismatch in compare(expected, actual)] == [
        ("missing", "3 items; index −1 from here"),
        ("extra", "3 items; index as expected from here"),
    ]


def test_an_id_from_before_the_lost_call_is_not_shifted_and_not_told() -> None:
    def conversation(*names: str) -> Payloads:
        ids = {name: f"call_{number}" for number, name in enumerate(names, 1)}
        events = calls(*names)
        for name in [name for name in ("d", "a", "c", "e") if name in ids]:
            events.append({"type": "RESULT", "tool_call_id": ids[name], "of": name})
        return [
            *events,
            {
                "type": "FINISH",
                "calls": [{"id": ids[name], "name": name} for name in ("a", "c", "d", "e")],
            },
        ]

    (mismatch,) = compare(conversation(*"abcde"), conversation(*"acde"))
    assert (mismatch.path, mismatch.note) == ("[2..3]", "2 items; call_ ids −1 from here")


def test_an_index_elsewhere_in_the_item_counts_by_itself() -> None:
    expected, actual = message(TEXTS[:20]), message(TEXTS[:5] + TEXTS[6:20])
    for payload in expected + actual:
        payload["raw"] = {"candidates": [{"index": 0}]}
    assert [mismatch.note for mismatch in compare(expected, actual)] == [
        "3 items; index −1 from here"
    ]


def test_a_wrong_number_is_not_blamed_on_a_run_that_has_none() -> None:
    expected = message(TEXTS[:20])
    actual = change(expected, range(20, 21), 7)
    assert compare([*expected[:10], {"type": "ping"}, *expected[10:]], actual) == [
        Mismatch("[10]", "missing", {"type": "ping"}),
        Mismatch("[21].index", "changed", 6, 13),
    ]


@pytest.mark.parametrize("wrong", [9, 20])
def test_a_single_wrong_number_is_not_blamed_on_a_run_before_it(wrong: int) -> None:
    expected = message(TEXTS[:20])
    number = expected[wrong]["index"]
    actual = change(expected, range(wrong, wrong + 1), 7)
    assert compare(expected, actual[:8] + actual[9:]) == [
        Mismatch("[8]", "missing", expected[8]),
        Mismatch(f"[{wrong}].index", "changed", number, number + 7),
    ]


def test_a_wrong_number_at_the_end_is_not_blamed_on_a_run_that_has_none() -> None:
    expected = [{"type": "a", "index": 0}, {"type": "ping"}, {"type": "b", "index": 1}]
    assert told(expected, [expected[0], {"type": "b", "index": 4}]) == [
        ("[1]", "missing"),
        ("[2].index", "changed"),
    ]


def change(payloads: Payloads, numbers: range, by: int) -> Payloads:
    return [
        {**payload, "index": payload["index"] + by} if number in numbers else payload
        for number, payload in enumerate(payloads)
    ]


MOVED = [
    (range(10, 11), 5, Mismatch("[10].index", "changed", 3, 8)),
    (
        range(10, 16),
        5,
        Mismatch("[10].index", "moved", 3, 8, "index +5 here, 6 times, then as before"),
    ),
    (range(10, 61), 1, Mismatch("[10].index", "moved", 3, 4, "index +1 from here")),
    (range(60, 61), 3, Mismatch("[60].index", "changed", 19, 22)),
    (range(1, 61), -1, Mismatch("[1].index", "moved", 0, -1, "index −1 from here")),
]


@pytest.mark.parametrize(("numbers", "by", "finding"), MOVED)
def test_numbers_that_are_off_without_anything_lost(
    numbers: range, by: int, finding: Mismatch
) -> None:
    expected = message(TEXTS[:20])
    assert compare(expected, change(expected, numbers, by)) == [finding]


def test_a_change_beyond_a_lost_block_is_a_finding_of_its_own_without_the_shift() -> None:
    expected = message(TEXTS[:30])
    actual = message([*TEXTS[:5], *TEXTS[6:20], ("other", False), *TEXTS[21:30]])
    assert [(mismatch.path, mismatch.note) for mismatch in compare(expected, actual)] == [
        ("[16..18]", "3 items; index −1 from here"),
        ("[62].delta.text", ""),
    ]


def test_a_wrong_number_beyond_a_lost_block_is_a_finding_of_its_own() -> None:
    expected, actual = message(TEXTS[:30]), message(TEXTS[:5] + TEXTS[6:30])
    actual = change(actual, range(40, 41), 7)
    assert [(mismatch.path, mismatch.kind) for mismatch in compare(expected, actual)] == [
        ("[16..18]", "missing"),
        ("[43].index", "changed"),
    ]


# ---- one text, cut differently


def pieces(text: str, *cuts: int) -> Payloads:
    places = [0, *cuts, len(text)]
    return deltas(*(text[start:stop] for start, stop in pairwise(places)))


LONG = "the quick brown fox jumps over the lazy dog. " * 40
AROUND: tuple[Payloads, Payloads] = (
    [{"type": "TEXT_START", "text_id": "text_1"}],
    [{"type": "TEXT_END", "text_id": "text_1"}],
)
RECUT = [
    (pieces("abcdef", 2, 4), pieces("abcdef", 1, 2, 3, 5), "[0..2]", 3, 5),
    (pieces("abcdef"), pieces("abcdef", 3), "[0]", 1, 2),
    (pieces("abab"), pieces("abab", 2), "[0]", 1, 2),
    (pieces("aaaa", 1, 2, 3), pieces("aaaa", 2), "[0..3]", 4, 2),
    (pieces("abcabcabc", 1, 2, 4), pieces("abcabcabc", 1, 3, 4), "[1..2]", 2, 2),
    (
        pieces(LONG, *range(7, len(LONG), 7)),
        pieces(LONG, *range(11, len(LONG), 11)),
        "[0..257]",
        258,
        164,
    ),
]


@pytest.mark.parametrize(("expected", "actual", "path", "left", "right"), RECUT)
@pytest.mark.parametrize("around", [([], []), AROUND])
def test_the_same_text_cut_differently_is_one_finding(
    expected: Payloads,
    actual: Payloads,
    path: str,
    left: int,
    right: int,
    around: tuple[Payloads, Payloads],
) -> None:
    before, after = around
    (mismatch,) = compare(before + expected + after, before + actual + after)
    shift = {f"[{n}": f"[{n + len(before)}" for n in (0, 1)}
    assert mismatch.kind == "recut"
    assert (
        mismatch.note
        == f"same text, cut differently: {left} piece{'s' if left != 1 else ''} expected, {right} got"
    )
    assert mismatch.path.startswith(shift[path[:2]])
    assert "".join(mismatch.expected) == "".join(mismatch.got)
    assert (len(mismatch.expected), len(mismatch.got)) == (left, right)


@given(
    st.text("ab", min_size=1, max_size=9), st.sets(st.integers(1, 8)), st.sets(st.integers(1, 8))
)
def test_any_two_cuts_of_a_text_are_one_finding(
    text: str, cuts: set[int], others: set[int]
) -> None:
    expected, actual = (
        pieces(text, *sorted(cut for cut in side if cut < len(text))) for side in (cuts, others)
    )
    kinds = [
        kind for _, kind in told(AROUND[0] + expected + AROUND[1], AROUND[0] + actual + AROUND[1])
    ]
    assert kinds == ([] if expected == actual else ["recut"])


SHAPES: list[Callable[[str, int], Json]] = [
    lambda text, _: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    },
    lambda text, _: {"kind": "reasoning", "text": text},
    lambda text, number: {
        "eventId": f"event_{number}",
        "type": "text",
        "content": text,
        "agent": {"id": "agent"},
    },
]


@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_of_any_shape_are_recognised(shape: Callable[[str, int], Json]) -> None:
    end = [{"type": "end"}, {"type": "end", "eventId": "event_9"}]
    expected = [shape(text, number) for number, text in enumerate(["Hello", " wor", "ld"], 1)] + end
    actual = [
        shape(text, number) for number, text in enumerate(["Hel", "lo", " w", "orld"], 1)
    ] + end
    (mismatch,) = compare(expected, actual)
    assert (mismatch.path, mismatch.kind) == ("[0..2]", "recut")
    assert mismatch.note.startswith("same text, cut differently: 3 pieces expected, 4 got")


def test_a_cut_text_shifts_the_ids_of_what_follows() -> None:
    def events(*texts: str) -> Payloads:
        payloads = [{"type": "text", "content": text} for text in texts] + [
            {"type": "done", "n": number} for number in range(3)
        ]
        return [
            {"eventId": f"event_{number}", **payload} for number, payload in enumerate(payloads, 1)
        ]

    (mismatch,) = compare(events("ab", "cd"), events("a", "b", "cd"))
    assert (mismatch.kind, mismatch.note) == (
        "recut",
        "same text, cut differently: 1 piece expected, 2 got; event_ ids +1 from here",
    )


def test_texts_of_two_blocks_are_not_one_text() -> None:
    expected = [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]
    actual = [{"index": 0, "text": "ab"}]
    assert "recut" not in {kind for _, kind in told(expected, actual)}


def test_a_text_that_differs_and_is_cut_differently_is_one_finding() -> None:
    (mismatch,) = compare(pieces("abcdefghij", 2, 4, 6, 8), pieces("abcdeXghij", 3, 6, 9))
    assert (mismatch.path, mismatch.kind, mismatch.expected, mismatch.got) == (
        "[0..4]",
        "changed",
        "abcdefghij",
        "abcdeXghij",
    )
    assert "5 pieces expected, 4 got" in mismatch.note


def test_a_cut_and_a_lost_block_are_two_findings() -> None:
    expected, actual = message(TEXTS[:20]), message(TEXTS[:10] + TEXTS[11:20])
    first, second = block(2, "te")[1], block(2, "xt 2")[1]
    assert told(expected, [*actual[:8], first, second, *actual[9:]]) == [
        ("[8]", "recut"),
        ("[31..33]", "missing"),
    ]


# ---- bounds


def test_findings_are_limited_and_the_rest_is_counted() -> None:
    events = words(5000)
    mismatches = compare(events, [{**event, "delta": event["delta"] + "!"} for event in events])
    assert len(mismatches) == 101
    assert mismatches[-1] == Mismatch(
        "$", "changed", note="and 4,900 more differences that are not shown"
    )
    assert len(compare(events, [], limit=5)) == 1
    assert len(compare({str(n): n for n in range(9)}, {}, limit=5)) == 6


def shuffled(items: list[Json]) -> list[Json]:
    return random.Random(1).sample(items, len(items))


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


@pytest.mark.parametrize(
    ("expected", "actual"), [case[1:] for case in LARGE], ids=[case[0] for case in LARGE]
)
def test_large_lists_that_differ_everywhere_end(expected: list[Json], actual: list[Json]) -> None:
    assert compare(expected, actual)


def nested(depth: int, leaf: Json, *, lists: bool) -> Json:
    for _ in range(depth):
        leaf = [leaf] if lists else {"a": leaf}
    return leaf


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize(
    "wrap", [lambda value: value, lambda value: {"x": {"$any": True}, "y": value}]
)
def test_depth_is_walked_to_200_and_then_it_is_said(
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


@given(SMALL, SMALL)
def test_an_alignment_is_the_longest_there_is(left: list[int], right: list[int]) -> None:
    pairs = align(len(left), len(right), lambda i, j: left[i] == right[j], 10_000)
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(i < k and j < m for (i, j), (k, m) in pairwise(pairs))
    assert len(pairs) == longest(left, right)
    assert len(best_pairs(len(left), len(right), lambda i, j: left[i] == right[j])) == len(pairs)


def test_equal_lists_and_a_deletion_need_no_deepdiff() -> None:
    code = (
        "import sys; from harness.specs.matching import compare\n"
        "events = [{'type': 'a', 'n': n} for n in range(100)]\n"
        "assert not compare(events, [dict(event) for event in events])\n"
        "assert len(compare(events, events[:50] + events[51:])) == 1\n"
        "assert 'deepdiff' not in sys.modules\n"
        "assert compare({'a': 1}, {'a': 2})\n"
        "assert 'deepdiff' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- what a person is shown


def test_both_sides_are_json_text_and_nothing_is_no_side() -> None:
    mismatches = compare(
        [{"type": "a", "n": 1}, {"type": "b"}, {"type": "c"}],
        [{"type": "a", "n": None}, {"type": "c"}, {"type": "d"}],
    )
    assert [sides(mismatch) for mismatch in mismatches] == [
        ("1", "null"),
        ('{"type": "b"}', None),
        (None, '{"type": "d"}'),
    ]
    assert sides(Mismatch("$contains[0]", "missing", 1, 2)) == ("1", "2")
    assert sides(compare([1, 2, 3], ["a", "b", "c"], limit=1)[1]) == (None, None)


def test_a_long_value_is_shortened_in_the_middle_and_its_length_is_told() -> None:
    expected, _ = sides(compare({"t": "x" * 5000 + "END"}, {"t": ""})[0])
    assert expected is not None
    assert len(expected) < 1300
    assert "(5,005 characters)" in expected
    assert expected.endswith('END"')


# ---- any JSON

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
    """The same value with other objects, keys in another order, whole numbers as floats."""
    if isinstance(value, dict):
        return {key: copy(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [copy(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(DATA)
def test_a_value_matches_itself(value: Json) -> None:
    assert compare(value, copy(value)) == []
    assert compare({"$literal": value}, copy(value)) == []


@settings(max_examples=200)
@given(st.lists(DATA | EVENTS, min_size=1, max_size=12), st.data())
def test_one_deletion_is_one_finding(items: list[Json], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(items) - 1))
    assert len(compare(items, items[:place] + items[place + 1 :])) == 1
    assert len(compare(items[:place] + items[place + 1 :], items)) == 1


@settings(max_examples=300)
@given(st.lists(EVENTS, max_size=8), st.lists(EVENTS, max_size=8))
def test_lists_of_events_are_told_apart(expected: Payloads, actual: Payloads) -> None:
    mismatches = compare(expected, actual)
    assert bool(mismatches) == (expected != actual)
    assert all(mismatch.path.isprintable() for mismatch in mismatches)


@settings(max_examples=300)
@given(EXPECTATIONS, DATA | EXPECTATIONS)
def test_nothing_raises(expected: Json, actual: Json) -> None:
    check_expectation(expected)
    mismatches = compare(expected, actual)
    assert mismatches == compare(expected, actual)
    for mismatch in mismatches:
        sides(mismatch)


NEAREST: list[tuple[Json, Json]] = [
    ({"type": "D", "delta": "b"}, {"type": "D", "delta": "a"}),
    ({"$contains": {"kind": "k", "n": 1}}, {"kind": "k", "n": 2}),
    ({"type": "Z"}, None),
    (5, None),
]


@pytest.mark.parametrize(("item", "got"), NEAREST)
def test_what_contains_misses_is_shown_beside_the_next_of_its_kind(item: Json, got: Json) -> None:
    (mismatch,) = compare(
        {"$contains": [item]}, [{"type": "A"}, {"type": "D", "delta": "a"}, {"kind": "k", "n": 2}]
    )
    assert (mismatch.path, mismatch.kind, mismatch.expected, mismatch.got) == (
        "$contains[0]",
        "missing",
        item,
        got,
    )
    assert mismatch.note.startswith("no item after the ones before it matches")
