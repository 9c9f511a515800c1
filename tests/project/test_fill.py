"""Filling in an empty expectation."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cassettes.yaml import parse
from harness.project.update import Update, change_all
from harness.specs.spec_error import SpecError
from harness.specs.volatile import as_read

EMPTY = """\
# A comment.
harness: 1
cases:
- case: first   # the name
  requirement: "It  holds."
  expect:
    anthropic: []
- case: second
  requirement: It holds too.
  expect:
    # what comes out
    unified-llm:  # still open
    anthropic:
    events: ~

  # the tail
"""

PAYLOADS = [{"type": "text", "delta": 'a"\n\u00e9'}, {"type": "stop", "n": 1.0}]


def fill_of(case: str, key: str, value: Any) -> Update:
    return Update(case, key, None, value, value)


def accept(text: str, case: str, key: str, value: Any, *, path: str = "") -> str:
    """The text with a value as the empty expectation of a case."""
    with suppress(RecursionError):  # a value that is too deep can't be written; that is reported
        value = as_read(value)
    text, (error,) = change_all(text, [fill_of(case, key, value)], path=path)
    if error is not None:
        raise error
    return text


def test_only_the_empty_expectation_changes() -> None:
    assert accept(EMPTY, "second", "anthropic", PAYLOADS) == EMPTY.replace(
        "- case: second\n", "- case: second\n  reviewed: no\n"
    ).replace(
        "    anthropic:\n    events",
        '    anthropic:\n      - {"type": "text", "delta": "a\\"\\né"}\n      - {"type": "stop", "n": 1.0}\n    events',
    )


def test_comments_beside_the_key_stay() -> None:
    filled = accept(EMPTY, "second", "unified-llm", [{"a": 1}])
    assert '    unified-llm:  # still open\n      - {"a": 1}\n    anthropic:\n' in filled


def test_a_written_null_is_replaced() -> None:
    assert '    anthropic:\n    events:\n      - {"a": 1}\n\n  # the tail\n' in accept(
        EMPTY, "second", "events", [{"a": 1}]
    )


def test_a_case_is_marked_as_unreviewed_once() -> None:
    text = EMPTY
    for key in ("unified-llm", "anthropic", "events"):
        text = accept(text, "second", key, PAYLOADS)
    assert text.count("reviewed: no") == 1
    assert parse(text)["cases"][1] == {
        "case": "second",
        "reviewed": "no",
        "requirement": "It holds too.",
        "expect": dict.fromkeys(("unified-llm", "anthropic", "events"), PAYLOADS),
    }


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_stay(ending: str, last: str, mark: str) -> None:
    text = (
        mark
        + "harness: 1\ncases:\n- case: a\n  expect:\n    events:".replace("\n", ending)
        + last.replace("\n", ending)
    )
    expected = (
        'harness: 1\ncases:\n- case: a\n  reviewed: no\n  expect:\n    events:\n      - {"b": 1}'
        + last
    )
    assert accept(text, "a", "events", [{"b": 1}]) == mark + expected.replace("\n", ending)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("expect: {events: }", 'expect: {events: [{"b": 1}]}'),
        ("expect: {events: null, x: 1}", 'expect: {events: [{"b": 1}], x: 1}'),
        (
            "expect:\n    events:\n      ~  # none",
            'expect:\n    events:\n        # none\n      - {"b": 1}',
        ),
        ("expect:\n    events:\n      ~", 'expect:\n    events:\n      - {"b": 1}'),
        ("expect:\n        events: ~", 'expect:\n        events:\n          - {"b": 1}'),
    ],
)
def test_forms_of_an_empty_expectation(before: str, after: str) -> None:
    head = "harness: 1\ncases:\n- case: a\n"
    assert (
        accept(f"{head}  {before}\n", "a", "events", [{"b": 1}])
        == f"{head}  reviewed: no\n  {after}\n"
    )


def test_a_case_in_flow_style_is_filled_in() -> None:
    assert (
        accept("harness: 1\ncases: [{case: a, expect: {events: }}]\n", "a", "events", [])
        == "harness: 1\ncases: [{case: a, reviewed: no, expect: {events: []}}]\n"
    )


def test_an_empty_list_is_filled_in() -> None:
    assert "    anthropic: []\n    events: ~\n" in accept(EMPTY, "second", "anthropic", [])


def test_data_that_looks_like_an_operator_is_made_literal() -> None:
    text = accept(
        EMPTY,
        "second",
        "anthropic",
        [{"args": {"$any": True}}, {"$re": {"$re": "x"}}, {"$any": 1, "b": 2}],
    )
    assert parse(text)["cases"][1]["expect"]["anthropic"] == [
        {"args": {"$literal": {"$any": True}}},
        {"$literal": {"$re": {"$re": "x"}}},
        {"$literal": {"$any": 1, "b": 2}},
    ]


STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
)


@pytest.mark.slow
@given(
    value=st.lists(
        st.dictionaries(
            st.text("ab #:-{'\"\\\u0085\u2028\ufeff\x7f\x00", max_size=4), JSON, max_size=3
        )
    )
    | JSON
)
@example(value=["\ufffe\uffff\ufdd0\U0001fffe\ufeff\x00\x1f\x7f\x85\x9f\u2028\u2029\t\\/"])
@example(
    value=[
        {
            "no": "no",
            "yes": 1,
            "": None,
            "~": "~",
            "1": 1.0,
            "big": 2**80,
            "tiny": 5e-324,
            "date": "2027-01-31",
        }
    ]
)
def test_any_json_reads_back_as_it_was(value: Any) -> None:
    if value is None:
        return
    text = accept(
        EMPTY,
        "second",
        "anthropic",
        {"$literal": value} if not isinstance(value, list) else [{"$literal": value}],
    )
    [wrapped] = _wrapped(parse(text)["cases"][1]["expect"]["anthropic"])
    assert json.dumps(wrapped) == json.dumps({"$literal": value})
    assert text.replace("  reviewed: no\n", "").startswith(EMPTY[: EMPTY.index("    anthropic:\n")])
    assert text.endswith(EMPTY[EMPTY.index("    events: ~") :])


def _wrapped(value: Any) -> Sequence[Any]:
    return [item["$literal"] for item in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize(
    ("case", "key", "value", "message"),
    [
        (
            "first",
            "anthropic",
            [],
            "line 7: expect.anthropic is not empty; to have it filled, delete its value",
        ),
        ("third", "anthropic", [], "line 1: there is no case 'third' in this file"),
        (
            "second",
            "frames",
            [],
            "line 8: case 'second' expects nothing of 'frames'; write the key with no value to have it filled",
        ),
        (
            "second",
            "anthropic",
            [{"a": float("nan")}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"a": object()}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"a": "\ud800"}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"k" * 2000: 1}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
    ],
)
def test_an_expectation_that_cannot_be_filled_is_an_error(
    case: str, key: str, value: Any, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        accept(EMPTY, case, key, value)
    assert str(caught.value).startswith(message)
    with pytest.raises(SpecError) as caught:
        accept(EMPTY, case, key, value, path="specs/x.yaml")
    assert str(caught.value).startswith(message.replace("line ", "specs/x.yaml:", 1))


def test_a_value_nested_too_deep_cannot_be_filled() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SpecError, match="cannot be written here"):
        accept(EMPTY, "second", "anthropic", deep)
    with pytest.raises(
        SpecError, match=r"cannot be written here \(nested deeper than 100 levels\)"
    ):
        accept(EMPTY, "second", "anthropic", json.loads("[" * 120 + "]" * 120))


def test_a_line_end_that_only_yaml_knows_is_kept() -> None:
    text = "harness: 1\ncases:\n- case: a\n  expect:\n    events: ~ # c\u2028    frames:\n"
    assert parse(text)["cases"][0]["expect"] == {"events": None, "frames": None}
    with pytest.raises(SpecError, match="it reads back as something else"):
        accept(text, "a", "events", [1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "harness: 1",
        "cases: word",
        "cases: [word, {x: 1}, {case: b}]",
        "cases: {case: a, expect: {x: }}",
    ],
)
def test_an_unknown_case_is_an_error(text: str) -> None:
    with pytest.raises(SpecError, match="there is no case 'a' in this file"):
        accept(text, "a", "x", [])


def test_a_case_is_filled_in_beside_broken_cases() -> None:
    assert accept("cases: [word, {x: 1}, {case: a, expect: {x: }}]", "a", "x", []) == (
        "cases: [word, {x: 1}, {case: a, reviewed: no, expect: {x: []}}]"
    )
    with pytest.raises(SpecError, match="line 1: case 'a' expects nothing of 'x'"):
        accept("cases: [{case: a, expect: x}]", "a", "x", [])


def test_text_that_is_no_yaml_is_an_error() -> None:
    with pytest.raises(SpecError, match="line 3: "):
        accept("harness: 1\ncases: [", "a", "events", [])


def test_many_expectations_are_filled_as_one_after_the_other() -> None:
    fills = [("second", key, PAYLOADS) for key in ("unified-llm", "anthropic", "events")]
    one_by_one = EMPTY
    for fill in fills:
        one_by_one = accept(one_by_one, *fill)
    assert change_all(EMPTY, [fill_of(*fill) for fill in fills]) == (one_by_one, [None] * 3)


def test_an_expectation_that_can_not_be_filled_keeps_no_other_back() -> None:
    bad = [
        ("third", "events", []),
        ("first", "anthropic", []),
        ("second", "events", [float("nan")]),
    ]
    fills = [bad[0], ("second", "anthropic", PAYLOADS), *bad[1:]]
    text, errors = change_all(EMPTY, [fill_of(*fill) for fill in fills], path="x")
    assert text == accept(EMPTY, "second", "anthropic", PAYLOADS)
    assert [str(error) for error in errors] == [
        "x:1: there is no case 'third' in this file",
        "None",
        "x:7: expect.anthropic is not empty; to have it filled, delete its value",
        "x:17: the value of expect.events cannot be written here (it reads back as something else);"
        " write it by hand",
    ]


def test_a_file_is_read_as_often_for_many_expectations_as_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reading the file again for each expectation would take quadratic time."""
    read: list[int] = []

    def counted(text: str) -> Any:
        read.append(len(text))
        return parse(text)

    for module in ("specs.spec_text", "project.update"):
        monkeypatch.setattr(sys.modules[f"harness.{module}"], "parse", counted)
    for count in (1, 100):
        read.clear()
        cases = "".join(f"- case: c{n}\n  expect:\n    events:\n" for n in range(count))
        fills = [fill_of(f"c{n}", "events", PAYLOADS) for n in range(count)]
        _, errors = change_all(f"harness: 1\ncases:\n{cases}", fills)
        assert errors == [None] * count
        assert len(read) == 2
