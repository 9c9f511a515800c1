"""Every word, part, error and count of Gemini's wire becomes the canonical events that it means, whoever spelled it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from msgspec import to_builtins

from harness.events import End, Event, out_of_order
from harness.framing import Frame
from harness.providers import PROVIDERS, Answer, Identity, Normalizer, declared_tools, identify
from harness.session import Tool

Json = Any


def frame(message: Json) -> Frame:
    return Frame(0, None, message) if isinstance(message, str) else Frame(0, message)


def read(*messages: Json, status: int = 200, end: End = "complete", tool_code: bool = False, headers: dict[str, str] | None = None) -> list[Json]:
    """All events of some messages, as plain data; a string is a frame that is no JSON."""
    normalizer = PROVIDERS["gemini-api"].normalizer(Answer(status, headers or {}, None, tool_code))
    return read_with(normalizer, [frame(message) for message in messages], end)


def read_with(normalizer: Normalizer, frames: list[Frame], end: End = "complete") -> list[Json]:
    before = deepcopy([one.json for one in frames])
    events: list[Event] = [event for one in frames for event in normalizer.feed(one)]
    events += normalizer.close(end)
    assert [one.json for one in frames] == before
    plain = [to_builtins(event) for event in events]
    assert out_of_order([event["kind"] for event in plain]) is None, plain
    return plain


def candidate(**fields: Json) -> Json:
    return {"candidates": [fields]}


def parts(*given: Json) -> Json:
    return candidate(content={"parts": list(given), "role": "model"})


def content(*messages: Json, **settings: Any) -> list[Json]:
    """What `read` gives, without the `start` that comes first."""
    first, *others = read(*messages, **settings)
    assert first["kind"] == "start"
    return others


def call(number: int, name: str, arguments: Json, **more: Json) -> list[Json]:
    return [{"kind": "call_start", "call": number, "name": name, **more}, {"kind": "call_end", "call": number, "arguments": arguments}]


# Order and metadata


def test_a_message_comes_out_as_start_usage_content_finish() -> None:
    message = {
        "candidates": [{"content": {"parts": [{"text": "Hi"}], "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1},
        "modelVersion": "gemini-3.8-flash",
        "responseId": "r",
    }
    assert read(message) == [
        {"kind": "start", "model": "gemini-3.8-flash", "id": "r"},
        {"kind": "usage", "raw": {"promptTokenCount": 1}, "input": 1},
        {"kind": "text", "text": "Hi"},
        {"kind": "finish", "reason": "stop", "raw": "STOP"},
    ]


def test_facts_about_the_reply_come_once_and_again_when_they_change() -> None:
    first = {"modelVersion": "a", "responseId": "1", "createTime": "t", **parts({"text": "x"})}
    assert read(first, first, {**first, "responseId": "2"}, parts({"text": "y"})) == [
        {"kind": "start", "model": "a", "id": "1"},
        {"kind": "metadata", "name": "created", "raw": {"createTime": "t"}},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "x"},
        {"kind": "metadata", "name": "id", "raw": {"responseId": "2"}},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "y"},
    ]


def test_a_model_that_is_named_late_is_metadata() -> None:
    assert read(parts({"text": "x"}), {"modelVersion": "a"})[-1] == {"kind": "metadata", "name": "model", "raw": {"modelVersion": "a"}}


METADATA = [
    ("created", {"createTime": "2026-11-01T10:00:00.123456Z"}),
    ("model_status", {"modelStatus": {"modelStage": "DEPRECATED", "retirementTime": "2026-12-01T00:00:00Z"}}),
    ("trace_id", {"traceId": "abc"}),
    ("credits", {"consumedCredits": [{"creditType": "GOOGLE_ONE_AI", "creditAmount": "12"}]}),
    ("credits", {"remainingCredits": [{"creditType": "GOOGLE_ONE_AI", "creditAmount": "988"}]}),
    ("envelope", {"metadata": {}}),
    ("envelope", {"sdk_http_response": {"headers": {"a": "b"}, "body": None}}),
    ("envelope", {"automatic_function_calling_history": [{"role": "user"}]}),
    ("envelope", {"parsed": {"ok": True}}),
]


@pytest.mark.parametrize(("name", "raw"), METADATA)
def test_metadata(name: str, raw: Json) -> None:
    assert read(raw, raw) == [{"kind": "start"}, {"kind": "metadata", "name": name, "raw": raw}]


# Finish and block reasons

FINISH_REASONS = {
    "FINISH_REASON_UNSPECIFIED": "other",
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "other",
    "OTHER": "other",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_OTHER": "other",
    "NO_IMAGE": "other",
    "IMAGE_RECITATION": "content_filter",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "TOO_MANY_TOOL_CALLS": "malformed",
    "MISSING_THOUGHT_SIGNATURE": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "ESCALATION": "other",
    "PUP_LIMITED_DISABLED": "other",
    "CONTINUATION": "continuation",
    "MODEL_ARMOR": "content_filter",
    "BRAND_NEW": "other",
    "stop": "other",
}


@pytest.mark.parametrize(("word", "kind"), FINISH_REASONS.items())
@pytest.mark.parametrize("key", ["finishReason", "finish_reason"])
def test_finish_reasons(key: str, word: str, kind: str) -> None:
    assert content(candidate(**{key: word})) == [{"kind": "finish", "reason": kind, "raw": word}]


@pytest.mark.parametrize(
    ("number", "kind", "word"),
    [
        (0, "other", "FINISH_REASON_UNSPECIFIED"),
        (1, "stop", "STOP"),
        (2, "length", "MAX_TOKENS"),
        (3, "content_filter", "SAFETY"),
        (4, "content_filter", "RECITATION"),
        (5, "other", "#5"),
        (-1, "other", "#-1"),
    ],
)
def test_numeric_finish_reasons(number: int, kind: str, word: str) -> None:
    assert content(candidate(finishReason=number)) == [{"kind": "finish", "reason": kind, "raw": word}]


def test_a_finish_message_goes_with_the_reason() -> None:
    reasoned = candidate(finishReason="STOP", finishMessage="Model generated function call(s).")
    assert content(reasoned) == [{"kind": "finish", "reason": "stop", "raw": "STOP", "message": "Model generated function call(s)."}]
    alone = candidate(finishMessage="why")
    assert content(alone) == [{"kind": "unknown", "where": "candidate field finishMessage", "raw": {"finishMessage": "why"}}]


@pytest.mark.parametrize("reason", [None, ""])
def test_no_finish_reason_is_none(reason: Json) -> None:
    assert content(candidate(finishReason=reason, content={"parts": [{"text": "x"}]})) == [{"kind": "text", "text": "x"}]


@pytest.mark.parametrize(
    "reason",
    "BLOCKED_REASON_UNSPECIFIED SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY MODEL_ARMOR JAILBREAK BRAND_NEW".split(),
)
def test_block_reasons(reason: str) -> None:
    assert content({"promptFeedback": {"blockReason": reason}}) == [{"kind": "blocked", "reason": reason}]
    both = {"prompt_feedback": {"block_reason": reason, "block_reason_message": "no"}}
    assert content(both) == [{"kind": "blocked", "reason": reason, "message": "no"}]


def test_prompt_feedback_without_a_reason_and_with_more_in_it() -> None:
    ratings = {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}
    assert content({"promptFeedback": {**ratings, "blockReason": 7, "odd": 1}}) == [
        {"kind": "annotation", "name": "safety_ratings", "raw": ratings, "candidate": -1},
        {"kind": "unknown", "where": "promptFeedback field odd", "raw": {"odd": 1}, "candidate": -1},
        {"kind": "blocked", "reason": "#7"},
    ]
    assert content({"promptFeedback": {"safetyRatings": []}}) == []


# Parts

IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AQID"}}
FILE = {"fileData": {"fileUri": "gs://b/f", "mimeType": "video/mp4", "displayName": "f"}}
CODE = {"executableCode": {"id": "c1", "language": "PYTHON", "code": "1+1"}}
CODE_RESULT = {"codeExecutionResult": {"id": "c1", "outcome": "OUTCOME_OK", "output": "2"}}
TOOL_CALL = {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}}
TOOL_RESPONSE = {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}}

PARTS: list[tuple[Json, list[Json]]] = [
    ({"text": "x"}, [{"kind": "text", "text": "x"}]),
    ({"text": ""}, [{"kind": "text", "text": ""}]),
    ({"text": " x\n"}, [{"kind": "text", "text": " x\n"}]),
    ({"text": "x", "thoughtSignature": "QQ=="}, [{"kind": "text", "text": "x", "signature": "QQ=="}]),
    ({"text": "x", "thought": True}, [{"kind": "reasoning", "text": "x"}]),
    ({"text": "x", "thought": False}, [{"kind": "text", "text": "x"}]),
    ({"text": "", "thought": True, "thoughtSignature": "QQ=="}, [{"kind": "reasoning", "text": "", "signature": "QQ=="}]),
    ({"thoughtSignature": "QQ=="}, [{"kind": "text", "text": "", "signature": "QQ=="}]),
    ({"thought": True}, [{"kind": "reasoning", "text": ""}]),
    ({"text": "x", "thoughtSignature": ""}, [{"kind": "text", "text": "x"}]),
    ({"text": None, "functionCall": None, "thought": None}, []),
    ({}, []),
    (IMAGE, [{"kind": "media", "mime_type": "image/png", "raw": IMAGE, "data": "AQID"}]),
    (FILE, [{"kind": "media", "mime_type": "video/mp4", "raw": FILE, "uri": "gs://b/f"}]),
    ({**IMAGE, "thought": True}, [{"kind": "media", "mime_type": "image/png", "raw": {**IMAGE, "thought": True}, "data": "AQID", "thought": True}]),
    (CODE, [{"kind": "code", "code": "1+1", "raw": CODE}]),
    (CODE_RESULT, [{"kind": "code_result", "outcome": "OUTCOME_OK", "output": "2", "raw": CODE_RESULT}]),
    (
        {"codeExecutionResult": {"outcome": 2}},
        [{"kind": "code_result", "outcome": "#2", "output": "", "raw": {"codeExecutionResult": {"outcome": 2}}}],
    ),
    (TOOL_CALL, [{"kind": "server_call", "raw": TOOL_CALL}]),
    (TOOL_RESPONSE, [{"kind": "server_result", "raw": TOOL_RESPONSE}]),
    (
        {"functionResponse": {"id": "f1", "name": "f", "response": {"output": 4}}},
        [{"kind": "tool_result", "id": "f1", "name": "f", "response": {"output": 4}}],
    ),
    (
        {"functionResponse": {"name": "f", "response": {"error": "gone"}, "scheduling": "SILENT", "odd": 1}},
        [
            {"kind": "tool_result", "name": "f", "response": {"error": "gone"}, "error": "gone"},
            {"kind": "annotation", "name": "part", "raw": {"functionResponse": {"scheduling": "SILENT"}}},
            {"kind": "unknown", "where": "functionResponse field odd", "raw": {"odd": 1}},
        ],
    ),
    ({"functionCall": {"name": "f"}}, call(1, "f", {})),
    ({"functionCall": {"name": "f", "args": None, "will_continue": None}}, call(1, "f", {})),
    ({"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}, call(1, "f", {"x": 1}, id="a")),
    ({"functionCall": {"name": "f", "args": '{"x": [1]}'}}, call(1, "f", {"x": [1]})),
    ({"functionCall": {"args": {"x": 1}}}, call(1, "", {"x": 1})),
    (
        {"functionCall": {"name": "f", "args": "{x", "id": 5, "odd": {}}},
        [
            *call(1, "f", {}),
            {"kind": "unknown", "where": "call field odd", "raw": {"odd": {}}},
            {"kind": "unknown", "where": "call field id", "raw": {"id": 5}},
            {"kind": "unknown", "where": "call field args", "raw": {"args": "{x"}},
        ],
    ),
    ({"text": "x", "functionCall": {"name": "f"}, "thoughtSignature": "S"}, [{"kind": "text", "text": "x"}, *call(1, "f", {}, signature="S")]),
    (
        {"functionCall": {"name": "f"}, "thought": True},
        [*call(1, "f", {}), {"kind": "annotation", "name": "part", "raw": {"thought": True}}],
    ),
    ({"qux": {"a": 1}}, [{"kind": "unknown", "where": "part kind qux", "raw": {"qux": {"a": 1}}}]),
    (
        {"text": "x", "qux": 1},
        [{"kind": "text", "text": "x"}, {"kind": "unknown", "where": "part kind qux", "raw": {"qux": 1}}],
    ),
    ({"text": 5, "thoughtSignature": "S"}, [{"kind": "unknown", "where": "part field text", "raw": {"text": 5, "thoughtSignature": "S"}}]),
    ({"inlineData": "AQID"}, [{"kind": "unknown", "where": "part field inlineData", "raw": {"inlineData": "AQID"}}]),
    ("text", [{"kind": "unknown", "where": "part", "raw": "text"}]),
]
ASIDES = (
    "videoMetadata mediaResolution partMetadata audioTranscription mediaProcessing speechMetadata documentMetadata spreadsheetMetadata audioMetadata"
)


@pytest.mark.parametrize(("part", "expected"), PARTS)
def test_parts(part: Json, expected: list[Json]) -> None:
    assert content(parts(part)) == expected


@pytest.mark.parametrize("name", ASIDES.split())
def test_what_rides_along_with_a_part_follows_it(name: str) -> None:
    annotation = {"kind": "annotation", "name": "part", "raw": {name: {"a": 1}}}
    assert content(parts({"text": "x", name: {"a": 1}})) == [{"kind": "text", "text": "x"}, annotation]


@pytest.mark.parametrize(
    "part", [IMAGE, FILE, CODE, CODE_RESULT, TOOL_CALL, TOOL_RESPONSE, {"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f"}}]
)
@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_every_kind_of_part_carries_its_signature(part: Json, key: str) -> None:
    assert [event["signature"] for event in content(parts({key: "QUJD", **part})) if "signature" in event] == ["QUJD"]


# Calls whose arguments are streamed


def streamed(*calls: Json) -> list[Json]:
    return content(*[parts({"functionCall": one}) for one in calls])


def piece(number: int, path: str, value: Json, more: bool = False) -> Json:
    return {"kind": "call_piece", "call": number, "path": path, **({} if value is None else {"value": value}), **({"more": True} if more else {})}


def text_piece(path: str, text: str, more: bool = True) -> Json:
    return {"partialArgs": [{"jsonPath": path, "stringValue": text, **({"willContinue": True} if more else {})}], "willContinue": True}


START = {"kind": "call_start", "call": 1, "name": "f"}


def test_arguments_in_pieces() -> None:
    messages = [
        parts({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "S"}),
        parts({"functionCall": text_piece("$.location", "Bos")}),
        parts({"functionCall": text_piece("$.location", "ton")}),
        parts({"functionCall": text_piece("$.location", "", more=False)}),
        parts({"functionCall": {"partialArgs": [{"jsonPath": "$.days", "numberValue": 3}], "willContinue": True}}),
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
        (candidate(finishReason="STOP"), [END_OF_CALL, {"kind": "finish", "reason": "stop", "raw": "STOP"}]),
        (parts({"text": "x"}), [END_OF_CALL, {"kind": "text", "text": "x"}]),
        (parts({"text": "", "thoughtSignature": "S"}), [END_OF_CALL, {"kind": "text", "text": "", "signature": "S"}]),
        (parts({"text": "", "thought": True}), [END_OF_CALL, {"kind": "reasoning", "text": ""}]),
        (parts(CODE), [END_OF_CALL, {"kind": "code", "code": "1+1", "raw": CODE}]),
        ({"usageMetadata": {"promptTokenCount": 1}}, [{"kind": "usage", "raw": {"promptTokenCount": 1}, "input": 1}, END_OF_CALL]),
        (parts({"text": ""}), [{"kind": "annotation", "name": "part", "raw": {"text": ""}}, END_OF_CALL]),
    ],
)
def test_what_ends_a_streamed_call(closing: Json, expected: list[Json]) -> None:
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
        {"json_path": "$.ops[1].name", "string_value": "b", "number_value": None, "bool_value": None, "null_value": None},
        {"jsonPath": "$.deep['a b'].c", "boolValue": False},
        {"jsonPath": "$.none", "nullValue": None},
        {"jsonPath": "$.none2", "nullValue": "NULL_VALUE"},
    ]
    events = streamed({"name": "f", "willContinue": True}, {"willContinue": True}, {"partialArgs": pieces})
    assert events[1] == piece(1, "", None)
    assert [event["kind"] for event in events] == ["call_start", *["call_piece"] * 7, "call_end"]
    assert events[-1]["arguments"] == {
        "ops": [{"name": "a", "size": 1.5}, {"name": "b"}],
        "deep": {"a b": {"c": False}},
        "none": None,
        "none2": None,
    }


@pytest.mark.parametrize(
    "wire",
    [
        {"jsonPath": "$.a.b", "stringValue": "x"},
        {"jsonPath": "$.a", "numberValue": 1},
        {"jsonPath": "$.list[10001]", "numberValue": 1},
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
def test_a_piece_without_a_place_is_unknown_and_the_call_goes_on(wire: Json) -> None:
    events = streamed({"name": "f", "willContinue": True}, text_piece("$.a", "1"), {"partialArgs": [wire], "willContinue": True}, {})
    assert events[2] == {"kind": "unknown", "where": "call piece", "raw": wire}
    assert events[3] == {"kind": "call_end", "call": 1, "arguments": {"a": "1"}}


def test_an_unknown_field_of_a_piece_does_not_cost_the_argument() -> None:
    events = streamed({"name": "f", "partialArgs": [{"jsonPath": "$.a", "boolValue": True, "odd": 1}]})
    unknown = {"kind": "unknown", "where": "call piece field odd", "raw": {"odd": 1}}
    assert events == [START, piece(1, "$.a", True), unknown, {"kind": "call_end", "call": 1, "arguments": {"a": True}}]


def test_whole_arguments_beside_pieces_are_pieces_too() -> None:
    wire = {"name": "f", "args": {"a b": [1]}, "willContinue": True}
    assert streamed(wire, {"partialArgs": [{"jsonPath": "$['a b'][1]", "numberValue": 2}]}) == [
        START,
        piece(1, "$['a b']", [1]),
        piece(1, "$['a b'][1]", 2),
        {"kind": "call_end", "call": 1, "arguments": {"a b": [1, 2]}},
    ]
    assert wire["args"] == {"a b": [1]}


def test_a_repeated_name_with_the_same_id_goes_on_and_with_another_begins() -> None:
    first = {"id": "1", "name": "f", "willContinue": True}
    assert streamed(first, {**first, **text_piece("$.a", "x")}, {}) == [
        {**START, "id": "1"},
        piece(1, "$.a", "x", more=True),
        {"kind": "call_end", "call": 1, "arguments": {"a": "x"}},
    ]
    assert [event["kind"] for event in streamed(first, {**first, "id": "2"})] == ["call_start", "call_end"] * 2


@pytest.mark.parametrize("wire", [{"willContinue": True}, text_piece("$.a", "x"), {"id": "x"}])
def test_a_piece_without_a_call_is_unknown(wire: Json) -> None:
    assert streamed(wire) == [{"kind": "unknown", "where": "call without a beginning", "raw": {"functionCall": wire}}]


def test_the_end_of_a_call_that_has_ended_says_nothing() -> None:
    assert streamed({"name": "f"}, {}) == call(1, "f", {})


def test_a_signature_on_a_later_piece_follows_the_call() -> None:
    events = content(OPENING, parts({"functionCall": {}, "thoughtSignature": "S"}))
    assert events == [START, END_OF_CALL, {"kind": "text", "text": "", "signature": "S"}]


def test_another_candidate_does_not_break_the_answers_call() -> None:
    part = {"text": "x"}
    other = {"candidates": [{"index": 1, "content": {"parts": [part]}}]}
    assert content(OPENING, other) == [
        START,
        {"kind": "unknown", "where": "content inside a call of another candidate", "raw": part, "candidate": 1},
        END_OF_CALL,
    ]


def test_calls_beside_the_candidates_belong_to_the_answer() -> None:
    message = {**candidate(content={"parts": [{"text": "x"}]}, finishReason="STOP"), "functionCalls": [{"name": "f"}, {"name": "g"}]}
    expected = [{"kind": "text", "text": "x"}, *call(1, "f", {}), *call(2, "g", {}), {"kind": "finish", "reason": "stop", "raw": "STOP"}]
    assert content(message) == expected
    assert content({"function_calls": [{"name": "f", "args": {"a": 1}}]}) == call(1, "f", {"a": 1})


# Candidates and what stands beside them

ANNOTATIONS = [
    ("citations", {"citationMetadata": {"citationSources": [{"uri": "https://example.org"}]}}),
    ("citations", {"citationMetadata": {"citations": [{"uri": "https://example.org"}]}}),
    ("citations", {"citation_metadata": {"citations": [{"start_index": 1}]}}),
    ("grounding", {"groundingMetadata": {"webSearchQueries": ["x"]}}),
    ("url_context", {"urlContextMetadata": {"urlMetadata": [{"urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]}}),
    ("logprobs", {"logprobsResult": {"chosenCandidates": []}}),
    ("logprobs", {"avgLogprobs": -0.5}),
    ("logprobs", {"avgLogprobs": "NaN"}),
    ("token_count", {"tokenCount": 5}),
    ("safety_ratings", {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW", "blocked": True}]}),
    ("continuation_token", {"continuationToken": "dDE="}),
]


@pytest.mark.parametrize(("name", "raw"), ANNOTATIONS)
def test_annotations_stand_between_parts_and_finish(name: str, raw: Json) -> None:
    assert content(candidate(**raw, finishReason="STOP", index=0, content={"parts": [{"text": "x"}]})) == [
        {"kind": "text", "text": "x"},
        {"kind": "annotation", "name": name, "raw": raw},
        {"kind": "finish", "reason": "stop", "raw": "STOP"},
    ]


@pytest.mark.parametrize("empty", [{"groundingMetadata": {}}, {"safetyRatings": []}, {"content": {}}, {"content": {"role": "model"}}, {}])
def test_empty_things_say_nothing(empty: Json) -> None:
    assert content(candidate(**empty)) == []


@pytest.mark.parametrize(
    ("indices", "expected"),
    [([0], [0]), ([None], [0]), ([1], [1]), ([0, 1], [0, 1]), ([None, None], [0, 1]), ([1, None], [1, 0]), ([None, 1], [0, 1]), ([2, 0], [2, 0])],
)
def test_a_missing_index_is_the_answer_or_the_place(indices: list[int | None], expected: list[int]) -> None:
    message = {"candidates": [{"index": index, "content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"} for index in indices]}
    absent = {"candidates": [{key: value for key, value in one.items() if value is not None} for one in message["candidates"]]}
    for spelled in (message, absent):
        assert [event.get("candidate", 0) for event in content(spelled)] == [index for index in expected for _ in "tf"]


# What is not known, or of another type than it should be


@pytest.mark.parametrize(
    ("message", "unknown"),
    [
        ({"fooBar": 1}, {"where": "field fooBar", "raw": {"fooBar": 1}}),
        ({"candidates": {}}, {"where": "field candidates", "raw": {"candidates": {}}}),
        ({"usage_metadata": 5}, {"where": "field usage_metadata", "raw": {"usage_metadata": 5}}),
        ({"modelVersion": 5}, {"where": "field modelVersion", "raw": {"modelVersion": 5}}),
        ({"response": [1]}, {"where": "field response", "raw": {"response": [1]}}),
        ({"response": {"response": {}}}, {"where": "field response", "raw": {"response": {}}}),
        ({"promptFeedback": "SAFETY"}, {"where": "field promptFeedback", "raw": {"promptFeedback": "SAFETY"}}),
        ({"candidates": ["x"]}, {"where": "candidate", "raw": "x"}),
        (candidate(baz=[]), {"where": "candidate field baz", "raw": {"baz": []}}),
        (candidate(content=[1]), {"where": "candidate field content", "raw": {"content": [1]}}),
        (candidate(index="0"), {"where": "candidate field index", "raw": {"index": "0"}}),
        (candidate(index=-1), {"where": "candidate field index", "raw": {"index": -1}}),
        (candidate(finishReason={}), {"where": "candidate field finishReason", "raw": {"finishReason": {}}}),
        (candidate(finishReason=True), {"where": "candidate field finishReason", "raw": {"finishReason": True}}),
        (candidate(groundingMetadata=[1]), {"where": "candidate field groundingMetadata", "raw": {"groundingMetadata": [1]}}),
        (candidate(content={"parts": "x"}), {"where": "content field parts", "raw": {"parts": "x"}}),
        (candidate(content={"role": "user", "parts": []}), {"where": "content field role", "raw": {"role": "user"}}),
        (candidate(content={"parts": [], "odd": 1}), {"where": "content field odd", "raw": {"odd": 1}}),
        ({"usageMetadata": {}, "usage_metadata": {"a": 1}}, {"where": "field usage_metadata", "raw": {"usage_metadata": {"a": 1}}}),
    ],
)
def test_unknown_things_come_out_by_name(message: Json, unknown: Json) -> None:
    assert content(message) == [{"kind": "unknown", **unknown}]


@pytest.mark.parametrize("message", [[], [1], 5, "[DONE]", "oops", True])
def test_a_frame_that_is_no_object_is_unknown(message: Json) -> None:
    assert read(message) == [{"kind": "unknown", "where": "frame", "raw": message}]


def test_an_unknown_fact_about_the_reply_comes_once_and_again_when_it_changes() -> None:
    events = content({"turnToken": "a"}, {"turnToken": "a"}, {"turnToken": "b"})
    assert [event["raw"] for event in events] == [{"turnToken": "a"}, {"turnToken": "b"}]


# Usage

COUNTS = {
    "promptTokenCount": "input",
    "candidatesTokenCount": "output",
    "responseTokenCount": "output",
    "thoughtsTokenCount": "reasoning",
    "cachedContentTokenCount": "cached",
    "toolUsePromptTokenCount": "tool_use",
    "totalTokenCount": "total",
}


@pytest.mark.parametrize(("wire", "name"), COUNTS.items())
@pytest.mark.parametrize("value", [5, "5", 5.0, 2**70])
def test_counts(wire: str, name: str, value: Json) -> None:
    raw = {wire: value}
    assert content({"usageMetadata": raw}) == [{"kind": "usage", "raw": raw, name: int(value)}]


@pytest.mark.parametrize(
    "raw",
    [
        {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}]},
        {"cacheTokensDetails": []},
        {"candidatesTokensDetails": []},
        {"toolUsePromptTokensDetails": []},
        {"trafficType": "ON_DEMAND"},
        {"serviceTier": "standard"},
        {"billablePromptUsage": {}},
        {"promptTokenCount": True},
        {"promptTokenCount": "many"},
        {"promptTokenCount": 1.5},
    ],
)
def test_other_usage_is_kept_raw(raw: Json) -> None:
    assert content({"usageMetadata": raw}) == [{"kind": "usage", "raw": raw}]


# Errors

MESSAGE = "You exceeded your current quota."
QUOTA = {
    "error": {
        "code": 429,
        "message": MESSAGE,
        "status": "RESOURCE_EXHAUSTED",
        "errors": [{"message": "older", "domain": "global", "reason": "rateLimitExceeded"}],
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "QUOTA_EXHAUSTED", "domain": "cloudcode-pa.googleapis.com"},
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerMinute"}, {"quotaId": "PerDay"}, {}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"},
            {"@type": "type.googleapis.com/google.rpc.DebugInfo", "detail": "x"},
            "odd",
        ],
    }
}
QUOTA_ERROR = {
    "kind": "error",
    "message": MESSAGE,
    "code": 429,
    "status": "RESOURCE_EXHAUSTED",
    "reasons": ["QUOTA_EXHAUSTED"],
    "quotas": ["PerMinute", "PerDay"],
    "retry_after": 34.4,
}

ERRORS: list[tuple[int, Json, Json]] = [
    (429, QUOTA, QUOTA_ERROR),
    (429, [QUOTA], QUOTA_ERROR),
    (200, QUOTA, QUOTA_ERROR),
    (200, {"error": {"code": 499, "message": "x", "status": "CANCELLED"}}, {"message": "x", "code": 499, "status": "CANCELLED"}),
    (503, {"error": {"code": 14, "message": "x"}}, {"message": "x", "code": 503}),
    (400, {"error": {"code": "invalid_request", "message": "x"}}, {"message": "x", "code": 400, "status": "invalid_request"}),
    (200, {"error": {"code": "503", "message": "x"}}, {"message": "x", "code": 503}),
    (403, {"error": {"errors": [{"message": "older"}]}}, {"message": "older", "code": 403}),
    (200, {"error": "text"}, {"message": "text"}),
    (200, {"error": True, "message": "text"}, {"message": "text"}),
    (200, {"error": {}}, {"message": "an error without a message"}),
    (401, {"error": "invalid_grant", "error_description": "expired"}, {"message": "expired", "code": 401, "status": "invalid_grant"}),
    (404, {"detail": "Not Found"}, {"message": "Not Found", "code": 404}),
    (500, {"error": {"code": 500}}, {"message": "HTTP 500", "code": 500}),
    (500, [1, "a"], {"message": "HTTP 500", "code": 500}),
    (500, {}, {"message": "HTTP 500", "code": 500}),
    (502, "upstream said no\n", {"message": "upstream said no", "code": 502}),
    (404, "<!DOCTYPE html><html>", {"message": "HTTP 404", "code": 404}),
    (500, "x" * 1000, {"message": "HTTP 500", "code": 500}),
]


@pytest.mark.parametrize(("status", "body", "expected"), ERRORS)
def test_errors(status: int, body: Json, expected: Json) -> None:
    assert read(body, status=status) == [{"kind": "error", "raw": body, **expected}]


def test_a_failed_answer_with_nothing_in_it_is_an_error() -> None:
    assert read(status=503) == [{"kind": "error", "message": "HTTP 503", "code": 503}]


def test_the_text_of_a_failed_answer_is_one_error_whatever_its_lines() -> None:
    assert read("<html>", "<p>x", status=404) == [{"kind": "error", "message": "HTTP 404", "code": 404, "raw": "<html>\n<p>x"}]
    rest = Frame(0, None, "No such mo", partial=True)
    normalizer = PROVIDERS["gemini-api"].normalizer(Answer(404))
    assert read_with(normalizer, [rest]) == [{"kind": "error", "message": "No such mo", "code": 404, "raw": "No such mo"}]


def test_a_failed_answer_that_is_cut_is_incomplete() -> None:
    assert read("<html>", status=404, end="cut") == [{"kind": "incomplete", "end": "cut", "rest": "<html>"}]


def test_an_error_in_an_array_inside_a_stream() -> None:
    assert content(parts({"text": "x"}), [QUOTA]) == [{"kind": "text", "text": "x"}, {"raw": QUOTA, **QUOTA_ERROR}]


def test_an_error_beside_content_comes_last() -> None:
    message = {"error": {"code": 500, "message": "x"}, **parts({"text": "y"})}
    assert content(message) == [{"kind": "text", "text": "y"}, {"kind": "error", "message": "x", "code": 500, "raw": message}]


@pytest.mark.parametrize("nothing", ["", 0, False, []])
def test_an_error_that_is_nothing_is_no_error(nothing: Json) -> None:
    assert [event["kind"] for event in content({"error": nothing, **parts({"text": "y"})})] == ["unknown", "text"]


@pytest.mark.parametrize(
    ("delay", "header", "seconds"),
    [
        ("34.07s", None, 34.07),
        ("900ms", None, 0.9),
        ("1h2m3.4s", None, 3723.4),
        ("581981.300432511s", None, 581981.300432511),
        ({"seconds": 12, "nanos": 500_000_000}, None, 12.5),
        ({"seconds": "12"}, None, 12.0),
        (None, "7", 7.0),
        ("2s", "7", 2.0),
        ("soon", "7", 7.0),
        (None, "Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("1..2s", None, None),
        (5, None, None),
    ],
)
def test_when_to_try_again(delay: Json, header: str | None, seconds: float | None) -> None:
    body = {"error": {"code": 429, "details": [{"@type": "RetryInfo", "retryDelay": delay}]}}
    headers = {} if header is None else {"retry-after": header}
    assert read(body, status=429, headers=headers)[0].get("retry_after") == pytest.approx(seconds)


# The end


def test_a_message_that_the_stream_ended_inside() -> None:
    frames = [Frame(0, parts({"text": "x"})), Frame(9, None, '{"candidates": [', partial=True)]
    make = PROVIDERS["gemini-api"].normalizer
    assert read_with(make(Answer()), frames, "cut")[-1] == {"kind": "incomplete", "end": "cut", "rest": '{"candidates": ['}
    assert read_with(make(Answer()), frames, "complete")[-1] == {"kind": "unknown", "where": "frame", "raw": '{"candidates": ['}


def test_an_answer_without_anything_gives_nothing() -> None:
    assert read() == []


# Spelling

CAMEL = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "a", "thoughtSignature": "QQ=="},
                    {"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": True}},
                    {"functionCall": {}},
                    {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
                    {"fileData": {"mimeType": "image/png", "fileUri": "u"}},
                    {"executableCode": {"code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {"functionResponse": {"name": "f", "response": {"camelKey": 1}, "willContinue": True}},
                ],
                "role": "model",
            },
            "finishReason": "STOP",
            "finishMessage": "m",
            "avgLogprobs": -1,
            "index": 0,
        }
    ],
    "promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "m"},
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    "modelVersion": "m",
    "responseId": "r",
    "createTime": "t",
}
SNAKE = {
    "model_version": "m",
    "response_id": "r",
    "create_time": "t",
    "sdk_http_response": None,
    "parsed": None,
    "automatic_function_calling_history": None,
    "usage_metadata": {"prompt_token_count": 1, "candidates_token_count": 2, "total_token_count": 3, "thoughts_token_count": None},
    "prompt_feedback": {"block_reason": "SAFETY", "block_reason_message": "m", "safety_ratings": None},
    "candidates": [
        {
            "avg_logprobs": -1,
            "finish_message": "m",
            "finish_reason": "STOP",
            "grounding_metadata": None,
            "index": None,
            "content": {
                "role": "model",
                "parts": [
                    {"thought_signature": "QQ==", "text": "a", "function_call": None, "video_metadata": None},
                    {"function_call": {"name": "f", "partial_args": [{"json_path": "$.a", "string_value": "x"}], "will_continue": True}},
                    {"function_call": {"id": None, "args": {}, "name": None}},
                    {"inline_data": {"mime_type": "image/png", "data": "AQID"}},
                    {"file_data": {"mime_type": "image/png", "file_uri": "u"}},
                    {"executable_code": {"code": "1"}},
                    {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {"function_response": {"name": "f", "response": {"camelKey": 1}, "will_continue": True}},
                ],
            },
        }
    ],
}


def test_spelling_does_not_matter() -> None:
    def without_raw(events: list[Json]) -> list[Json]:
        return [{key: value for key, value in event.items() if key != "raw" or event["kind"] == "finish"} for event in events]

    plain = without_raw(read(CAMEL))
    assert without_raw(read(SNAKE)) == plain
    assert without_raw(read({"response": SNAKE})) == plain
    assert read({"response": CAMEL}) == read(CAMEL)
    assert len(plain) == 16


def test_the_envelope_of_code_assist_is_read_as_often_as_it_comes() -> None:
    message = {"response": {"modelVersion": "m", **parts({"text": "x"})}, "traceId": "t", "metadata": {}}
    assert read(message, message, {**message, "traceId": "u"}) == [
        {"kind": "start", "model": "m"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "t"}},
        {"kind": "metadata", "name": "envelope", "raw": {"metadata": {}}},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "x"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "u"}},
        {"kind": "text", "text": "x"},
    ]


# Calls in text


def blocks(*texts: str, **settings: Any) -> list[Json]:
    return content(*[parts({"text": text}) for text in texts], tool_code=True, **settings)


RAW = '<tool_code>{"todos": []}</tool_code>'
NAMELESS = {"kind": "nameless_call", "call": 1, "payload": {"todos": []}, "raw": RAW}


def text(said: str, **more: Json) -> Json:
    return {"kind": "text", "text": said, **more}


@pytest.mark.parametrize("cut", range(len(RAW) + 1))
def test_a_block_is_a_call_wherever_it_is_cut(cut: int) -> None:
    assert blocks("a" + RAW[:cut], RAW[cut:] + "b") in ([text("a"), NAMELESS, text("b")], [text("a"), NAMELESS, text("b")])


def test_code_assist_looks_for_blocks_and_others_do_not() -> None:
    assert {name: provider.tool_code for name, provider in PROVIDERS.items()} == {"gemini-api": False, "vertex-ai": False, "code-assist": True}
    assert content(parts({"text": RAW})) == [text(RAW)]


def test_a_block_that_names_its_tool_is_a_call() -> None:
    assert blocks('<tool_code>{"tool_name": "f", "parameters": {"a": 1}, "id": 7}</tool_code>') == [
        *call(1, "f", {"a": 1}),
        {"kind": "unknown", "where": "tool_code field id", "raw": {"id": 7}},
    ]


def test_a_block_of_no_known_form_is_text_in_its_place() -> None:
    assert blocks("a<tool_code>oops</tool_code>b") == [text("a"), text("<tool_code>oops</tool_code>"), text("b")]


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
def test_what_is_held_back_comes_out_before_what_follows(held: str, after: Json, kinds: list[str]) -> None:
    events = content(parts({"text": held}), after, tool_code=True)
    said = [event for event in events if event["kind"] == "text"]
    assert "".join(event["text"] for event in said) == held
    assert [event["kind"] for event in events[len(said) :]] == kinds


def test_what_is_held_back_at_the_end_is_text_or_the_rest() -> None:
    assert blocks("x<tool_code>{", " }") == [text("x"), text("<tool_code>{ }")]
    assert blocks("x<tool_code>{", end="cut") == [text("x"), {"kind": "incomplete", "end": "cut", "rest": "<tool_code>{"}]


def test_signatures_beside_blocks_go_to_the_last_event_of_their_part() -> None:
    def signed(said: str) -> list[Json]:
        return content(parts({"text": said, "thoughtSignature": "S"}), tool_code=True)

    assert signed("a" + RAW) == [text("a"), {**NAMELESS, "signature": "S"}]
    assert signed(RAW + "a") == [NAMELESS, text("a", signature="S")]
    assert signed("<tool_code>f(a=1)</tool_code>") == call(1, "f", {"a": 1}, signature="S")
    assert signed("<tool") == [text("", signature="S"), text("<tool")]
    assert signed("") == [text("", signature="S")]


def test_candidates_are_searched_each_by_itself() -> None:
    def message(first: str, second: str) -> Json:
        return {"candidates": [{"content": {"parts": [{"text": said}]}, "index": index} for index, said in enumerate((first, second))]}

    assert content(message("<tool_", RAW), message("code>{}</tool_code>", "x"), tool_code=True) == [
        {**NAMELESS, "candidate": 1},
        {"kind": "nameless_call", "call": 2, "payload": {}, "raw": "<tool_code>{}</tool_code>"},
        text("x", candidate=1),
    ]


# Who answered

HOST = "https://generativelanguage.googleapis.com"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1beta1/projects/p/locations/us-central1"

URLS: list[tuple[str, Identity]] = [
    (f"{HOST}/v1beta/models/gemini-3.8-flash:generateContent", Identity("gemini-api", True, False, "gemini-3.8-flash")),
    (f"{HOST}/v1/models/m:streamGenerateContent?alt=sse&key=x", Identity("gemini-api", True, True, "m")),
    (f"{HOST}/v1beta/models/m%3AgenerateContent", Identity("gemini-api", True, False, "m")),
    (f"{HOST}/v1beta/tunedModels/m:generateContent", Identity("gemini-api", True, False, "tunedModels/m")),
    ("http://127.0.0.1:8080/router/v2/google/v1beta/models/m:streamGenerateContent", Identity("gemini-api", True, True, "m")),
    ("models/m:generateContent", Identity("gemini-api", True, False, "m")),
    (f"{VERTEX}/publishers/google/models/m:generateContent", Identity("vertex-ai", True, False, "m")),
    (f"{VERTEX}/endpoints/123:streamGenerateContent", Identity("vertex-ai", True, True, "endpoints/123")),
    ("https://aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent", Identity("vertex-ai", True, False, "m")),
    ("http://localhost/google-vertex/v1beta1/publishers/google/models/m:generateContent", Identity("vertex-ai", True, False, "m")),
    ("https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse", Identity("code-assist", True, True, "asked")),
    ("http://127.0.0.1/v1internal:generateContent", Identity("code-assist", True, False, "asked")),
]
OTHER_URLS = [
    "https://cloudcode-pa.googleapis.com/v1internal:loadCodeAssist",
    f"{HOST}/v1beta/models/m:countTokens",
    f"{HOST}/v1beta/models/m:embedContent",
    f"{HOST}/v1beta/models/m:batchGenerateContent",
    f"{HOST}/v1beta/models",
    f"{HOST}/v1beta/openai/chat/completions",
    f"{HOST}/v1/interactions",
    f"{HOST}/v1beta/cachedContents",
    "https://oauth2.googleapis.com/token",
    f"{VERTEX}/publishers/anthropic/models/claude:streamRawPredict",
    "http://[bad",
]


@pytest.mark.parametrize(("url", "identity"), URLS)
def test_the_path_tells_the_provider_on_any_host(url: str, identity: Identity) -> None:
    assert identify("POST", url, b'{"model": "asked"}', b"") == identity
    assert identify("post", url, b'{"model": "asked"}', b"{}") == identity
    assert not identify("GET", url, b"", b"").generates


@pytest.mark.parametrize("url", OTHER_URLS)
def test_other_endpoints_do_not_generate(url: str) -> None:
    assert identify("POST", url, b"", b'{"error": {"code": 400}}') == Identity(None, False)


SSE = b'data: {"candidates": []}\r\n\r\ndata: {"candidates": []}\r\n\r\n'


@pytest.mark.parametrize(
    ("body", "identity"),
    [
        (b'{"candidates": []}', Identity(None, True, False)),
        (SSE, Identity(None, True, True)),
        (b'[{"candidates": []}]', Identity(None, True, True)),
        (b'{"candidates": []}\n{"candidates": []}\n', Identity(None, True, True)),
        (b'data: {"candidates": [], "createTime": "t"}\n\n', Identity("vertex-ai", True, True)),
        (b'{"candidates": [], "usageMetadata": {"trafficType": "ON_DEMAND"}}', Identity("vertex-ai", True, False)),
        (b'data: {"response": {"candidates": []}, "traceId": "t"}\n\n', Identity("code-assist", True, True)),
        (b'{"promptFeedback": {"blockReason": "SAFETY"}}', Identity(None, True, False)),
        (b'{"usage_metadata": {}}', Identity(None, True, False)),
        (b'[{"error": {"code": 429}}]', Identity(None, True, True)),
        (b'\xef\xbb\xbf\n{"error": {"code": 429}}', Identity(None, True, False)),
        (b'{"type":"init","timestamp":"t","session_id":"s","model":"m"}\n', Identity("gemini-cli", True, True)),
        (b'Loaded cached credentials.\n{"type":"init","timestamp":"t"}\n', Identity("gemini-cli", True, True)),
        (b'{"choices": []}', Identity(None, False)),
        (b'event: interaction.created\ndata: {"event_type": "interaction.created"}\n\n', Identity(None, False)),
        (b'{"totalTokens": 3}', Identity(None, False)),
        (b"<html>", Identity(None, False)),
        (b"", Identity(None, False)),
        (b"[" * 5000, Identity(None, False)),
    ],
)
def test_without_a_request_the_body_tells(body: bytes, identity: Identity) -> None:
    assert identify("", "", b"", body) == identity


def test_at_an_unknown_address_only_an_answer_tells() -> None:
    url = "https://gateway.example/chat"
    assert identify("POST", url, b"", SSE) == Identity(None, True, True)
    assert identify("POST", url, b"", b'{"error": {"code": 429}}') == Identity(None, False)
    assert identify("POST", url, b"", b'{"usageMetadata": {}}') == Identity(None, False)


# What the request declared


@pytest.mark.parametrize(
    ("body", "tools"),
    [
        (b'{"tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}]}', [Tool("f", {"type": "OBJECT"})]),
        (b'{"tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"a": 1}}, {"name": "g"}]}, {"googleSearch": {}}]}', None),
        (b'{"request": {"tools": [{"functionDeclarations": [{"name": "f"}]}]}}', [Tool("f")]),
        (b'{"tools": {"functionDeclarations": []}}', []),
        (b'{"tools": [{"functionDeclarations": [{"name": 5}, null]}, 5]}', []),
        (b"[]", []),
        (b"{", []),
        (b"", []),
    ],
)
def test_declared_tools(body: bytes, tools: list[Tool] | None) -> None:
    assert declared_tools(body) == ([Tool("f", {"a": 1}), Tool("g")] if tools is None else tools)
