"""The text of each call's result, for the second request."""

from __future__ import annotations

import json
from typing import Final

import pytest

from harness.adapters.at import Question, at_of
from harness.facts import Call
from tests.security.samples import exchange

CALLS: Final[tuple[tuple[str, dict[str, int]], ...]] = (
    ("f", {"x": 1}),
    ("f", {"x": 2}),
    ("g", {}),
    ("g", {}),
)


def texts(*calls: Call) -> list[int]:
    """The numbers of the results, for an answer with `CALLS`."""
    parts = [{"functionCall": {"name": name, "args": args}} for name, args in CALLS]
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    body = b"data: " + json.dumps({"candidates": [candidate]}).encode() + b"\n\n"
    at = at_of(Question(exchange(body)))
    return [int(at.result(call).removeprefix("result ")) for call in calls]


@pytest.mark.parametrize("ids", [(None, None), ("", ""), ("f", "f"), ("a", "b")])
def test_each_call_has_its_own_text_also_with_equal_or_empty_ids(
    ids: tuple[str | None, str | None],
) -> None:
    first, second = Call(ids[0], "f", {"x": 1}), Call(ids[1], "f", {"x": 2})
    assert texts(first, second) == [1, 2]
    assert texts(second, first, second) == [2, 1, 2], "in whatever order they are requested"


def test_equal_calls_have_texts_of_their_own() -> None:
    assert texts(Call("", "g"), Call("", "g", "{}"), Call("", "g")) == [3, 4, 3]
    assert texts(Call("c", "g"), Call("d", "g"), Call("c", "g")) == [3, 4, 3]


def test_a_call_that_the_answer_does_not_have_gets_a_free_text() -> None:
    assert texts(Call("", "f"), Call("", "f"), Call(None, "h"), Call(None, "h")) == [1, 2, 3, 3]
    assert texts(Call(None, "f", {"x": 9}), Call(None, "f", {"x": 1})) == [1, 2]


def test_a_call_without_its_arguments_is_found_by_its_id() -> None:
    parts = [
        {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}},
        {"functionCall": {"id": "a", "name": "f", "args": {"x": 2}}},
        {"functionCall": {"name": "f"}},
    ]
    body = json.dumps({"candidates": [{"content": {"parts": parts}}]}).encode()
    at = at_of(Question(exchange(b"data: " + body + b"\n\n")))
    given = [at.result(Call(call_id, "f")) for call_id in ("a", "a", "made-up")]
    assert given == ["result 1", "result 2", "result 3"]


def test_a_result_with_an_image_has_the_number_of_the_call() -> None:
    parts = [{"functionCall": {"name": name, "args": args}} for name, args in CALLS]
    body = json.dumps({"candidates": [{"content": {"parts": parts}}]}).encode()
    at = at_of(Question(exchange(b"data: " + body + b"\n\n")))
    second, first = (at.result_media(Call("", "f", {"x": number})) for number in (2, 1))
    assert (first.text, second.text) == ("result 1, see the image", "result 2, see the image")
    assert first.mime_type == "image/png"
    assert first.data.startswith(b"\x89PNG\r\n\x1a\n")
    assert first.data != second.data
    assert at.result(Call("", "f", {"x": 1})) == "result 1"
