"""The lines beside a red finding are those around its place, or those with its values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from harness.facts import (
    Call,
    Entry,
    Finding,
    Finish,
    Place,
    Raised,
    Text,
    Transcript,
    Usage,
    call_value,
    error_finding,
)
from harness.judging.aspects import conditions_of, judge_transcript
from harness.judging.excerpts import (
    SHOWN,
    WIDTH,
    at_next_message,
    excerpts_of_answer,
    excerpts_of_request,
    native_lines,
)
from harness.judging.reading import Reading
from harness.judging.rows import LayerView
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import made_facts


def answer(*frames: Json) -> Exchange:
    body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames)
    return Exchange(None, 200, {}, ((None, body.encode()),), provider="gemini-api", generates=True)


def wire_view(finding: Finding, *frames: Json) -> LayerView:
    excerpts = excerpts_of_answer([finding], Reading(answer(*frames)), Transcript())
    return excerpts[finding.subject][0]


def test_the_lines_around_the_value_of_a_finding_are_shown() -> None:
    frames: list[Json] = [{"line": number} for number in range(20)]
    frames[11] = {"x": "x" * 400, "finish": "MAX_TOKENS", "y": "y" * 400}
    finding = Finding("finish", "wrong", "finish", "MAX_TOKENS", "stop")
    view = wire_view(finding, *frames)
    assert (view.layer, view.start, view.total, view.first) == ("frames", 9, 20, 11)
    assert len(view.lines) == SHOWN
    assert "MAX_TOKENS" in view.lines[2]
    assert view.lines[2].startswith("… x")
    assert view.lines[2].endswith(r"y … (852 characters) \n\n")
    assert len(view.lines[2]) < WIDTH + 45


def test_empty_fields_of_a_native_event_are_left_out() -> None:
    native = {"text": "Oslo", "id": None, "n": 0, "ok": False, "more": {"tags": [], "name": ""}}
    empty = {"text": "", "id": None}
    entries = (Entry(native, (Text("Oslo"),)), Entry(empty, (Finish("x"),)))
    assert native_lines(Transcript(entries)) == [
        '{"text": "Oslo", "n": 0, "ok": false}',
        '{"text": "", "id": null}',
    ]


def test_a_lost_value_of_a_header_is_shown_in_its_header() -> None:
    tier = {"X-Gemini-Service-Tier": ["priority"]}
    wire = {"missing": 1, "of": 1, "first": "priority"}
    finding = Finding("billing", "lost", "values-missing", wire)
    exchange = replace(answer({"line": 1}), headers=tier)
    view = excerpts_of_answer([finding], Reading(exchange), Transcript())["billing"][0]
    assert view.lines == ("X-Gemini-Service-Tier: priority",)
    in_body = replace(answer({"tier": "priority"}), headers=tier)
    view = excerpts_of_answer([finding], Reading(in_body), Transcript())["billing"][0]
    assert view.lines == (r'data: {"tier": "priority"}\n\n',)


def test_the_event_of_a_finish_or_a_count_is_the_last_one_that_states_it() -> None:
    entries = (
        Entry({"n": "content_block_stop"}),
        Entry({"end": "stop"}, (Finish("stop"), Usage(input=2))),
        Entry({"n": "message_stop", "input": 3}),
    )
    for finding in (
        Finding("finish", "lost", "finish", "MAX_TOKENS", "stop"),
        Finding("usage", "wrong", "counts", {"input": 3}, {"input": 2}),
    ):
        _, native, _ = excerpts_of_answer([finding], Reading(answer({})), Transcript(entries))[
            finding.subject
        ]
        assert native.first == 1


START = {"type": "content_block_start", "content_block": {"type": "thinking"}}


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([{"a": "Hi"}, {"a": "!"}, START, {"a": "Hi"}], "content_block_start (thinking)"),
        ([{"a": "Hi"}, {"a": "!"}, {"c": {"b": 1}}, {"d": 1}], "the first with the field c"),
        ([{"a": "Hi"}, {"a": "!"}, {"a": "?"}, {"d": 1}], ""),
    ],
)
def test_an_exception_in_a_stream_shows_the_message_at_which_it_was_raised(
    frames: list[Json], message: str
) -> None:
    entries = (Entry({"n": 1}, (Text("Hi"),)), Entry({"n": 2}, (Text("!"),)))
    transcript = Transcript(entries, Raised("KeyError", "'signature'", crash=True))
    finding = Finding("text", "raised", "crash", adapter={"words": "KeyError", "type": "KeyError"})
    (found,) = at_next_message([finding], Reading(answer(*frames)), transcript)
    assert found.place.message == message
    assert excerpts_of_answer([found], Reading(answer(*frames)), transcript)["text"][0].first == 2
    assert found.note.endswith(message)
    assert (found.group == finding.group) == (not message)


def test_the_line_end_of_a_cut_line_is_shown_once() -> None:
    finding = Finding("finish", "wrong", "finish", "MAX_TOKENS", "stop")
    view = wire_view(finding, {"y": "y" * 400, "finish": "MAX_TOKENS"})
    (line,) = view.lines
    assert line.endswith(r'yyy", "finish": "MAX_TOKENS"} (443 characters) \n\n')


def test_the_event_of_a_call_whose_id_is_lost_is_that_of_the_call() -> None:
    calls = tuple(Entry({"run": name}, (Call(None, name, {}),)) for name in ("f", "g"))
    transcript = Transcript((*calls, Entry({"end": True})))
    for lost, first in (
        (Finding("ids", "lost", "id-missing", "x7", place=Place(call=2)), 1),
        (Finding("ids", "lost", "ids-missing", {"missing": 1, "of": 3, "first": "x7"}), 0),
        (Finding("finish", "lost", "no-finish", "STOP"), None),
    ):
        _, native, _ = excerpts_of_answer([lost], Reading(answer({})), transcript)[lost.subject]
        assert native.first == first


def test_without_a_line_that_has_a_value_the_last_lines_are_shown() -> None:
    finding = Finding("finish", "lost", "no-finish", "MAX_TOKENS")
    view = wire_view(finding, *({"line": number} for number in range(9)))
    assert (view.start, view.first) == (9 - SHOWN, None)
    assert view.lines[-1] == 'data: {"line": 8}\\n\\n'


def test_a_value_with_characters_that_json_escapes_is_found() -> None:
    finding = Finding("calls", "lost", "calls-missing", {"first": call_value('a"b\\c\n', {})})
    frames = ({"name": "other"}, {"name": 'a"b\\c\n'}, {"name": "last"})
    assert wire_view(finding, *frames).first == 1


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (
            b'data: {"n": 1}\r\n\r\ndata: {"n": 2}\r\n\r\n',
            ['data: {"n": 1}\\r\\n\\r\\n', 'data: {"n": 2}\\r\\n\\r\\n'],
        ),
        (
            b'event: a\ndata: {"n": 1}\n\nevent: b\ndata: {"n": 2}',
            ['event: a\\ndata: {"n": 1}\\n\\n', 'event: b\\ndata: {"n": 2}'],
        ),
        (b'[{"n":1},\r\n{"n":2}]', ['[{"n":1},\\r\\n', '{"n":2}]']),
        (b'{"n":\n  1}', ['{"n":\\n  1}']),
    ],
)
def test_the_lines_of_the_wire_are_its_bytes_with_their_line_ends(
    body: bytes, lines: list[str]
) -> None:
    exchange = Exchange(None, 200, {}, ((None, body),), provider="gemini-api", generates=True)
    finding = Finding("finish", "lost", "no-finish", "STOP")
    view = excerpts_of_answer([finding], Reading(exchange), Transcript())["finish"][0]
    assert list(view.lines) == lines


@pytest.mark.parametrize("name", ["wire", "adapter", "the", "12 calls lost: x", "{adapter}", "0"])
def test_a_value_that_is_a_word_of_our_sentences_is_found(name: str) -> None:
    finding = Finding("calls", "wrong", "calls", [call_value(name, {"key": "value"})], [])
    frames = ({"text": "a call"}, {"name": name, "args": {"key": "value"}}, {"text": "end"})
    assert wire_view(finding, *frames).first == 1


def test_the_excerpt_begins_at_the_first_piece_that_is_lost() -> None:
    pieces = ["Of", " course,", " but also Jupiter, Uranus and Neptune.", ""]
    exchange = answer(
        *({"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces)
    )
    kept = (pieces[0], *pieces[2:])
    transcript = Transcript(tuple(Entry({"text": piece}, (Text(piece),)) for piece in kept))
    reading = Reading(exchange)
    judged = judge_transcript(reading.facts, conditions_of(reading, transcript), transcript)
    views = excerpts_of_answer(judged.values(), Reading(exchange), transcript)["text"]
    assert [view.layer for view in views] == ["frames", "native", "facts"]
    assert [view.first for view in views] == [1, 1, 0]


def test_only_red_findings_of_aspects_have_an_excerpt() -> None:
    kept = Finding("text", "kept")
    declared = Finding("ids", "not_carried", "declared", "ids")
    findings = [kept, declared, error_finding("it hung")]
    assert excerpts_of_answer(findings, Reading(answer({})), Transcript()) == {}
    assert excerpts_of_request(findings, Reading(answer({})), {"contents": []}) == {}


def test_a_request_has_a_line_for_each_content() -> None:
    request = {"contents": [{"role": "user"}, {"role": "model"}], "tools": [{}], "model": "x"}
    lines = (
        "tools[0] {}",
        'model "x"',
        'contents[0] {"role": "user"}',
        'contents[1] {"role": "model"}',
    )
    lost = Finding("text", "lost", "sent-text", "not there", "")
    for sent, shown in (
        (request, lines),
        ({"request": request}, tuple(f"request.{line}" for line in lines)),
    ):
        wire, requests = excerpts_of_request([lost], Reading(answer({})), sent)["text"]
        assert (wire.layer, requests.layer, requests.lines) == ("frames", "requests", shown)


def test_the_marked_line_of_a_request_is_the_content_of_the_call() -> None:
    """The value of the finding is in no line, so only the number of the content has the place."""
    call = {"functionCall": {"name": "f", "args": {}}}
    parts = [call, call]
    request = {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": parts[:1]},
            {"role": "model", "parts": parts[1:]},
        ],
        "tools": [{}, {}],
    }
    facts = made_facts(calls=[("f", {}), ("f", {})], marks=[(None, None), (None, "U0lH")])
    finding = judge_second_turn(facts, request)["signatures"]
    assert (finding.reason, finding.place) == ("signature-not-sent", Place(call=2, content=2))
    _, requests = excerpts_of_request([finding], Reading(answer({})), request)["signatures"]
    assert requests.first == 4
    assert requests.lines[4 - requests.start].startswith("contents[2] ")


def test_the_exception_of_a_run_is_a_line_of_the_native_events() -> None:
    raised = Raised("KeyError", "'args'", None)
    transcript = Transcript((Entry({"n": 1}, (Call(None, "weather", {}),)),), raised=raised)
    lost = Finding("calls", "lost", "calls-missing", {"first": call_value("weather", {})})
    _, native, facts = excerpts_of_answer([lost], Reading(answer({})), transcript)["calls"]
    assert native.lines == ('{"n": 1}', "raised KeyError: 'args'")
    assert (facts.lines, facts.first) == (
        ('{"call": {"id": null, "name": "weather", "arguments": {}}}',),
        0,
    )
