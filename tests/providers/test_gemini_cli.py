"""The output of the Gemini CLI: how it is cut into messages, and the reading of each line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from harness import load
from harness.adapters import ADAPTERS, EVENTS
from harness.dialects import DIALECTS
from harness.judging.laws import check
from harness.providers import PROVIDERS, Answer, Identity, detect_provider
from harness.stream.framing import Frame, FramingError
from harness.stream.framing.json_lines import MAX_GLUED, JsonLinesFramer
from tests.readers.gemini_cli import gather_cli
from tests.support.facts import losses
from tests.support.wire_answers import facts_of_body

INIT = '{"type":"init","timestamp":"2026-11-21T10:00:00.000Z","session_id":"s","model":"m"}'
TEXT = '{"type":"message","timestamp":"2026-11-21T10:00:01.000Z","role":"assistant","content":"Hé","delta":true}'
RESULT = '{"type":"result","timestamp":"2026-11-21T10:00:02.000Z","status":"success","stats":{"total_tokens":3}}'
DOCUMENT = '{\n  "session_id": "s",\n  "response": "{\\n}",\n  "stats": {}\n}'


def framed(*pieces: bytes) -> list[Frame]:
    framer = JsonLinesFramer()
    return [frame for piece in pieces for frame in framer.feed(piece)] + framer.close()


def frame_contents(text: str) -> list[Any]:
    """The content of each frame of a text: its JSON, or its raw text."""
    return [frame.json if frame.raw is None else frame.raw for frame in framed(text.encode())]


def events(*lines: str) -> list[dict[str, Any]]:
    normalizer = PROVIDERS["gemini-cli"].normalizer(Answer())
    normalized = [
        event for frame in framed("\n".join(lines).encode()) for event in normalizer.feed(frame)
    ]
    return [to_builtins(event) for event in normalized + normalizer.close()]


def line(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, "timestamp": "t", **fields})


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        (f"{INIT}\n{TEXT}\n", [json.loads(INIT), json.loads(TEXT)]),
        (f"\ufeff{INIT}\r\n\r\n{TEXT}", [json.loads(INIT), json.loads(TEXT)]),
        (f"Loaded cached credentials.{INIT}", ["Loaded cached credentials.", json.loads(INIT)]),
        (
            f"a {INIT} b {TEXT}{RESULT}c\n",
            ["a", json.loads(INIT), "b", json.loads(TEXT), json.loads(RESULT), "c"],
        ),
        ("{oops}\n7\nnull\n", ["{oops}", 7, None]),
        ('broken {"type":"x"} line\n', ['broken {"type":"x"} line']),
        (
            '{"type":"result","error":{"type":"E","message":"m"},oops}\n',
            ['{"type":"result","error":{"type":"E","message":"m"},oops}'],
        ),
        (f"noise\n{DOCUMENT}\nmore", ["noise", json.loads(DOCUMENT), "more"]),
        (f"noise.{DOCUMENT}\n", ["noise.", json.loads(DOCUMENT)]),
        (f"{{\n{TEXT}\n", ["{", json.loads(TEXT)]),
        (f'main() {{\n  "a": 1\n{TEXT}\n', ["main() {", '"a": 1', json.loads(TEXT)]),
        ("{\n}\n", [{}]),
        ('{\n  "a": [', ['{\n  "a": [']),
        ("", []),
        (" \n\r\n", []),
    ],
)
def test_messages_are_cut_out_of_any_surrounding_text(text: str, frames: list[Any]) -> None:
    assert frame_contents(text) == frames


def test_a_frame_knows_its_place_and_the_time_of_its_last_read() -> None:
    framer = JsonLinesFramer()
    assert framer.feed(b"x" + INIT.encode()[:10], 1.0) == []
    first, second = framer.feed(INIT.encode()[10:] + b"\n", 2.0)
    assert (first.offset, first.raw, first.at_ms) == (0, "x", 2.0)
    assert (second.offset, second.json["type"], second.at_ms) == (1, "init", 2.0)
    assert framer.feed(TEXT.encode() + b"\n", 3.0)[0].offset == len(INIT) + 2


def test_only_a_last_line_that_is_no_json_is_partial() -> None:
    assert [frame.partial for frame in framed(f"noise\n{INIT}\nno".encode())] == [
        False,
        False,
        True,
    ]
    assert [frame.partial for frame in framed(INIT.encode())] == [False]


BODY = f"noise\nglued{INIT}\r\n{TEXT}[end]\n\n{DOCUMENT}\n{{\n{RESULT}\nrest".encode()


@pytest.mark.slow
@given(st.sets(st.integers(1, len(BODY) - 1)))
def test_cuts_change_nothing(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[start:stop] for start, stop in pairwise(places)]
    assert framed(*pieces) == framed(BODY)


@given(st.binary(max_size=200))
def test_any_bytes_are_framed_and_read(data: bytes) -> None:
    normalizer = PROVIDERS["gemini-cli"].normalizer(Answer())
    all_events = [
        event for frame in framed(data) for event in normalizer.feed(frame)
    ] + normalizer.close()
    assert bool(all_events) == bool(data.removeprefix(b"\xef\xbb\xbf").strip())


def test_the_length_of_a_line_or_document_is_limited() -> None:
    for data in (b"x" * 101, b'{\n "a": 1,\n' * 20):
        framer = JsonLinesFramer(100)
        with pytest.raises(FramingError, match="longer than 100 bytes"):
            framer.feed(data)


def test_the_search_in_a_line_of_many_braces_is_bounded() -> None:
    assert len(frame_contents('{"' * MAX_GLUED + INIT)) == 1


# Lines


@pytest.mark.parametrize(
    ("given_line", "expected"),
    [
        (line("init"), {"kind": "start"}),
        (line("message", role="assistant", content="a"), {"kind": "text", "text": "a"}),
        (line("message", role="assistant"), {"kind": "text", "text": ""}),
        (
            line("message", role="system", content="a"),
            {"kind": "text", "text": "a", "role": "system"},
        ),
        (line("message", role="model", content="a"), {"kind": "text", "text": "a", "role": ""}),
        (line("message", content="a"), {"kind": "text", "text": "a", "role": ""}),
        (line("tool_use"), {"kind": "call_start", "call": 1, "name": ""}),
        (
            line("tool_use", tool_name="", name="f", id=7),
            {"kind": "call_start", "call": 1, "name": "", "id": "7"},
        ),
        (line("tool_result"), {"kind": "tool_result", "status": ""}),
        (
            line("tool_result", error="no", status="error"),
            {"kind": "tool_result", "error": "no", "status": "error", "raw": {"error": "no"}},
        ),
        (line("result", status="success"), {"kind": "finish", "reason": "stop", "raw": "success"}),
        (line("result", status="error"), {"kind": "finish", "reason": "failed", "raw": "error"}),
        (line("result"), {"kind": "finish", "reason": "failed", "raw": ""}),
        ("7", {"kind": "unknown", "where": "line", "raw": 7}),
        ("{}", {"kind": "unknown", "where": "type None", "raw": {}}),
        ('{"type":["x"]}', {"kind": "unknown", "where": "type ['x']", "raw": {"type": ["x"]}}),
    ],
)
def test_a_line_is_read(given_line: str, expected: dict[str, Any]) -> None:
    assert expected in events(given_line + "\n")


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({"parameters": {"a": 1}}, {"a": 1}),
        ({"input": {"a": 1}}, {"a": 1}),
        ({"parameters": '{"a": 1}'}, {"a": 1}),
        ({"parameters": None, "input": {"a": 1}}, {"a": 1}),
        ({"parameters": {}, "input": {"a": 1}}, {}),
        ({"parameters": {}, "input": {"todos": []}, "name": "write_todos"}, {"todos": []}),
        (
            {"parameters": {"todos": "x"}, "input": {"todos": [1]}, "name": "write_todos"},
            {"todos": [1]},
        ),
        ({}, {}),
    ],
)
def test_arguments_are_read_in_both_spellings(
    fields: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert {"kind": "call_end", "call": 1, "arguments": arguments} in events(
        line("tool_use", **fields)
    )


@pytest.mark.parametrize("kind", ["init", "message", "tool_use", "tool_result", "result"])
def test_a_field_that_is_not_read_is_unknown(kind: str) -> None:
    assert {"kind": "unknown", "where": f"field {kind}.new", "raw": {"new": 1}} in events(
        line(kind, new=1)
    )


@pytest.mark.parametrize("field", ["content", "stats", "model", "parameters"])
def test_a_field_of_another_type_is_unknown(field: str) -> None:
    kind = {"content": "message", "stats": "result", "model": "init", "parameters": "tool_use"}[
        field
    ]
    assert {"kind": "unknown", "where": f"field {kind}.{field}", "raw": {field: 7}} in events(
        line(kind, **{field: 7})
    )


def test_the_name_of_a_result_is_that_of_its_call() -> None:
    all_events = events(
        line("tool_use", tool_name="f", tool_id="1"),
        line("tool_result", tool_id="1"),
        line("tool_result", tool_id="2"),
    )
    assert [event.get("name") for event in all_events if event["kind"] == "tool_result"] == [
        "f",
        None,
    ]


def test_content_before_any_init_has_an_implied_start() -> None:
    assert events(TEXT)[0] == {"kind": "start", "implied": True}
    assert events(INIT)[0] == {"kind": "start", "model": "m", "id": "s"}


def test_an_interrupted_run_ends_inside_its_rest() -> None:
    normalizer = PROVIDERS["gemini-cli"].normalizer(Answer())
    assert [event for frame in framed(b'{"type') for event in normalizer.feed(frame)] == []
    assert [to_builtins(event) for event in normalizer.close("cut")] == [
        {"kind": "incomplete", "end": "cut", "rest": '{"type'}
    ]


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        (f"glued{INIT}\n", Identity("gemini-cli", True, True)),
        (DOCUMENT, Identity("gemini-cli", True)),
        (f"noise\n{DOCUMENT}", Identity("gemini-cli", True)),
        ('{"session_id": "s", "error": {"message": "no"}}', Identity("gemini-cli", True)),
        ('{"session_id": "s"}', Identity(None, False)),
        ('{"type": "init"}', Identity(None, False)),
    ],
)
def test_the_output_is_detected_by_its_content(body: str, identity: Identity) -> None:
    assert detect_provider("", "", b"", body.encode()) == identity


# The independent reader of the same output

SHIPPED = sorted((Path(__file__).parents[2] / "cassettes" / "gemini-cli").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_law_holds_for_the_shipped_runs(path: Path, dialect: str) -> None:
    assert [
        finding
        for exchange in load(path).exchanges
        for finding in check(exchange, EVENTS, ADAPTERS[dialect])
    ] == []


@pytest.mark.parametrize(
    "kind",
    [
        "start",
        "metadata",
        "text",
        "call_start",
        "tool_result",
        "usage",
        "finish",
        "unknown",
        "notice",
    ],
)
def test_an_event_that_is_left_out_is_a_loss(kind: str) -> None:
    body = "\n".join(
        [
            "noise" + INIT,
            line("message", role="user", content="p"),
            TEXT,
            line("error", severity="warning", message="w"),
            line("tool_use", tool_name="f", tool_id="1", parameters={"a": 1}),
            line("tool_result", tool_id="1", status="success"),
            RESULT,
        ]
    )
    wire, all_events = facts_of_body(body.encode(), "gemini-cli"), events(*body.split("\n"))
    assert losses(wire, all_events, "events", program=True) == []
    kept = [event for event in all_events if event["kind"] != kind]
    assert losses(wire, kept, "events", program=True) != []


def test_the_reader_sees_a_document_with_its_error() -> None:
    facts = gather_cli(
        b'x\n{\n  "response": "Hi",\n  "stats": {"models": {"m": {"tokens": {"prompt": 3}}}},\n  "error": {"message": "no"}\n}\n'
    )
    assert (facts.text, facts.errors, facts.usage, facts.unreadable) == (
        "Hi",
        [(None, "no")],
        {"promptTokenCount": 3},
        ["x"],
    )
