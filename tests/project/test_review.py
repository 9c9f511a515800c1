"""The hunks of an update, and what accepting and rejecting one does to both texts."""

from __future__ import annotations

import pytest

from harness.project.review import (
    Hunk,
    accepted,
    emptied,
    hunks_of,
    mark_reviewed,
    rejected,
    unreviewed_cases,
)

BEFORE = """\
harness: 1
cases:
- case: a
  expect:
    mine:
    - {type: start}  # first
    - {type: text, text: Hel}
    - {type: end}
    other:
- case: b
  expect:
    mine:
    - {type: text, text: Hel}
    - {type: gone}
- case: c
  expect:
    mine: [1]
"""
AFTER = """\
harness: 1
cases:
- case: a
  reviewed: no
  expect:
    mine:
    - {type: start}  # first
    - {type: text, text: Hel, "n": 1}
    - {type: end, "x": 2}
    other:
      - {"a": 1}
      - {"b": 2}
- case: b
  reviewed: no
  expect:
    mine:
    - {type: text, text: Hel, "n": 1}
- case: c
  expect:
    mine: [2]
"""


def shown(hunk: Hunk) -> tuple[str, int, int, str]:
    return hunk.place, len(hunk.old), len(hunk.new), hunk.paths


def test_each_changed_item_is_a_hunk_and_an_equal_change_has_an_equal_group() -> None:
    """Case c is reviewed, so its change is not shown."""
    assert [shown(hunk) for hunk in hunks_of(BEFORE, AFTER)] == [
        ("a[mine]", 1, 1, "extra n"),
        ("a[mine]", 1, 1, "extra x"),
        ("a[other]", 0, 2, "with item"),
        ("b[mine]", 2, 1, "extra n, without item gone"),
    ]


def test_a_group_is_one_pair_of_values() -> None:
    case = "- case: {}\n{}  expect:\n    mine:\n    - {{finish: {}, text: {}}}\n"
    changes = {"a": ("STOP", "Hi"), "b": ("MAX_TOKENS", "Hi"), "c": ("STOP", "Ho")}
    before = "cases:\n" + "".join(case.format(name, "", *old) for name, old in changes.items())
    after = "cases:\n" + "".join(
        case.format(name, "  reviewed: no\n", "stop", text) for name, (_, text) in changes.items()
    )
    hunks = hunks_of(before, after)
    assert [(hunk.paths, hunk.values) for hunk in hunks] == [
        ("changed finish", '"STOP" → "stop"'),
        ("changed finish", '"MAX_TOKENS" → "stop"'),
        ("changed finish", '"STOP" → "stop"'),
    ]
    assert hunks[0].group == hunks[2].group != hunks[1].group


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_accepting_all_hunks_gives_the_new_text_and_rejecting_all_the_old(ending: str) -> None:
    before, after = (text.replace("\n", ending) for text in (BEFORE, AFTER))
    old, new = before, after
    while hunks := hunks_of(old, after):
        old = accepted(old, hunks[0])
    while hunks := hunks_of(before, new):
        new = rejected(new, hunks[-1])
    mark = f"  reviewed: no{ending}"
    assert old == after.replace(mark, "").replace("mine: [2]", "mine: [1]")
    assert new.replace(mark, "") == before.replace("mine: [1]", "mine: [2]")


def test_a_hunk_alone_changes_only_its_lines() -> None:
    hunks = hunks_of(BEFORE, AFTER)
    assert rejected(AFTER, hunks[1]) == AFTER.replace('{type: end, "x": 2}', "{type: end}")
    assert accepted(BEFORE, hunks[2]) == BEFORE.replace(
        "other:\n", 'other:\n      - {"a": 1}\n      - {"b": 2}\n'
    )


def test_the_mark_of_a_case_is_removed() -> None:
    assert unreviewed_cases(AFTER) == ["a", "b"]
    text = mark_reviewed(AFTER, "a")
    assert text == AFTER.replace("  reviewed: no\n", "", 1)
    assert unreviewed_cases(text) == ["b"]
    flow = "\ufeffcases: [{case: a, reviewed: no, expect: {x: 1}}]\n"
    assert mark_reviewed(flow, "a") == "\ufeffcases: [{case: a, expect: {x: 1}}]\n"


def test_an_emptied_case_is_as_before_it_was_filled() -> None:
    assert emptied(AFTER, "a") == AFTER.replace(
        """\
    mine:
    - {type: start}  # first
    - {type: text, text: Hel, "n": 1}
    - {type: end, "x": 2}
    other:
      - {"a": 1}
      - {"b": 2}
""",
        "    mine:\n    other:\n",
    )
    assert emptied(BEFORE, "c") == BEFORE.replace("mine: [1]", "mine:")
