"""The reader of Gemini's messages: order, metadata, finish and block reasons, the end."""

from __future__ import annotations

import pytest

from harness.providers import PROVIDERS, Answer
from harness.stream.framing import Frame
from tests.support.normalizing import Json, candidate, content, parts, read, read_with

# Order and metadata


def test_the_order_of_a_message_is_start_usage_content_finish() -> None:
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


def test_facts_about_the_reply_are_events_when_they_change() -> None:
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
def test_an_empty_finish_reason_gives_no_event(reason: Json) -> None:
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
