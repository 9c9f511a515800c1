"""Counted numbers that shift after a lost block."""

from __future__ import annotations

import json

import pytest

from harness.specs.matching import Mismatch, compare

from .payloads import Payloads, findings, message

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


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "lost", "note"), LOST_BLOCKS)
def test_one_lost_block_is_one_finding_with_its_shifts(
    blocks: list[tuple[str, bool]], lost: int, note: str
) -> None:
    expected, actual = message(blocks), message(blocks[:lost] + blocks[lost + 1 :])
    start = 1 + 3 * lost
    assert compare(expected, actual) == [
        Mismatch(
            f"[{start}..{start + 2}]",
            "missing",
            expected[start : start + 3],
            None,
            note,
            index=start,
        ),
    ]
    (extra,) = compare(actual, expected)
    assert (extra.path, extra.kind, extra.note) == (
        f"[{start}..{start + 2}]",
        "extra",
        note.replace("−", "+"),
    )


def test_a_lost_block_without_renumbering_shifts_nothing() -> None:
    expected = message([("{}", True)] * 9)
    actual = [payload for payload in expected if payload.get("index") != 4]
    assert compare(expected, actual) == [
        Mismatch("[13..15]", "missing", expected[13:16], None, "3 items", index=13)
    ]


def test_a_lost_block_is_one_finding_despite_operators() -> None:
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


def test_a_lost_call_is_one_finding_with_the_shift_of_ids() -> None:
    expected, actual = calls("a", "b", "c", "d"), calls("a", "c", "d")
    assert compare(expected, actual) == [
        Mismatch(
            "[2..3]", "missing", expected[2:4], None, "2 items; call_ ids −1 from here", index=2
        )
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


def test_an_id_from_before_the_lost_call_is_not_shifted() -> None:
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


def test_an_index_elsewhere_in_the_item_counts_separately() -> None:
    expected, actual = message(TEXTS[:20]), message(TEXTS[:5] + TEXTS[6:20])
    for payload in expected + actual:
        payload["raw"] = {"candidates": [{"index": 0}]}
    assert [mismatch.note for mismatch in compare(expected, actual)] == [
        "3 items; index −1 from here"
    ]


def test_a_run_without_numbers_causes_no_shift() -> None:
    expected = message(TEXTS[:20])
    actual = change(expected, range(20, 21), 7)
    assert compare([*expected[:10], {"type": "ping"}, *expected[10:]], actual) == [
        Mismatch("[10]", "missing", {"type": "ping"}, index=10),
        Mismatch("[21].index", "changed", 6, 13, index=21),
    ]


@pytest.mark.parametrize("wrong", [9, 20])
def test_a_single_wrong_number_is_not_caused_by_an_earlier_run(wrong: int) -> None:
    expected = message(TEXTS[:20])
    number = expected[wrong]["index"]
    actual = change(expected, range(wrong, wrong + 1), 7)
    assert compare(expected, actual[:8] + actual[9:]) == [
        Mismatch("[8]", "missing", expected[8], index=8),
        Mismatch(f"[{wrong}].index", "changed", number, number + 7, index=wrong),
    ]


def test_a_run_without_numbers_causes_no_shift_at_the_end() -> None:
    expected = [{"type": "a", "index": 0}, {"type": "ping"}, {"type": "b", "index": 1}]
    assert findings(expected, [expected[0], {"type": "b", "index": 4}]) == [
        ("[1]", "missing"),
        ("[2].index", "changed"),
    ]


def change(payloads: Payloads, numbers: range, by: int) -> Payloads:
    return [
        {**payload, "index": payload["index"] + by} if number in numbers else payload
        for number, payload in enumerate(payloads)
    ]


MOVED = [
    (range(10, 11), 5, Mismatch("[10].index", "changed", 3, 8, index=10)),
    (
        range(10, 16),
        5,
        Mismatch("[10].index", "moved", 3, 8, "index +5 here, 6 times, then as before", index=10),
    ),
    (range(10, 61), 1, Mismatch("[10].index", "moved", 3, 4, "index +1 from here", index=10)),
    (range(60, 61), 3, Mismatch("[60].index", "changed", 19, 22, index=60)),
    (range(1, 61), -1, Mismatch("[1].index", "moved", 0, -1, "index −1 from here", index=1)),
]


@pytest.mark.parametrize(("numbers", "by", "finding"), MOVED)
def test_wrong_numbers_without_a_lost_item_are_one_finding(
    numbers: range, by: int, finding: Mismatch
) -> None:
    expected = message(TEXTS[:20])
    assert compare(expected, change(expected, numbers, by)) == [finding]


def test_a_change_after_a_lost_block_is_a_separate_finding() -> None:
    expected = message(TEXTS[:30])
    actual = message([*TEXTS[:5], *TEXTS[6:20], ("other", False), *TEXTS[21:30]])
    assert [(mismatch.path, mismatch.note) for mismatch in compare(expected, actual)] == [
        ("[16..18]", "3 items; index −1 from here"),
        ("[62].delta.text", ""),
    ]


def test_a_wrong_number_after_a_lost_block_is_separate() -> None:
    expected, actual = message(TEXTS[:30]), message(TEXTS[:5] + TEXTS[6:30])
    actual = change(actual, range(40, 41), 7)
    assert [(mismatch.path, mismatch.kind) for mismatch in compare(expected, actual)] == [
        ("[16..18]", "missing"),
        ("[43].index", "changed"),
    ]
