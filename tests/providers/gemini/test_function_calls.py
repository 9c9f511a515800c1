"""Calls whose arguments come in pieces, calls beside the parts, and calls that a model wrote as
text.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness import Exchange, replay
from harness.adapters import ADAPTERS, RunOptions, Subject
from harness.dialects import DIALECTS
from harness.judging.laws.loss import loss_findings
from harness.judging.laws.success import success_findings
from harness.providers import PROVIDERS
from harness.stream.events import End
from tests.support.normalizing import Json, call, candidate, content, parts

CODE = {"executableCode": {"language": "PYTHON", "code": "1+1"}}
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AQID"}}

# Calls whose arguments are streamed


def streamed(*calls: Json) -> list[Json]:
    return content(*[parts({"functionCall": call}) for call in calls])


def piece(number: int, path: str, value: Json, more: bool = False) -> Json:
    return {
        "kind": "call_piece",
        "call": number,
        "path": path,
        **({} if value is None else {"value": value}),
        **({"more": True} if more else {}),
    }


def text_piece(path: str, text: str, more: bool = True) -> Json:
    return {
        "partialArgs": [
            {"jsonPath": path, "stringValue": text, **({"willContinue": True} if more else {})}
        ],
        "willContinue": True,
    }


START = {"kind": "call_start", "call": 1, "name": "f"}


def test_arguments_in_pieces() -> None:
    messages = [
        parts({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "S"}),
        parts({"functionCall": text_piece("$.location", "Bos")}),
        parts({"functionCall": text_piece("$.location", "ton")}),
        parts({"functionCall": text_piece("$.location", "", more=False)}),
        parts(
            {
                "functionCall": {
                    "partialArgs": [{"jsonPath": "$.days", "numberValue": 3}],
                    "willContinue": True,
                }
            }
        ),
        candidate(content={"parts": [{"functionCall": {}}]}, finishReason="STOP"),
    ]
    assert content(*messages) == [
        {**START, "signature": "S"},
        piece(1, "$.location", "Bos", more=True),
        piece(1, "$.location", "ton", more=True),
        piece(1, "$.location", ""),
        piece(1, "$.days", 3),
        {"kind": "call_end", "call": 1, "arguments": {"location": "Boston", "days": 3}},
        {"kind": "finish", "reason": "stop", "raw": "STOP"},
    ]


OPENING = parts({"functionCall": {"name": "f", "willContinue": True}})
END_OF_CALL = {"kind": "call_end", "call": 1, "arguments": {}}


@pytest.mark.parametrize(
    ("closing", "expected"),
    [
        (parts({"functionCall": {}}), [END_OF_CALL]),
        (parts({"functionCall": {"willContinue": False}}), [END_OF_CALL]),
        (parts({"functionCall": {"name": "f"}}), [END_OF_CALL, *call(2, "f", {})]),
        (parts({"functionCall": {"name": "g", "args": {}}}), [END_OF_CALL, *call(2, "g", {})]),
        (
            candidate(finishReason="STOP"),
            [END_OF_CALL, {"kind": "finish", "reason": "stop", "raw": "STOP"}],
        ),
        (parts({"text": "x"}), [END_OF_CALL, {"kind": "text", "text": "x"}]),
        (
            parts({"text": "", "thoughtSignature": "S"}),
            [END_OF_CALL, {"kind": "text", "text": "", "signature": "S"}],
        ),
        (parts({"text": "", "thought": True}), [END_OF_CALL, {"kind": "reasoning", "text": ""}]),
        (parts(CODE), [END_OF_CALL, {"kind": "code", "code": "1+1", "raw": CODE}]),
        (
            {"usageMetadata": {"promptTokenCount": 1}},
            [{"kind": "usage", "raw": {"promptTokenCount": 1}, "input": 1}, END_OF_CALL],
        ),
        (
            parts({"text": ""}),
            [{"kind": "annotation", "name": "part", "raw": {"text": ""}}, END_OF_CALL],
        ),
    ],
)
def test_the_ends_of_a_streamed_call(closing: Json, expected: list[Json]) -> None:
    assert content(OPENING, closing) == [START, *expected]


@pytest.mark.parametrize("end", ["cut", "reset", "aborted"])
def test_an_interrupted_call_does_not_end(end: End) -> None:
    assert content(OPENING, end=end) == [START, {"kind": "incomplete", "end": end}]


def test_an_error_does_not_end_a_call() -> None:
    events = content(OPENING, {"error": {"code": 503, "message": "overloaded"}})
    assert [event["kind"] for event in events] == ["call_start", "error"]


def test_an_end_that_is_not_known_ends_a_call() -> None:
    assert content(OPENING, end="unknown") == [START, END_OF_CALL]


def test_pieces_of_every_type_find_their_place() -> None:
    pieces = [
        {"jsonPath": "$.ops[0].name", "stringValue": "a"},
        {"jsonPath": "$['ops'][0]['size']", "numberValue": 1.5},
        {
            "json_path": "$.ops[1].name",
            "string_value": "b",
            "number_value": None,
            "bool_value": None,
            "null_value": None,
        },
        {"jsonPath": "$.deep['a b'].c", "boolValue": False},
        {"jsonPath": "$.none", "nullValue": None},
        {"jsonPath": "$.none2", "nullValue": "NULL_VALUE"},
    ]
    events = streamed(
        {"name": "f", "willContinue": True}, {"willContinue": True}, {"partialArgs": pieces}
    )
    assert events[1] == piece(1, "", None)
    assert [event["kind"] for event in events] == ["call_start", *["call_piece"] * 7, "call_end"]
    assert events[-1]["arguments"] == {
        "ops": [{"name": "a", "size": 1.5}, {"name": "b"}],
        "deep": {"a b": {"c": False}},
        "none": None,
        "none2": None,
    }


def test_an_unknown_field_beside_a_null_takes_nothing_away() -> None:
    news = {"jsonPath": "$.b", "nullValue": None, "news": 1}
    events = streamed({"name": "f", "willContinue": True}, {"partialArgs": [news]}, {})
    assert events[-1]["arguments"] == {"b": None}
    assert [event["raw"] for event in events if event["kind"] == "unknown"] == [{"news": 1}]


@pytest.mark.parametrize(
    "wire",
    [
        {"jsonPath": "$.a.b", "stringValue": "x"},
        {"jsonPath": "$.a", "numberValue": 1},
        {"jsonPath": "$.*", "numberValue": 1},
        {"jsonPath": "$", "numberValue": 1},
        {"jsonPath": "a", "stringValue": "x"},
        {"jsonPath": 5, "stringValue": "x"},
        {"jsonPath": "$.b"},
        {"jsonPath": "$.b", "stringValue": "x", "numberValue": 1},
        {"jsonPath": "$.b", "stringValue": 1},
        {"jsonPath": "$.b", "boolValue": "true"},
        {"stringValue": "x"},
        "$.b",
        [],
    ],
)
def test_a_piece_without_a_place_is_unknown_and_the_call_continues(wire: Json) -> None:
    events = streamed(
        {"name": "f", "willContinue": True},
        text_piece("$.a", "1"),
        {"partialArgs": [wire], "willContinue": True},
        {},
    )
    assert events[2] == {"kind": "unknown", "where": "call piece", "raw": wire}
    assert events[3] == {"kind": "call_end", "call": 1, "arguments": {"a": "1"}}


def test_an_unknown_field_of_a_piece_does_not_cost_the_argument() -> None:
    events = streamed(
        {"name": "f", "partialArgs": [{"jsonPath": "$.a", "boolValue": True, "odd": 1}]}
    )
    unknown = {"kind": "unknown", "where": "call piece field odd", "raw": {"odd": 1}}
    assert events == [
        START,
        piece(1, "$.a", True),
        unknown,
        {"kind": "call_end", "call": 1, "arguments": {"a": True}},
    ]


def test_whole_arguments_beside_pieces_are_pieces_too() -> None:
    wire = {"name": "f", "args": {"a b": [1]}, "willContinue": True}
    assert streamed(wire, {"partialArgs": [{"jsonPath": "$['a b'][1]", "numberValue": 2}]}) == [
        START,
        piece(1, "$['a b']", [1]),
        piece(1, "$['a b'][1]", 2),
        {"kind": "call_end", "call": 1, "arguments": {"a b": [1, 2]}},
    ]
    assert wire["args"] == {"a b": [1]}


def test_the_id_decides_whether_a_repeated_name_continues_a_call() -> None:
    first = {"id": "1", "name": "f", "willContinue": True}
    assert streamed(first, {**first, **text_piece("$.a", "x")}, {}) == [
        {**START, "id": "1"},
        piece(1, "$.a", "x", more=True),
        {"kind": "call_end", "call": 1, "arguments": {"a": "x"}},
    ]
    assert [event["kind"] for event in streamed(first, {**first, "id": "2"})] == [
        "call_start",
        "call_end",
    ] * 2


@pytest.mark.parametrize("wire", [{"willContinue": True}, text_piece("$.a", "x"), {"id": "x"}])
def test_a_piece_without_a_call_is_unknown(wire: Json) -> None:
    assert streamed(wire) == [
        {"kind": "unknown", "where": "call without a beginning", "raw": {"functionCall": wire}}
    ]


@pytest.mark.parametrize("wire", ["f()", ["f"], 7, {"name": 5}, {"name": ["f"], "args": {"a": 1}}])
def test_a_call_without_an_object_or_a_name_that_is_text_is_invalid(wire: Json) -> None:
    text = wire if isinstance(wire, str) else json.dumps(wire)
    assert streamed(wire) == [
        {"kind": "call_start", "call": 1, "name": ""},
        {"kind": "call_invalid", "call": 1, "text": text},
    ]


def test_a_late_id_is_unknown_and_the_call_continues() -> None:
    unknown = {"kind": "unknown", "where": "call field id", "raw": {"id": "late"}}
    assert streamed(
        {"name": "f", "willContinue": True}, {"id": "late", "willContinue": True}, {}
    ) == [
        START,
        piece(1, "", None),
        unknown,
        END_OF_CALL,
    ]


def test_a_signature_is_passed_on_once() -> None:
    both = {**IMAGE, **CODE, "thoughtSignature": "S"}
    assert [event.get("signature") for event in content(parts(both))] == ["S", None]
    first = {"functionCall": {"name": "f", **text_piece("$.a", "x")}, "thoughtSignature": "S"}
    assert [event.get("signature") for event in content(parts(first))] == ["S", None, None]


def test_a_second_end_of_a_call_gives_no_event() -> None:
    assert streamed({"name": "f"}, {}) == call(1, "f", {})


def test_a_signature_on_a_later_piece_follows_the_call() -> None:
    events = content(OPENING, parts({"functionCall": {}, "thoughtSignature": "S"}))
    assert events == [START, END_OF_CALL, {"kind": "text", "text": "", "signature": "S"}]


def test_another_candidate_does_not_break_the_answers_call() -> None:
    part = {"text": "x"}
    other = {"candidates": [{"index": 1, "content": {"parts": [part]}}]}
    assert content(OPENING, other) == [
        START,
        {
            "kind": "unknown",
            "where": "content inside a call of another candidate",
            "raw": part,
            "candidate": 1,
        },
        END_OF_CALL,
    ]


def test_calls_beside_the_candidates_belong_to_the_answer() -> None:
    message = {
        **candidate(content={"parts": [{"text": "x"}]}, finishReason="STOP"),
        "functionCalls": [{"name": "f"}, {"name": "g"}],
    }
    expected = [
        {"kind": "text", "text": "x"},
        *call(1, "f", {}),
        *call(2, "g", {}),
        {"kind": "finish", "reason": "stop", "raw": "STOP"},
    ]
    assert content(message) == expected
    assert content({"function_calls": [{"name": "f", "args": {"a": 1}}]}) == call(1, "f", {"a": 1})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("city=Oslo", "city=Oslo"),
        ('{"city": ', '{"city": '),
        ("[1]", "[1]"),
        ("null", "null"),
        (["é"], '["é"]'),
        (5, "5"),
    ],
)
def test_arguments_that_are_no_object_make_a_call_invalid(arguments: Json, text: str) -> None:
    invalid = {"kind": "call_invalid", "call": 1, "text": text}
    part = {"functionCall": {"name": "f", "args": arguments}}
    assert content(parts(part)) == [START, invalid]
    assert content({"functionCalls": [part["functionCall"]]}) == [START, invalid]
    body = b"data: " + json.dumps(parts({**part, "thoughtSignature": "S"})).encode() + b"\n\n"
    for provider in ("gemini-api", "vertex-ai", "code-assist"):
        exchange = Exchange(None, 200, {}, ((None, body),), "complete", provider)
        for adapter in ADAPTERS.values():
            if adapter.facts:
                chosen = Subject(adapter, RunOptions(provider=provider))
                assert [*loss_findings(exchange, chosen)] == []


TEXT = {"args": "city=Oslo", "willContinue": True}


@pytest.mark.parametrize(
    ("calls", "text", "after"),
    [
        ([{"name": "f", **TEXT}], "city=Oslo", []),
        ([{"name": "f", **TEXT}, {}], "city=Oslo", []),
        ([{"name": "f", "args": [1], "willContinue": True}, {}], "[1]", []),
        ([{"name": "f", "willContinue": True}, TEXT, {}], "city=Oslo", []),
        (
            [{"name": "f", **text_piece("$.a", "é")}, {"args": "}"}],
            '{"a": "é"}}',
            [],
        ),
        (
            [{"name": "f", "args": "x", **text_piece("$.a", "y")}],
            "x",
            [{"kind": "unknown", "where": "call field partialArgs"}],
        ),
        (
            [{"name": "f", **TEXT}, {"args": "more"}],
            "city=Oslo",
            [{"kind": "unknown", "where": "call without a beginning"}],
        ),
        ([{"name": "f", **TEXT}, {"name": "g"}], "city=Oslo", call(2, "g", {})),
    ],
)
def test_a_streamed_call_with_text_for_arguments_is_invalid(
    calls: list[Json], text: str, after: list[Json]
) -> None:
    invalid = {"kind": "call_invalid", "call": 1, "text": text}
    events = [event for event in streamed(*calls) if event["kind"] != "call_piece"]
    assert [{**event, "raw": 0} for event in events] == [
        {**event, "raw": 0} for event in [START, invalid, *after]
    ]
    messages = [parts({"functionCall": item}) for item in calls]
    messages.append(candidate(finishReason="STOP"))
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    exchange = Exchange(None, 200, {}, ((None, body),), "complete", provider="vertex-ai")
    for adapter in (adapter for adapter in ADAPTERS.values() if adapter.facts):
        chosen = Subject(adapter, RunOptions(provider="vertex-ai"))
        assert [*loss_findings(exchange, chosen), *success_findings(exchange, chosen)] == []


@pytest.mark.parametrize("arguments", ["", " \n", "{}", None, {}])
def test_blank_arguments_count_as_no_arguments(arguments: Json) -> None:
    assert streamed({"name": "f", "args": arguments}) == call(1, "f", {})


# Calls in text


def blocks(*texts: str, **settings: Any) -> list[Json]:
    return content(*[parts({"text": text}) for text in texts], tool_code=True, **settings)


RAW = '<tool_code>{"todos": []}</tool_code>'
NAMELESS = {"kind": "nameless_call", "call": 1, "payload": {"todos": []}, "raw": RAW}


def text(words: str, **more: Json) -> Json:
    return {"kind": "text", "text": words, **more}


@pytest.mark.parametrize("cut", range(len(RAW) + 1))
def test_a_block_with_any_cuts_is_a_call(cut: int) -> None:
    assert blocks("a" + RAW[:cut], RAW[cut:] + "b") in (
        [text("a"), NAMELESS, text("b")],
        [text("a"), NAMELESS, text("b")],
    )


def test_code_assist_looks_for_blocks_and_others_do_not() -> None:
    assert {name for name, provider in PROVIDERS.items() if provider.tool_code} == {"code-assist"}
    assert content(parts({"text": RAW})) == [text(RAW)]


def test_a_block_that_names_its_tool_is_a_call() -> None:
    assert blocks('<tool_code>{"tool_name": "f", "parameters": {"a": 1}, "id": 7}</tool_code>') == [
        *call(1, "f", {"a": 1}),
        {"kind": "unknown", "where": "tool_code field id", "raw": {"id": 7}},
    ]


def test_a_block_of_no_known_form_is_text_in_its_place() -> None:
    assert blocks("a<tool_code>oops</tool_code>b") == [
        text("a"),
        text("<tool_code>oops</tool_code>"),
        text("b"),
    ]


def test_thoughts_are_never_searched() -> None:
    thought = {"text": RAW, "thought": True}
    assert content(parts(thought), tool_code=True) == [{"kind": "reasoning", "text": RAW}]


@pytest.mark.parametrize("held", ["<tool_code>{", "<tool_co", "x<"])
@pytest.mark.parametrize(
    ("after", "kinds"),
    [
        (candidate(finishReason="STOP"), ["finish"]),
        (parts({"text": "t", "thought": True}), ["reasoning"]),
        (parts({"functionCall": {"name": "f"}}), ["call_start", "call_end"]),
        (parts(CODE), ["code"]),
        (parts({"qux": 1}), ["unknown"]),
        ({"error": {"message": "x"}}, ["error"]),
    ],
)
def test_held_back_text_precedes_the_next_event(held: str, after: Json, kinds: list[str]) -> None:
    events = content(parts({"text": held}), after, tool_code=True)
    texts = [event for event in events if event["kind"] == "text"]
    assert "".join(event["text"] for event in texts) == held
    assert [event["kind"] for event in events[len(texts) :]] == kinds


def test_text_held_back_at_the_end_is_text() -> None:
    assert blocks("x<tool_code>{", " }") == [text("x"), text("<tool_code>{ }")]
    assert blocks("x<tool_code>{", end="cut") == [
        text("x"),
        text("<tool_code>{"),
        {"kind": "incomplete", "end": "cut"},
    ]


def test_a_signature_goes_to_the_last_event_of_its_part() -> None:
    def signed(words: str) -> list[Json]:
        return content(parts({"text": words, "thoughtSignature": "S"}), tool_code=True)

    assert signed("a" + RAW) == [text("a"), {**NAMELESS, "signature": "S"}]
    assert signed(RAW + "a") == [NAMELESS, text("a", signature="S")]
    assert signed("<tool_code>f(a=1)</tool_code>") == call(1, "f", {"a": 1}, signature="S")
    assert signed("<tool") == [text("", signature="S"), text("<tool")]
    assert signed("") == [text("", signature="S")]


def test_each_candidate_is_searched_separately() -> None:
    def message(first: str, second: str) -> Json:
        return {
            "candidates": [
                {"content": {"parts": [{"text": words}]}, "index": index}
                for index, words in enumerate((first, second))
            ]
        }

    assert content(message("<tool_", RAW), message("code>{}</tool_code>", "x"), tool_code=True) == [
        {**NAMELESS, "candidate": 1},
        {"kind": "nameless_call", "call": 2, "payload": {}, "raw": "<tool_code>{}</tool_code>"},
        text("x", candidate=1),
    ]


FAR = {"jsonPath": "$.a[9999]", "stringValue": "x"}
FARTHER = {"jsonPath": "$.b[10001]", "stringValue": "é"}
BEYOND = {
    "kind": "unknown",
    "where": "call pieces beyond the limit",
    "raw": {"partialArgs": {"count": 2, "bytes": 94}},
}


@pytest.mark.parametrize(
    ("last", "end", "following"),
    [
        (candidate(finishReason="STOP"), "complete", None),
        (parts({"functionCall": {}}), "cut", {"kind": "incomplete", "end": "cut"}),
        ({"error": {"message": "m"}}, "complete", {"kind": "error", "message": "m"}),
    ],
)
def test_pieces_beyond_the_limit_are_one_event_of_the_answer(
    last: Json, end: End, following: Json
) -> None:
    events = content(
        OPENING,
        parts({"functionCall": {"partialArgs": [FARTHER], "willContinue": True}}),
        parts({"functionCall": {"partialArgs": [FAR, FARTHER], "willContinue": True}}),
        last,
        end=end,
    )
    (place,) = [at for at, event in enumerate(events) if event["kind"] == "unknown"]
    assert events[place] == BEYOND
    after = [{key: event[key] for key in following or ()} for event in events[place + 1 :]]
    assert after == ([following] if following else [])


def many_pieces(count: int, per_call: int, per_frame: int) -> bytes:
    """Pieces that each skip 9999 elements, as calls of this many pieces, in frames of this many
    calls.
    """
    calls = [
        {
            "functionCall": {
                "name": "f",
                "partialArgs": [
                    {"jsonPath": f"$.a{at}[9999]", "stringValue": "x"} for at in range(per_call)
                ],
            }
        }
    ] * (count // per_call)
    frames = [calls[at : at + per_frame] for at in range(0, len(calls), per_frame)]
    return b"".join(
        b"data: " + json.dumps({"candidates": [{"content": {"parts": parts}}]}).encode() + b"\n\n"
        for parts in frames
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("per_call", "per_frame", "placed"),
    [(1, 10_000, 50), (1, 1, 50), (10_000, 1, 1), (100, 10, 50)],
)
def test_the_gaps_of_all_calls_of_an_answer_are_bounded(
    per_call: int, per_frame: int, placed: int
) -> None:
    body = many_pieces(10_000, per_call, per_frame)
    body += b'data: {"candidates": [{"finishReason": "STOP"}]}\n\n'
    exchange = Exchange(None, 200, {}, ((None, body),), "complete")
    events = replay(exchange, layer="events", provider="vertex-ai")
    (unknown,) = [event["raw"] for event in events if event["kind"] == "unknown"]
    assert unknown["partialArgs"]["count"] == 10_000 - placed
    assert len(json.dumps(events)) < 20_000_000
    for dialect in DIALECTS:
        payloads = replay(exchange, dialect=dialect, provider="vertex-ai")
        assert len(json.dumps(payloads)) < 20_000_000
