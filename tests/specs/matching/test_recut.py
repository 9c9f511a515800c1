"""The same text with other cuts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.specs.matching import compare

from .payloads import Json, Payloads, block, deltas, findings, message


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


@pytest.mark.slow
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
        kind
        for _, kind in findings(AROUND[0] + expected + AROUND[1], AROUND[0] + actual + AROUND[1])
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
    assert "recut" not in {kind for _, kind in findings(expected, actual)}


def test_another_text_cut_differently_is_one_finding() -> None:
    (mismatch,) = compare(pieces("abcdefghij", 2, 4, 6, 8), pieces("abcdeXghij", 3, 6, 9))
    assert (mismatch.path, mismatch.kind, mismatch.expected, mismatch.got) == (
        "[0..4]",
        "changed",
        "abcdefghij",
        "abcdeXghij",
    )
    assert "5 pieces expected, 4 got" in mismatch.note


def test_a_cut_and_a_lost_block_are_two_findings() -> None:
    texts = [(f"text {number}", False) for number in range(20)]
    expected, actual = message(texts), message(texts[:10] + texts[11:])
    first, second = block(2, "te")[1], block(2, "xt 2")[1]
    assert findings(expected, [*actual[:8], first, second, *actual[9:]]) == [
        ("[8]", "recut"),
        ("[31..33]", "missing"),
    ]


def test_the_type_of_an_item_is_no_text() -> None:
    assert findings([{"type": "message_stop"}], [{"type": "message"}, {"type": "_stop"}]) == [
        ("[0]", "missing"),
        ("[0..1]", "extra"),
    ]
