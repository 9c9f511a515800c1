"""Candidates, the fields beside them, and fields that are unknown or of another type."""

from __future__ import annotations

import pytest

from tests.support.normalizing import Json, candidate, content, parts, read

# Candidates and the fields beside them

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
def test_annotations_are_between_parts_and_finish(name: str, raw: Json) -> None:
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
def test_empty_values_give_no_event(empty: Json) -> None:
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
def test_a_missing_index_is_that_of_the_answer_or_the_position(
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
            {key: value for key, value in candidate.items() if value is not None}
            for candidate in message["candidates"]
        ]
    }
    for spelled in (message, absent):
        assert [event.get("candidate", 0) for event in content(spelled)] == [
            index for index in expected for _ in "tf"
        ]


# Unknown fields, and fields of a wrong type


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
def test_unknown_fields_become_events_with_their_names(message: Json, unknown: Json) -> None:
    assert content(message) == [{"kind": "unknown", **unknown}]


@pytest.mark.parametrize("message", [[], [1], 5, "[DONE]", "oops", True])
def test_a_frame_that_is_no_object_is_unknown(message: Json) -> None:
    assert read(message) == [{"kind": "unknown", "where": "frame", "raw": message}]


def test_a_new_field_in_a_usual_message_is_found() -> None:
    usual: Json = {"response": {"modelVersion": "m", **parts({"text": "x"})}, "traceId": "t"}
    for odd in ({**usual, "odd": 1}, {**usual, "response": {**usual["response"], "odd": 1}}):
        assert read(usual, odd)[3:] == [
            {"kind": "unknown", "where": "field odd", "raw": {"odd": 1}},
            {"kind": "text", "text": "x"},
        ]


def test_an_unknown_fact_is_reported_when_it_changes() -> None:
    events = content({"turnToken": "a"}, {"turnToken": "a"}, {"turnToken": "b"})
    assert [event["raw"] for event in events] == [{"turnToken": "a"}, {"turnToken": "b"}]
