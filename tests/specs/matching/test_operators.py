"""Operators: the values that they accept, their findings, and the errors in their notation."""

from __future__ import annotations

import pytest

from harness.specs.matching import check_expectation, compare

from .payloads import Json, deltas, findings

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
    assert findings(expected, actual) == [(path.removeprefix("$."), kind)]


def test_the_first_use_binds_a_name_even_in_an_item_that_differs() -> None:
    expected = [{"type": "a", "id": {"$same": "id"}, "n": 1}, {"type": "b", "id": {"$same": "id"}}]
    actual = [{"type": "a", "id": "x", "n": 2}, {"type": "b", "id": "y"}]
    mismatches = compare(expected, actual)
    assert [(mismatch.path, mismatch.expected, mismatch.got) for mismatch in mismatches] == [
        ("[0].n", 1, 2),
        ("[1].id", "x", "y"),
    ]
    assert "$same: id" in mismatches[1].note


def test_names_stay_bound_after_a_missing_item() -> None:
    expected = [{"type": kind, "id": {"$same": "id"}} for kind in "abcd"]
    actual = [{"type": kind, "id": 7} for kind in "acd"]
    assert findings(expected, actual) == [("[1]", "missing")]


def test_items_with_operators_are_aligned_by_what_they_accept() -> None:
    expected = [{"type": "delta", "text": f"t{n}", "ts": {"$any": "integer"}} for n in range(300)]
    actual = [
        {"type": "delta", "text": f"t{n}", "ts": n} for n in range(300) if n not in (40, 41, 200)
    ]
    actual[100]["ts"] = None
    assert findings(expected, actual) == [
        ("[40..41]", "missing"),
        ("[102].ts", "changed"),
        ("[200]", "missing"),
    ]


def test_an_item_with_operators_may_match_a_piece_of_text() -> None:
    expected = deltas("a", "b", "c", "d", "e")
    expected[2] = {"type": "TEXT_DELTA", "delta": {"$any": "string"}, "text_id": "text_1"}
    assert findings(expected, deltas("a", "x", "b", "c", "d", "f", "e")) == [
        ("[1]", "extra"),
        ("[5]", "extra"),
    ]


def test_an_item_with_operators_may_match_the_whole_text() -> None:
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
    assert findings(expected, actual) == [("[0]", "extra"), ("[4].delta", "changed")]


def test_pairs_do_not_depend_on_names() -> None:
    expected = [
        {"type": "a", "id": {"$same": "x"}},
        {"type": "a", "id": {"$same": "x"}},
        {"type": "z"},
    ]
    actual = [{"type": "a", "id": 1}, {"type": "a", "id": 2}, {"type": "a", "id": 1}, {"type": "z"}]
    assert findings(expected, actual) == [("[1].id", "changed"), ("[2]", "extra")]


def test_deepdiff_compares_mappings_with_operators_as_a_whole() -> None:
    expected = {"id": {"$any": "string"}, "usage": {"in": 1, "out": 2}, "gone": {"$absent": True}}
    assert findings(expected, {"id": "x", "usage": {"in": 1, "out": 3, "all": 4}}) == [
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
def test_a_malformed_operator_is_reported_with_its_path(
    expected: Json, path: tuple[str | int, ...], word: str
) -> None:
    ((place, message),) = check_expectation(expected)
    assert place == path
    assert word in message
    assert compare(expected, expected) != []


def test_faults_come_in_reading_order() -> None:
    faults = check_expectation({"a": [{"$re": 1}, {"$any": 1}], "b": {"$same": 1}})
    assert [path for path, _ in faults] == [("a", 0, "$re"), ("a", 1, "$any"), ("b", "$same")]


@pytest.mark.parametrize(
    "data",
    [{"$literal": {"$re": 5}}, {"$literal": {"$contians": 5}}, {"$ref": "#/x"}, {"$.a": 1, "$": 2}],
)
def test_other_dollar_keys_are_data(data: Json) -> None:
    assert check_expectation(data) == []


@pytest.mark.parametrize(
    ("expected", "path", "words"),
    [
        ({"$contians": []}, ("$contians",), "unknown operator $contians (did you mean $contains?)"),
        ([{"a": {"$Any": True}}], (0, "a", "$Any"), "(did you mean $any?)"),
        ({"$contains": [{"$regex": "x"}]}, ("$contains", 0, "$regex"), "unknown operator $regex"),
        ({"$json": {"$unorderd": []}}, ("$json", "$unorderd"), "(did you mean $unordered?)"),
        ({"$any": "string", "b": 1}, ("$any",), "$any is beside other keys"),
        ({"a": 1, "$oneOf": []}, ("$oneOf",), "; write data with such a key below $literal"),
    ],
)
def test_a_misspelt_operator_is_a_fault_at_any_place(
    expected: Json, path: tuple[str | int, ...], words: str
) -> None:
    [(place, message)] = check_expectation(expected)
    assert place == path
    assert words in message


@pytest.mark.slow
def test_a_search_that_takes_too_long_is_stopped_with_a_note() -> None:
    items = [{"a": {"$same": name}, "b": {"$same": f"{name}x"}} for name in "abcdefghijkl"]
    mismatches = compare(
        {"$unordered": [*items, {"$re": "no"}]}, [{"a": n, "b": n} for n in range(12)] + [{}]
    )
    assert "given up" in mismatches[-1].note


def test_a_search_without_names_needs_no_backtracking() -> None:
    (mismatch,) = compare({"$contains": [{"$any": "integer"}] * 30 + ["no"]}, [1] * 60)
    assert mismatch.path == "$contains[30]"


NEAREST: list[tuple[Json, Json]] = [
    ({"type": "D", "delta": "b"}, {"type": "D", "delta": "a"}),
    ({"$contains": {"kind": "k", "n": 1}}, {"kind": "k", "n": 2}),
    ({"type": "Z"}, None),
    (5, None),
]


@pytest.mark.parametrize(("item", "got"), NEAREST)
def test_contains_shows_the_next_item_of_the_same_kind(item: Json, got: Json) -> None:
    (mismatch,) = compare(
        {"$contains": [item]}, [{"type": "A"}, {"type": "D", "delta": "a"}, {"kind": "k", "n": 2}]
    )
    assert (mismatch.path, mismatch.kind, mismatch.expected, mismatch.got) == (
        "$contains[0]",
        "missing",
        item,
        got,
    )
    assert mismatch.note.startswith("no item after the previous match is as expected")


def test_contains_shows_where_the_next_item_of_the_kind_differs() -> None:
    expected = {"$contains": [{"$contains": {"type": "D", "delta": "Hello"}}]}
    (mismatch,) = compare(expected, [{"type": "A"}, {"type": "D", "delta": "Help", "id": 1}])
    assert mismatch.note.endswith(
        'the next of its kind is [1], where delta differs: expected "Hello" and got "Help"'
    )


@pytest.mark.parametrize(
    ("item", "note"),
    [
        (
            {"$contains": {"say": "Help"}},
            '; the nearest is [1], where say differs: expected "Help" and got "Hello"',
        ),
        ({"say": "Hello"}, "; the nearest is [1], where n differs: got 1"),
        ({"over": {"by": 3}}, "; the nearest is [2], where over.by differs: expected 3 and got 2"),
        ({"$contains": {"gone": 1}}, ""),
        ("say", ""),
    ],
)
def test_contains_shows_the_difference_of_the_nearest_item(item: object, note: str) -> None:
    items = ["text", {"say": "Hello", "n": 1}, {"over": {"by": 2}}]
    (mismatch,) = compare({"$contains": [item]}, items)
    assert mismatch.note == f"no item after the previous match is as expected{note}"
