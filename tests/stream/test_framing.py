"""Framing: any cut of the bytes gives the same frames, and nothing of the body is lost."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stream.framing import (
    DocumentFramer,
    Frame,
    Framer,
    FramingError,
    SseFramer,
    frame_by_content,
    sse,
)
from harness.stream.json_codec import MAX_NESTING, decode_json


def frames(body: bytes, cuts: list[int] | None = None, framer: Framer | None = None) -> list[Frame]:
    framer = framer or frame_by_content()
    framed: list[Frame] = []
    places = [0, *sorted(cuts or []), len(body)]
    for start, stop in itertools.pairwise(places):
        framed += framer.feed(body[start:stop])
    return framed + framer.close()


def seen(framed: list[Frame]) -> list[Any]:
    """``(offset, json)``, or ``(offset, "raw" or "partial", text)``."""
    return [
        (frame.offset, frame.json)
        if frame.raw is None
        else (frame.offset, "partial" if frame.partial else "raw", frame.raw)
        for frame in framed
    ]


A, B = {"a": 1}, {"b": "é"}
BODIES: dict[str, tuple[bytes, list[Any]]] = {
    "crlf": (b'data: {"a":1}\r\n\r\ndata: {"b":"\xc3\xa9"}\r\n\r\n', [(0, A), (17, B)]),
    "lf": (b'data: {"a":1}\n\ndata: {"b":"\xc3\xa9"}\n\n', [(0, A), (15, B)]),
    "cr": (b'data: {"a":1}\r\rdata: {"b":"\xc3\xa9"}\r\r', [(0, A), (15, B)]),
    "cr inside an event that ends in crlf": (
        b'data: {"a":\r1}\r\n\r\n',
        [(0, "raw", '{"a":'), (12, "raw", "1}")],
    ),
    "cr inside an event that ends in lf": (
        b'data: {"a":\r1}\n\n',
        [(0, "raw", '{"a":'), (12, "raw", "1}")],
    ),
    "byte order mark": (b'\xef\xbb\xbfdata: {"a":1}\n\n', [(3, A)]),
    "byte order mark before JSON": (b'\xef\xbb\xbf{"a":1}', [(3, A)]),
    "byte order mark cut off": (b"\xef\xbb", [(0, "partial", "\\xef\\xbb")]),
    "no space": (b'data:{"a":1}\n\n', [(0, A)]),
    "comments and other fields": (
        b': ping\n\nevent: x\nid: 7\nretry: 10\ndata: {"a":1}\n\nid\n\n',
        [(33, A)],
    ),
    "several data lines": (b'data: {\ndata:   "a":1\ndata: }\n\n', [(0, A)]),
    "a message a data line": (b'data: {"a":1}\ndata: {"b":"\xc3\xa9"}\n\n', [(0, A), (14, B)]),
    "a message a data line, then done": (
        b'data: {"a":1}\ndata: {"b":"\xc3\xa9"}\ndata: [DONE]\n\n',
        [(0, A), (14, B), (31, "raw", "[DONE]")],
    ),
    "no last blank line": (b'data: {"a":1}\r\n', [(0, A)]),
    "no last line end": (b'data: {"a":1}', [(0, A)]),
    "cut in a message": (b'data: {"a":1}\n\ndata: {"b', [(0, A), (15, "partial", 'data: {"b')]),
    "cut in a field name": (b'data: {"a":1}\n\nda', [(0, A), (15, "partial", "da")]),
    "empty data": (b'data:\n\ndata: {"a":1}\n\n', [(0, "raw", ""), (7, A)]),
    "done": (b'data: {"a":1}\n\ndata: [DONE]\n\n', [(0, A), (15, "raw", "[DONE]")]),
    "bare error": (
        b'data: {"a":1}\r\n\r\n{\r\n  "error": {\n "m": "}\\""\n}\n}\n',
        [(0, A), (17, {"error": {"m": '}"'}})],
    ),
    "bare error cut": (
        b'data: {"a":1}\n\n{\n  "error": {',
        [(0, A), (15, "partial", '{\n  "error": {')],
    ),
    "message after bare error": (b'{"error": 1}\ndata: {"a":1}\n\n', [(0, {"error": 1}), (13, A)]),
    "message inside bare error": (
        b'{"error":\ndata: {"a":1}\n\n',
        [(0, "raw", '{"error":'), (10, A)],
    ),
    "garbage line": (b'oops\ndata: {"a":1}\n\n', [(0, "raw", "oops"), (5, A)]),
    "not UTF-8": (b'data: {"a":"\xff"}\n\n', [(0, "raw", '{"a":"\\xff"}')]),
    "html": (
        b"<html>\n<p>x</p>\n</html>\n",
        [(0, "raw", "<html>"), (7, "raw", "<p>x</p>"), (16, "raw", "</html>")],
    ),
    "json array": (b'[{"a":1}\r\n,\r\n{"b":"\xc3\xa9"}]', [(1, A), (13, B)]),
    "json array, odd elements": (
        b'[[{"a":1}], 7, "s", null]',
        [(1, [A]), (12, 7), (15, "s"), (20, None)],
    ),
    "json array cut": (b'[{"a":1},{"b":', [(1, A), (9, "partial", '{"b":')]),
    "after a json array": (b'[{"a":1}] tail', [(1, A), (10, "raw", "tail")]),
    "json lines": (b'{"a":1}\n\n{"b":"\xc3\xa9"}\n', [(0, A), (9, B)]),
    "glued documents": (b'{"a":1}{"b":"\xc3\xa9"}\n', [(0, A), (7, B)]),
    "unary": (b'{\n  "a": 1\n}\n', [(0, A)]),
    "unary cut": (b'{\n  "a": 1\n', [(0, "partial", '{\n  "a": 1')]),
    "blank": (b" \r\n\t\n", []),
    "empty": (b"", []),
}


@pytest.mark.parametrize("name", BODIES)
def test_frames_with_their_offsets(name: str) -> None:
    body, expected = BODIES[name]
    assert seen(frames(body)) == expected


@pytest.mark.parametrize("name", BODIES)
def test_cuts_do_not_matter(name: str) -> None:
    body, _ = BODIES[name]
    whole = frames(body)
    for first in range(len(body) + 1):
        assert frames(body, [first]) == whole
    assert frames(body, list(range(1, len(body)))) == whole


@pytest.mark.slow
@given(
    st.binary(max_size=80) | st.text(alphabet='data: {}[]",\\\r\n1x', max_size=80).map(str.encode),
    st.data(),
)
def test_any_bytes_in_any_cut_give_the_same_frames(body: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=6))
    assert frames(body, cuts) == frames(body)


def test_a_frame_has_the_time_of_the_read_that_completed_it() -> None:
    framer = frame_by_content()
    assert framer.feed(b'data: {"a":', 1.0) == []
    (frame,) = framer.feed(b"1}\n\n", 2.5)
    assert (frame.at_ms, frame.json) == (2.5, A)


NUMBERS = [
    (b"18446744073709551616", 18446744073709551616),
    (b"-9223372036854775809", -9223372036854775809),
    (b"123456789012345678901234567890", 123456789012345678901234567890),
    (b'"\\ud800"', "\ud800"),
    (b"1.0", 1.0),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS)
def test_numbers_and_surrogates_keep_their_value(text: bytes, value: Any) -> None:
    got = decode_json(text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize("text", [b"NaN", b"Infinity", b"1e400", b"[1,]", b"'a'", b"", b'"\x01"'])
def test_text_that_is_not_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(text)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 900, 100_000])
def test_nesting_is_bounded(depth: int) -> None:
    for value in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth):
        with pytest.raises(ValueError, match=f"nested deeper than {MAX_NESTING} levels"):
            decode_json(value)
        (frame,) = frames(b"data: " + value + b"\n\n")
        assert frame.raw == value.decode()


def test_brackets_in_text_are_not_counted_as_nesting() -> None:
    text = "[" * 5000 + '"' + "{" * 5000
    assert decode_json(json.dumps(text).encode()) == text


@pytest.mark.parametrize(
    "opening", [b'data: {"a":"', b'{"a":"', b'[{"a":"', b"data: 1\ndata: ", b"garbage "]
)
def test_a_message_over_the_limit_is_a_framing_error(opening: bytes) -> None:
    body = opening + (b"x" * 10 + (b"\ndata: " if b"data: 1" in opening else b"")) * 200
    for cuts in ([], list(range(0, len(body), 7))):
        with pytest.raises(
            FramingError,
            match=r"the message at byte \d+ is longer than 1000 bytes; raise the limit to read it",
        ):
            frames(body, cuts, frame_by_content(max_frame=1000))


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize(
    "line", [b'data: "' + b"x" * 92 + b'"', b": " + b"x" * 98, b"event: " + b"x" * 93]
)
@pytest.mark.parametrize("cut", [[], [7], [99], [100], [101]])
def test_a_line_of_the_greatest_length_is_read_for_every_cut(
    cut: list[int], line: bytes, end: bytes
) -> None:
    assert len(line) == 100
    assert len(frames(line + end, cut, frame_by_content(max_frame=100))) == line.startswith(b"data")


@pytest.mark.parametrize("line", [b"x" * 150, b": " + b"x" * 150, b"event: " + b"x" * 150])
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_line_over_the_limit_is_refused_for_every_cut(line: bytes, step: int) -> None:
    with pytest.raises(FramingError, match="the message at byte 0 is longer than 100 bytes"):
        frames(
            line + b"\n", list(range(step, len(line) + 1, step)), frame_by_content(max_frame=100)
        )


def test_the_memory_for_a_large_message_is_bounded() -> None:
    size, piece = 16 * 2**20, 65536
    tracemalloc.start()
    try:
        framer = frame_by_content()
        framer.feed(b'data: {"a":"')
        for _ in range(size // piece):
            framer.feed(b"x" * piece)
        (frame,) = framer.feed(b'"}\n\n')
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(frame.json["a"]) == size
    assert peak <= 3 * size


def test_an_error_document_stays_in_one_piece() -> None:
    (frame,) = frames(b"<html>\n<p>x</p>\n</html>\n", [9], DocumentFramer())
    assert (frame.raw, frame.partial) == ("<html>\n<p>x</p>\n</html>", False)
    assert frames(b"  \n", [], DocumentFramer()) == []


NAMED = b'event: a\ndata: {"n":1}\n\n'


@pytest.mark.parametrize(
    "data",
    [
        NAMED,
        NAMED + b'event: b\ndata: {"n":2}\n\n',
        NAMED + b"event: done\ndata: [DONE]\n\n",
        NAMED + b"event: b\ndata: \n\n",
        NAMED + b"event: b\ndata:\n\n",
        NAMED + b'event: b\ndata: {"n":\ndata: 2}\n\n',
        NAMED + b"event: b\n\n",
        NAMED + b"\n\n" + NAMED,
        NAMED + b'data: {"n":2}\n\n',
        NAMED + b'{"n":2}\n',
        NAMED[:-1],
        b'event: a\r\ndata: {"n":1}\r\n\r\n',
        b'event: a\ndata: {"n":\r1}\n\n',
        b"event: a\n\ndata: 1\n\n",
        b'event:a\ndata:{"n":1}\n\n',
        b'event: a\nid: 7\ndata: {"n":1}\n\n',
    ],
)
def test_events_with_names_are_read_alike_whole_and_in_bytes(data: bytes) -> None:
    whole, bytewise = frame_by_content(), frame_by_content()
    frames = whole.feed(data) + whole.close()
    pieces = [frame for byte in data for frame in bytewise.feed(bytes([byte]))]
    assert frames == pieces + bytewise.close()


@pytest.mark.parametrize(
    ("body", "oddities"),
    [
        (b"event: a\ndata: {}\n\n", [(sse.NAMED, 0)]),
        (b"data: {}\n\n" * 2, [(sse.UNNAMED, 0)]),
        (b"event: a\ndata: {}\n\ndata: {}\n\n", [(sse.UNNAMED, 19), (sse.NAMED, 0)]),
        (
            b"event: a\r\ndata: {}\r\n\r\nevent:\r\ndata: {}\r\n\r\n",
            [(sse.NAMED, 0), (sse.UNNAMED, 30)],
        ),
        (b": c\ndata: {}\n\n", [(sse.COMMENT, 0), (sse.UNNAMED, 4)]),
        (b"event: a\n\ndata:{}\n\n", [(sse.NAMED, 0), (sse.NO_SPACE, 10), (sse.UNNAMED, 10)]),
        (b"data: {}\ndata: {}\n\n", [(sse.UNNAMED, 0), (sse.LINES, 0), (sse.SEVERAL, 0)]),
        (b"id: 1\ndata: {}\n\n", [(sse.ID, 0), (sse.UNNAMED, 6)]),
        (b"data:\n\ndata: {}\n\n", [(sse.UNNAMED, 0)]),
        (b"data: {}\r\r", [(sse.LONE_CR, 8), (sse.UNNAMED, 0)]),
        (b"data: {}\r\n\r", [(sse.UNNAMED, 0), (sse.LONE_CR, 10)]),
        (b"data: {}\n", [(sse.OPEN, 0), (sse.UNNAMED, 0)]),
        (b"data: {}", [(sse.OPEN, 0), (sse.UNNAMED, 0)]),
        (b'data: {}\n\n{"a": 1}\n', [(sse.UNNAMED, 0), (sse.OUTSIDE, 10)]),
        (b'{"a": 1}\n', [(sse.OUTSIDE, 0)]),
    ],
)
def test_oddities_of_a_stream(body: bytes, oddities: list[tuple[str, int]]) -> None:
    framer = SseFramer()
    framer.feed(body)
    framer.close()
    assert [(oddity.name, oddity.place) for oddity in framer.oddities] == oddities
    assert sorted(oddities) == sorted(
        (oddity.name, oddity.place) for oddity in framed_by_bytes(body).oddities
    )


def framed_by_bytes(body: bytes) -> SseFramer:
    framer = SseFramer()
    for at in range(len(body)):
        framer.feed(body[at : at + 1])
    framer.close()
    return framer
