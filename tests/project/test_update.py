"""Updates of expectations in the text of a spec, and values that become ``$any``."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from harness.project.update import Update, change_all
from harness.specs.matching import compare
from harness.specs.spec_error import SpecError
from harness.specs.volatile import expectation_of

SPEC = """\
harness: 1
cases:
- case: a
  requirement: r
  expect:
    mine:
    # the beginning
    - {type: start, id: {$any: string}}  # invented
    - {type: text, text: "Hel"}
    - type: text  # a block
      text: lo
    - {type: end, usage: {total: 3, input: 1}}
    other: [{x: 1}, {y: 2}]
- case: b
  expect: {mine: [1]}
"""
BEFORE = yaml.safe_load(SPEC)["cases"][0]["expect"]


def updated(got: Any, key: str = "mine", text: str = SPEC) -> str:
    """The text with an expectation that holds for ``got``."""
    before = yaml.safe_load(text)["cases"][0]["expect"][key]
    after, (error,) = change_all(
        text, [Update("a", key, before, got, expectation_of(got, got, ""))], path="s.yaml"
    )
    if error:
        raise error
    assert compare(yaml.safe_load(after)["cases"][0]["expect"][key], got) == []
    return after


START, HEL, LO = (
    {"type": "start", "id": "r7"},
    {"type": "text", "text": "Hel"},
    {"type": "text", "text": "lo"},
)
END = {"type": "end", "usage": {"total": 3, "input": 1}}
MARKED = SPEC.replace("- case: a\n", "- case: a\n  reviewed: no\n")

UPDATES = [
    ([START, HEL, LO, {**END, "usage": {"total": 4, "input": 1}}], "total: 3", "total: 4"),
    ([{**START, "model": "x"}, HEL, LO, END], "{$any: string}}", '{$any: string}, "model": "x"}'),
    (
        [START, HEL, {**LO, "n": 1}, END],
        "      text: lo\n",
        '      text: lo\n      "n": 1\n',
    ),
    ([START, HEL, {"type": "text"}, END], "      text: lo\n", ""),
    ([START, HEL, LO], "    - {type: end, usage: {total: 3, input: 1}}\n", ""),
    ([START, LO, END], '    - {type: text, text: "Hel"}\n', ""),
    (
        [START, HEL, LO, END, {"type": "bye"}],
        "input: 1}}\n",
        'input: 1}}\n    - {"type": "bye"}\n',
    ),
    (
        [{"type": "hello"}, START, HEL, LO, END],
        "    - {type: start",
        '    - {"type": "hello"}\n    - {type: start',
    ),
    (
        [START, {"type": "call"}, END],
        '    - {type: text, text: "Hel"}\n    - type: text  # a block\n      text: lo\n',
        '    - {"type": "call"}\n',
    ),
]


@pytest.mark.parametrize(("got", "old", "new"), UPDATES)
def test_only_the_changed_part_is_rewritten(got: list[Any], old: str, new: str) -> None:
    assert updated(got) == MARKED.replace(old, new, 1)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends_stay(ending: str) -> None:
    text = SPEC.replace("\n", ending)
    assert updated([START, HEL, END], text=text) == MARKED.replace(
        "    - type: text  # a block\n      text: lo\n", ""
    ).replace("\n", ending)


def test_a_list_in_line_is_rewritten_as_a_whole_if_its_length_changes() -> None:
    assert 'other: [{"x": 1}, {"y": 2}, {"z": 3}]\n' in updated(
        [{"x": 1}, {"y": 2}, {"z": 3}], "other"
    )
    assert "other: [{x: 5}, {y: 2}]\n" in updated([{"x": 5}, {"y": 2}], "other")


def test_an_operator_that_refuses_the_value_stays_and_is_named() -> None:
    with pytest.raises(
        SpecError, match=r"s.yaml:6: .*an operator at \[0\]\.id refuses the new value"
    ):
        updated([{**START, "id": 7}, HEL, LO, END])


def test_an_expectation_that_another_run_has_changed_is_named() -> None:
    got = [START, HEL, LO, {"type": "end", "usage": {"total": 4, "input": 1}}]
    update = Update("a", "mine", BEFORE["mine"], got, expectation_of(got, got, ""))
    changed = SPEC.replace("usage: {total: 3, input: 1}", "count: 3")
    text, (error,) = change_all(changed, [update], path="s.yaml")
    assert "expect.mine: another run has changed it; run the update again" in str(error)
    assert text == changed


def test_one_update_that_fails_keeps_no_other_back() -> None:
    got = [START, HEL, LO]
    changes = [
        Update("a", "mine", BEFORE["mine"], [{**START, "id": 7}], [{**START, "id": 7}]),
        Update("a", "other", BEFORE["other"], [{"x": 5}, {"y": 2}], [{"x": 5}, {"y": 2}]),
        Update("b", "mine", [1], got, got),
    ]
    text, errors = change_all(SPEC, changes)
    assert [error is None for error in errors] == [False, True, True]
    assert yaml.safe_load(text)["cases"][1]["expect"]["mine"] == got
    assert text.count("reviewed: no") == 2


VOLATILE = [
    ({"id": "x1"}, {"id": "x2"}, "", {"id": {"$any": "string"}}),
    ({"id": "x1"}, {"id": "x1"}, "", {"id": {"$any": "string"}}),
    ({"id": "x1"}, {"id": "x1"}, '"id": "x1"', {"id": "x1"}),
    ({"createdAt": 7.5}, {"createdAt": 7.5}, "", {"createdAt": {"$any": "number"}}),
    ({"sdk_version": "1.2"}, {"sdk_version": "1.2"}, "", {"sdk_version": {"$any": "string"}}),
    ({"text": "Hel"}, {"text": "Hel"}, "", {"text": "Hel"}),
    ({"text": "a"}, {"text": "b"}, "", {"text": {"$any": "string"}}),
    ({"valid": True}, {"valid": False}, "", {"valid": {"$any": "boolean"}}),
    ([{"time": 3}], [{"time": 4}], "3", [{"time": {"$any": "integer"}}]),
    ({"time": None}, {"time": None}, "", {"time": None}),
    ([1, 2], [1], "", [1, 2]),
    ({"$x": 1}, {"$x": 1}, "", {"$literal": {"$x": 1}}),
]


@pytest.mark.parametrize(("value", "again", "recorded", "expected"), VOLATILE)
def test_values_that_another_run_would_not_give_become_any(
    value: Any, again: Any, recorded: str, expected: Any
) -> None:
    assert expectation_of(value, again, recorded) == expected
    assert compare(expected, value) == []
