"""Every word, part and count of Gemini's wire becomes the canonical events that it means, whoever
spelled it.
"""

from __future__ import annotations

import pytest

from harness.providers import PROVIDERS, Answer
from harness.stream.framing import Frame
from tests.support.normalizing import Json, call, candidate, content, parts, read, read_with

# Order and metadata


def test_a_message_comes_out_as_start_usage_content_finish() -> None:
    message = {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hi"}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
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
    assert read(parts({"text": "x"}), {"modelVersion": "a"})[-1] == {
        "kind": "metadata",
        "name": "model",
        "raw": {"modelVersion": "a"},
    }


METADATA = [
    ("created", {"createTime": "2026-11-01T10:00:00.123456Z"}),
    (
        "model_status",
        {"modelStatus": {"modelStage": "DEPRECATED", "retirementTime": "2026-12-01T00:00:00Z"}},
    ),
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
    assert content(candidate(finishReason=number)) == [
        {"kind": "finish", "reason": kind, "raw": word}
    ]


def test_a_finish_message_goes_with_the_reason() -> None:
    reasoned = candidate(finishReason="STOP", finishMessage="Model generated function call(s).")
    assert content(reasoned) == [
        {
            "kind": "finish",
            "reason": "stop",
            "raw": "STOP",
            "message": "Model generated function call(s).",
        }
    ]
    alone = candidate(finishMessage="why")
    assert content(alone) == [
        {
            "kind": "unknown",
            "where": "candidate field finishMessage",
            "raw": {"finishMessage": "why"},
        }
    ]


@pytest.mark.parametrize("reason", [None, ""])
def test_no_finish_reason_is_none(reason: Json) -> None:
    assert content(candidate(finishReason=reason, content={"parts": [{"text": "x"}]})) == [
        {"kind": "text", "text": "x"}
    ]


@pytest.mark.parametrize(
    "reason",
    [
        *(
            "BLOCKED_REASON_UNSPECIFIED",
            "SAFETY",
            "OTHER",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "IMAGE_SAFETY",
        ),
        *("MODEL_ARMOR", "JAILBREAK", "BRAND_NEW"),
    ],
)
def test_block_reasons(reason: str) -> None:
    assert content({"promptFeedback": {"blockReason": reason}}) == [
        {"kind": "blocked", "reason": reason}
    ]
    both = {"prompt_feedback": {"block_reason": reason, "block_reason_message": "no"}}
    assert content(both) == [{"kind": "blocked", "reason": reason, "message": "no"}]


def test_prompt_feedback_without_a_reason_and_with_more_in_it() -> None:
    ratings = {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}]}
    assert content({"promptFeedback": {**ratings, "blockReason": 7, "odd": 1}}) == [
        {"kind": "annotation", "name": "safety_ratings", "raw": ratings, "candidate": -1},
        {
            "kind": "unknown",
            "where": "promptFeedback field odd",
            "raw": {"odd": 1},
            "candidate": -1,
        },
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
    (
        {"text": "x", "thoughtSignature": "QQ=="},
        [{"kind": "text", "text": "x", "signature": "QQ=="}],
    ),
    ({"text": "x", "thought": True}, [{"kind": "reasoning", "text": "x"}]),
    ({"text": "x", "thought": False}, [{"kind": "text", "text": "x"}]),
    (
        {"text": "", "thought": True, "thoughtSignature": "QQ=="},
        [{"kind": "reasoning", "text": "", "signature": "QQ=="}],
    ),
    ({"thoughtSignature": "QQ=="}, [{"kind": "text", "text": "", "signature": "QQ=="}]),
    ({"thought": True}, [{"kind": "reasoning", "text": ""}]),
    ({"text": "x", "thoughtSignature": ""}, [{"kind": "text", "text": "x"}]),
    ({"functionCall": {"name": "f"}, "thoughtSignature": ""}, call(1, "f", {})),
    ({"text": None, "functionCall": None, "thought": None}, []),
    ({}, []),
    (IMAGE, [{"kind": "media", "mime_type": "image/png", "raw": IMAGE, "data": "AQID"}]),
    (FILE, [{"kind": "media", "mime_type": "video/mp4", "raw": FILE, "uri": "gs://b/f"}]),
    (
        {**IMAGE, "thought": True},
        [
            {
                "kind": "media",
                "mime_type": "image/png",
                "raw": {**IMAGE, "thought": True},
                "data": "AQID",
                "thought": True,
            }
        ],
    ),
    (CODE, [{"kind": "code", "code": "1+1", "raw": CODE}]),
    (
        CODE_RESULT,
        [{"kind": "code_result", "outcome": "OUTCOME_OK", "output": "2", "raw": CODE_RESULT}],
    ),
    (
        {"codeExecutionResult": {"outcome": 2}},
        [
            {
                "kind": "code_result",
                "outcome": "#2",
                "output": "",
                "raw": {"codeExecutionResult": {"outcome": 2}},
            }
        ],
    ),
    (TOOL_CALL, [{"kind": "server_call", "raw": TOOL_CALL}]),
    (TOOL_RESPONSE, [{"kind": "server_result", "raw": TOOL_RESPONSE}]),
    (
        {"functionResponse": {"id": "f1", "name": "f", "response": {"output": 4}}},
        [{"kind": "tool_result", "id": "f1", "name": "f", "response": {"output": 4}}],
    ),
    (
        {
            "functionResponse": {
                "name": "f",
                "response": {"error": "gone"},
                "scheduling": "SILENT",
                "odd": 1,
            }
        },
        [
            {"kind": "tool_result", "name": "f", "response": {"error": "gone"}, "error": "gone"},
            {
                "kind": "annotation",
                "name": "part",
                "raw": {"functionResponse": {"scheduling": "SILENT"}},
            },
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
    (
        {"text": "x", "functionCall": {"name": "f"}, "thoughtSignature": "S"},
        [{"kind": "text", "text": "x"}, *call(1, "f", {}, signature="S")],
    ),
    (
        {"functionCall": {"name": "f"}, "thought": True},
        [*call(1, "f", {}), {"kind": "annotation", "name": "part", "raw": {"thought": True}}],
    ),
    ({"qux": {"a": 1}}, [{"kind": "unknown", "where": "part kind qux", "raw": {"qux": {"a": 1}}}]),
    (
        {"text": "x", "qux": 1},
        [
            {"kind": "text", "text": "x"},
            {"kind": "unknown", "where": "part field qux", "raw": {"qux": 1}},
        ],
    ),
    (
        {"text": 5, "thoughtSignature": "S"},
        [
            {
                "kind": "unknown",
                "where": "part field text",
                "raw": {"text": 5, "thoughtSignature": "S"},
            }
        ],
    ),
    (
        {"inlineData": "AQID"},
        [{"kind": "unknown", "where": "part field inlineData", "raw": {"inlineData": "AQID"}}],
    ),
    ("text", [{"kind": "unknown", "where": "part", "raw": "text"}]),
]
ASIDES = (
    *(
        "videoMetadata",
        "mediaResolution",
        "partMetadata",
        "audioTranscription",
        "mediaProcessing",
        "speechMetadata",
    ),
    *("documentMetadata", "spreadsheetMetadata", "audioMetadata"),
)


@pytest.mark.parametrize(("part", "expected"), PARTS)
def test_parts(part: Json, expected: list[Json]) -> None:
    assert content(parts(part)) == expected


@pytest.mark.parametrize("name", ASIDES)
def test_what_rides_along_with_a_part_follows_it(name: str) -> None:
    annotation = {"kind": "annotation", "name": "part", "raw": {name: {"a": 1}}}
    assert content(parts({"text": "x", name: {"a": 1}})) == [
        {"kind": "text", "text": "x"},
        annotation,
    ]


@pytest.mark.parametrize(
    "part",
    [
        IMAGE,
        FILE,
        CODE,
        CODE_RESULT,
        TOOL_CALL,
        TOOL_RESPONSE,
        {"functionCall": {"name": "f"}},
        {"functionResponse": {"name": "f"}},
    ],
)
@pytest.mark.parametrize("key", ["thoughtSignature", "thought_signature"])
def test_every_kind_of_part_carries_its_signature(part: Json, key: str) -> None:
    assert [
        event["signature"]
        for event in content(parts({key: "QUJD", **part}))
        if "signature" in event
    ] == ["QUJD"]


# Candidates and what stands beside them

ANNOTATIONS = [
    ("citations", {"citationMetadata": {"citationSources": [{"uri": "https://example.org"}]}}),
    ("citations", {"citationMetadata": {"citations": [{"uri": "https://example.org"}]}}),
    ("citations", {"citation_metadata": {"citations": [{"start_index": 1}]}}),
    ("grounding", {"groundingMetadata": {"webSearchQueries": ["x"]}}),
    (
        "url_context",
        {
            "urlContextMetadata": {
                "urlMetadata": [{"urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS"}]
            }
        },
    ),
    ("logprobs", {"logprobsResult": {"chosenCandidates": []}}),
    ("logprobs", {"avgLogprobs": -0.5}),
    ("logprobs", {"avgLogprobs": "NaN"}),
    ("token_count", {"tokenCount": 5}),
    (
        "safety_ratings",
        {
            "safetyRatings": [
                {"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW", "blocked": True}
            ]
        },
    ),
    ("continuation_token", {"continuationToken": "dDE="}),
]


@pytest.mark.parametrize(("name", "raw"), ANNOTATIONS)
def test_annotations_stand_between_parts_and_finish(name: str, raw: Json) -> None:
    assert content(
        candidate(**raw, finishReason="STOP", index=0, content={"parts": [{"text": "x"}]})
    ) == [
        {"kind": "text", "text": "x"},
        {"kind": "annotation", "name": name, "raw": raw},
        {"kind": "finish", "reason": "stop", "raw": "STOP"},
    ]


@pytest.mark.parametrize(
    "empty",
    [
        {"groundingMetadata": {}},
        {"safetyRatings": []},
        {"content": {}},
        {"content": {"role": "model"}},
        {},
    ],
)
def test_empty_things_say_nothing(empty: Json) -> None:
    assert content(candidate(**empty)) == []


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        ([0], [0]),
        ([None], [0]),
        ([1], [1]),
        ([0, 1], [0, 1]),
        ([None, None], [0, 1]),
        ([1, None], [1, 0]),
        ([None, 1], [0, 1]),
        ([2, 0], [2, 0]),
    ],
)
def test_a_missing_index_is_the_answer_or_the_place(
    indices: list[int | None], expected: list[int]
) -> None:
    message = {
        "candidates": [
            {"index": index, "content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}
            for index in indices
        ]
    }
    absent = {
        "candidates": [
            {key: value for key, value in one.items() if value is not None}
            for one in message["candidates"]
        ]
    }
    for spelled in (message, absent):
        assert [event.get("candidate", 0) for event in content(spelled)] == [
            index for index in expected for _ in "tf"
        ]


# What is not known, or of another type than it should be


@pytest.mark.parametrize(
    ("message", "unknown"),
    [
        ({"fooBar": 1}, {"where": "field fooBar", "raw": {"fooBar": 1}}),
        ({"candidates": {}}, {"where": "field candidates", "raw": {"candidates": {}}}),
        ({"usage_metadata": 5}, {"where": "field usage_metadata", "raw": {"usage_metadata": 5}}),
        ({"modelVersion": 5}, {"where": "field modelVersion", "raw": {"modelVersion": 5}}),
        ({"response": [1]}, {"where": "field response", "raw": {"response": [1]}}),
        ({"response": {"odd": 1}}, {"where": "field odd", "raw": {"odd": 1}}),
        ({"response": {"response": {}}}, {"where": "field response", "raw": {"response": {}}}),
        (
            {"promptFeedback": "SAFETY"},
            {"where": "field promptFeedback", "raw": {"promptFeedback": "SAFETY"}},
        ),
        ({"candidates": ["x"]}, {"where": "candidate", "raw": "x"}),
        (candidate(baz=[]), {"where": "candidate field baz", "raw": {"baz": []}}),
        (candidate(content=[1]), {"where": "candidate field content", "raw": {"content": [1]}}),
        (candidate(index="0"), {"where": "candidate field index", "raw": {"index": "0"}}),
        (candidate(index=-1), {"where": "candidate field index", "raw": {"index": -1}}),
        (
            candidate(finishReason={}),
            {"where": "candidate field finishReason", "raw": {"finishReason": {}}},
        ),
        (
            candidate(finishReason=True),
            {"where": "candidate field finishReason", "raw": {"finishReason": True}},
        ),
        (
            candidate(groundingMetadata=[1]),
            {"where": "candidate field groundingMetadata", "raw": {"groundingMetadata": [1]}},
        ),
        (
            candidate(content={"parts": "x"}),
            {"where": "content field parts", "raw": {"parts": "x"}},
        ),
        (
            candidate(content={"role": "user", "parts": []}),
            {"where": "content field role", "raw": {"role": "user"}},
        ),
        (
            candidate(content={"parts": [], "odd": 1}),
            {"where": "content field odd", "raw": {"odd": 1}},
        ),
        (
            {"usageMetadata": {}, "usage_metadata": {"a": 1}},
            {"where": "field usage_metadata", "raw": {"usage_metadata": {"a": 1}}},
        ),
        (
            {"usage_metadata": {"a": 1}, "usageMetadata": {}},
            {"where": "field usage_metadata", "raw": {"usage_metadata": {"a": 1}}},
        ),
        (
            {"usageMetadata": {"a": 1}, "response": {"usageMetadata": {}}},
            {"where": "field usageMetadata", "raw": {"usageMetadata": {"a": 1}}},
        ),
    ],
)
def test_unknown_things_come_out_by_name(message: Json, unknown: Json) -> None:
    assert content(message) == [{"kind": "unknown", **unknown}]


@pytest.mark.parametrize("message", [[], [1], 5, "[DONE]", "oops", True])
def test_a_frame_that_is_no_object_is_unknown(message: Json) -> None:
    assert read(message) == [{"kind": "unknown", "where": "frame", "raw": message}]


def test_a_message_with_something_new_in_it_is_not_taken_for_a_usual_one() -> None:
    usual: Json = {"response": {"modelVersion": "m", **parts({"text": "x"})}, "traceId": "t"}
    for odd in ({**usual, "odd": 1}, {**usual, "response": {**usual["response"], "odd": 1}}):
        assert read(usual, odd)[3:] == [
            {"kind": "unknown", "where": "field odd", "raw": {"odd": 1}},
            {"kind": "text", "text": "x"},
        ]


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


# The end


def test_a_message_that_the_stream_ended_inside() -> None:
    frames = [Frame(0, parts({"text": "x"})), Frame(9, None, '{"candidates": [', partial=True)]
    make = PROVIDERS["gemini-api"].normalizer
    assert read_with(make(Answer()), frames, "cut")[-1] == {
        "kind": "incomplete",
        "end": "cut",
        "rest": '{"candidates": [',
    }
    assert read_with(make(Answer()), frames, "complete")[-1] == {
        "kind": "unknown",
        "where": "frame",
        "raw": '{"candidates": [',
    }


def test_a_whole_answer_without_anything_is_an_empty_reply() -> None:
    assert read() == [{"kind": "start"}]


# Spelling

CAMEL = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "a", "thoughtSignature": "QQ=="},
                    {
                        "functionCall": {
                            "name": "f",
                            "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}],
                            "willContinue": True,
                        }
                    },
                    {"functionCall": {}},
                    {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
                    {"fileData": {"mimeType": "image/png", "fileUri": "u"}},
                    {"executableCode": {"code": "1"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {
                        "functionResponse": {
                            "name": "f",
                            "response": {"camelKey": 1},
                            "willContinue": True,
                        }
                    },
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
    "usage_metadata": {
        "prompt_token_count": 1,
        "candidates_token_count": 2,
        "total_token_count": 3,
        "thoughts_token_count": None,
    },
    "prompt_feedback": {
        "block_reason": "SAFETY",
        "block_reason_message": "m",
        "safety_ratings": None,
    },
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
                    {
                        "thought_signature": "QQ==",
                        "text": "a",
                        "function_call": None,
                        "video_metadata": None,
                    },
                    {
                        "function_call": {
                            "name": "f",
                            "partial_args": [{"json_path": "$.a", "string_value": "x"}],
                            "will_continue": True,
                        }
                    },
                    {"function_call": {"id": None, "args": {}, "name": None}},
                    {"inline_data": {"mime_type": "image/png", "data": "AQID"}},
                    {"file_data": {"mime_type": "image/png", "file_uri": "u"}},
                    {"executable_code": {"code": "1"}},
                    {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {
                        "function_response": {
                            "name": "f",
                            "response": {"camelKey": 1},
                            "will_continue": True,
                        }
                    },
                ],
            },
        }
    ],
}


def test_spelling_does_not_matter() -> None:
    def without_raw(events: list[Json]) -> list[Json]:
        return [
            {
                key: value
                for key, value in event.items()
                if key != "raw" or event["kind"] == "finish"
            }
            for event in events
        ]

    plain = without_raw(read(CAMEL))
    assert without_raw(read(SNAKE)) == plain
    assert without_raw(read({"response": SNAKE})) == plain
    assert read({"response": CAMEL}) == read(CAMEL)
    assert len(plain) == 16


def test_the_envelope_of_code_assist_is_read_as_often_as_it_comes() -> None:
    message = {
        "response": {"modelVersion": "m", **parts({"text": "x"})},
        "traceId": "t",
        "metadata": {},
    }
    assert read(message, message, {**message, "traceId": "u"}) == [
        {"kind": "start", "model": "m"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "t"}},
        {"kind": "metadata", "name": "envelope", "raw": {"metadata": {}}},
        {"kind": "text", "text": "x"},
        {"kind": "text", "text": "x"},
        {"kind": "metadata", "name": "trace_id", "raw": {"traceId": "u"}},
        {"kind": "text", "text": "x"},
    ]
