"""Errors of every form: before a stream, inside it, and instead of it."""

from __future__ import annotations

import pytest

from harness.providers import PROVIDERS, Answer
from harness.stream.framing import Frame
from tests.support.normalizing import Json, content, parts, read, read_with

MESSAGE = "You exceeded your current quota."
QUOTA = {
    "error": {
        "code": 429,
        "message": MESSAGE,
        "status": "RESOURCE_EXHAUSTED",
        "errors": [{"message": "older", "domain": "global", "reason": "rateLimitExceeded"}],
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "QUOTA_EXHAUSTED",
                "domain": "cloudcode-pa.googleapis.com",
            },
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "PerMinute"}, {"quotaId": "PerDay"}, {}],
            },
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
    (
        200,
        {"error": {"code": 499, "message": "x", "status": "CANCELLED"}},
        {"message": "x", "code": 499, "status": "CANCELLED"},
    ),
    (503, {"error": {"code": 14, "message": "x"}}, {"message": "x", "code": 503}),
    (
        400,
        {"error": {"code": "invalid_request", "message": "x"}},
        {"message": "x", "code": 400, "status": "invalid_request"},
    ),
    (200, {"error": {"code": "503", "message": "x"}}, {"message": "x", "code": 503}),
    (403, {"error": {"errors": [{"message": "older"}]}}, {"message": "older", "code": 403}),
    (200, {"error": "text"}, {"message": "text"}),
    (200, {"error": True, "message": "text"}, {"message": "text"}),
    (200, {"error": {}}, {"message": "an error without a message"}),
    (
        401,
        {"error": "invalid_grant", "error_description": "expired"},
        {"message": "expired", "code": 401, "status": "invalid_grant"},
    ),
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


def test_the_lines_of_a_failed_answer_are_one_error() -> None:
    assert read("<html>", "<p>x", status=404) == [
        {"kind": "error", "message": "HTTP 404", "code": 404, "raw": "<html>\n<p>x"}
    ]
    rest = Frame(0, None, "No such mo", partial=True)
    normalizer = PROVIDERS["gemini-api"].normalizer(Answer(404))
    assert read_with(normalizer, [rest]) == [
        {"kind": "error", "message": "No such mo", "code": 404, "raw": "No such mo"}
    ]


def test_a_failed_answer_that_is_cut_is_incomplete() -> None:
    assert read("<html>", status=404, end="cut") == [
        {"kind": "incomplete", "end": "cut", "rest": "<html>"}
    ]


def test_an_error_in_an_array_inside_a_stream() -> None:
    assert content(parts({"text": "x"}), [QUOTA]) == [
        {"kind": "text", "text": "x"},
        {"raw": QUOTA, **QUOTA_ERROR},
    ]


def test_an_error_beside_content_comes_last() -> None:
    message = {"error": {"code": 500, "message": "x"}, **parts({"text": "y"})}
    assert content(message) == [
        {"kind": "text", "text": "y"},
        {"kind": "error", "message": "x", "code": 500, "raw": message},
    ]


@pytest.mark.parametrize("nothing", ["", 0, False, []])
def test_an_empty_error_is_no_error(nothing: Json) -> None:
    assert [event["kind"] for event in content({"error": nothing, **parts({"text": "y"})})] == [
        "unknown",
        "text",
    ]


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
def test_the_time_to_wait_before_a_retry(
    delay: Json, header: str | None, seconds: float | None
) -> None:
    body = {"error": {"code": 429, "details": [{"@type": "RetryInfo", "retryDelay": delay}]}}
    headers = {} if header is None else {"retry-after": header}
    assert read(body, status=429, headers=headers)[0].get("retry_after") == pytest.approx(seconds)
