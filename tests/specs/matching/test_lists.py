"""Missing and extra runs, and pairs that differ."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.specs.matching import Mismatch, compare

from .payloads import Json, findings, words

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


@pytest.mark.parametrize(("expected", "actual", "paths_and_kinds"), RUNS)
def test_runs_and_pairs(
    expected: list[Json], actual: list[Json], paths_and_kinds: list[tuple[str, str]]
) -> None:
    assert findings(expected, actual) == paths_and_kinds


def test_a_run_of_missing_items_is_one_finding() -> None:
    (mismatch,) = compare(words(10), words(10)[:3] + words(10)[6:])
    assert mismatch == Mismatch("[3..5]", "missing", words(10)[3:6], None, "3 items", index=3)


def test_one_event_of_5000_deleted_is_one_finding() -> None:
    events = words(5000)
    assert compare(events, events[:2500] + events[2501:]) == [
        Mismatch("[2500]", "missing", events[2500], index=2500)
    ]


def test_several_unrelated_differences_are_several_findings() -> None:
    events = words(1000)
    actual = [*events[:100], *events[101:500], {"type": "PING"}, *events[500:800], *events[803:]]
    actual[-1] = {**actual[-1], "delta": "other"}
    assert findings(events, actual) == [
        ("[100]", "missing"),
        ("[499]", "extra"),
        ("[800..802]", "missing"),
        ("[999].delta", "changed"),
    ]


@pytest.mark.slow
def test_equal_lists_and_a_deletion_do_not_import_deepdiff() -> None:
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


@pytest.mark.parametrize("count", [19, 60])
def test_a_key_with_another_name_in_all_items_is_one_finding(count: int) -> None:
    items = [{"kind": "text", "text": f"piece {number}"} for number in range(count)]
    renamed = [{"type": item["kind"], "text": item["text"]} for item in items]
    (mismatch,) = compare(items, renamed)
    assert (mismatch.path, mismatch.note) == ("[0]", f"key kind → type ×{count}")
    mismatch, lost = compare(items, renamed[:3] + renamed[4:])
    assert (lost.path, lost.kind) == ("[3]", "missing")
    assert mismatch.note == f"key kind → type ×{count - 1}"


def test_other_differences_beside_a_renamed_key_are_findings() -> None:
    first, second = compare(
        [{"kind": "text", "text": "a"}, {"kind": "end", "total": 1}],
        [{"type": "text", "text": "b"}, {"type": "end", "total": 1}],
    )
    assert first.note == "key kind → type ×2"
    assert (second.path, second.expected, second.got) == ("[0].text", "a", "b")


def test_equal_numbers_are_no_renamed_key() -> None:
    kinds = [mismatch.kind for mismatch in compare({"type": "a", "x": 1}, {"type": "a", "y": 1})]
    assert kinds == ["missing", "extra"]


def test_a_value_under_two_keys_is_no_renamed_key() -> None:
    (mismatch,) = compare([{"a": "v", "b": "v"}], [{"c": "v", "d": "v"}])
    assert mismatch.kind == "changed"
    assert mismatch.note == ""
