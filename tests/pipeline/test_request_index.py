"""A request finds the exchange that was recorded for it, at any address and in any spelling."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.pipeline import request_index
from harness.pipeline.request_index import MAX_COMPARED, RequestIndex
from harness.specs.matching import Mismatch
from harness.stream.exchange import Exchange, Request

MODELS = "https://generativelanguage.googleapis.com/v1beta/models"
STREAM = f"{MODELS}/m:streamGenerateContent?alt=sse"
VERTEX = "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west4/publishers/google/models"


def asks(text: str, **others: Any) -> bytes:
    return json.dumps(
        {"contents": [{"role": "user", "parts": [{"text": text}]}], **others}
    ).encode()


def recorded(*requests: tuple[str, str, bytes]) -> list[Exchange]:
    return [Exchange(Request(method, url, {}, body), 200, {}, ()) for method, url, body in requests]


@pytest.mark.parametrize(
    ("recorded_url", "url"),
    [
        (STREAM, "http://127.0.0.1:40123/v1/models/m:streamGenerateContent?alt=sse"),
        (STREAM, f"{STREAM}&key=one"),
        (f"{STREAM}&key=REDACTED", f"{STREAM}&key=one"),
        (
            STREAM,
            "http://localhost:1/router/google/v1alpha/models/m:streamGenerateContent?%24alt=sse",
        ),
        (STREAM, f"{MODELS}/m%3AstreamGenerateContent?alt=sse"),
        (STREAM, "models/m:streamGenerateContent?alt=sse"),
        (f"{MODELS}/m:generateContent", f"{MODELS}/m:generateContent?alt=json"),
        ("https://host/v1beta/interactions/v1_a", "http://a/v1/interactions/v1_a?stream=false"),
        (f"{MODELS}/m:generateContent?a=1&b=2", f"{MODELS}/m:generateContent?b=2&a=1"),
        (
            f"{VERTEX}/m:generateContent",
            "http://[::1]:1/v1/projects/other/locations/global/publishers/google/models/m:generateContent",
        ),
        (
            f"{VERTEX}/m:generateContent",
            "https://aiplatform.googleapis.com/v1/publishers/google/models/m:generateContent",
        ),
        (
            "https://cloudcode-pa.googleapis.com/v1internal:countTokens",
            "http://127.0.0.1:9/proxy/v1internal:countTokens",
        ),
    ],
)
def test_the_address_of_a_request_does_not_matter(recorded_url: str, url: str) -> None:
    assert (
        RequestIndex(recorded(("POST", recorded_url, asks("a")))).find("post", url, asks("a")) == 0
    )


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", STREAM, asks("a")),
        ("POST", f"{MODELS}/m:streamGenerateContent", asks("a")),
        ("POST", f"{MODELS}/m:generateContent?alt=sse", asks("a")),
        ("POST", f"{MODELS}/n:streamGenerateContent?alt=sse", asks("a")),
        ("POST", f"{VERTEX}/m:streamGenerateContent?alt=sse", asks("a")),
        ("POST", f"{STREAM}&fields=usageMetadata", asks("a")),
        ("POST", STREAM, asks("b")),
        ("POST", STREAM, b""),
        ("POST", STREAM, asks("a")[:-1]),
        ("POST", STREAM, b"\xff"),
    ],
)
def test_method_and_content_of_a_request_matter(method: str, url: str, body: bytes) -> None:
    index = RequestIndex(recorded(("POST", STREAM, asks("a"))))
    assert index.find(method, url, body) is None
    assert index.unused() == [0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain",
        b"\xff\x00",
        b'{"a":',
        b'{"a": "\\ud800"}',
        b'{"a": 123456789012345678901234567890}',
    ],
)
def test_any_body_finds_itself_and_no_other(body: bytes) -> None:
    index = RequestIndex(recorded(("POST", STREAM, body)))
    assert index.find("POST", STREAM, body + b"1") is None
    assert index.find("POST", STREAM, body) == 0


def test_a_body_is_found_in_every_spelling() -> None:
    index = RequestIndex(
        recorded(("POST", STREAM, asks("a", generationConfig={"maxOutputTokens": 8})))
    )
    assert (
        index.find(
            "POST",
            STREAM,
            b'{"generation_config":{"max_output_tokens":8.0},"contents":{"parts":{"text":"a"}}}',
        )
        == 0
    )


def test_call_numbers_and_project_of_an_envelope_are_ignored() -> None:
    url = "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse"
    envelope = {
        "model": "m",
        "project": "p",
        "user_prompt_id": "1",
        "request": {"contents": [], "session_id": "x"},
    }
    other = {
        "model": "m",
        "project": "q",
        "requestId": "2",
        "request": {"contents": [], "sessionId": "-7"},
    }
    index = RequestIndex(recorded(("POST", url, json.dumps(envelope).encode())))
    assert index.find("POST", url, json.dumps({**other, "model": "n"}).encode()) is None
    assert index.find("POST", url, json.dumps(other).encode()) == 0


def test_equal_requests_are_answered_in_start_order_and_once() -> None:
    exchanges = recorded(
        ("POST", STREAM, asks("a")), ("POST", STREAM, asks("b")), ("POST", STREAM, asks("a"))
    )
    exchanges.insert(1, Exchange(None, 200, {}, ()))
    index, again = RequestIndex(exchanges), RequestIndex(exchanges, again=True)
    for each_index in index, again:
        assert each_index.unused() == [0, 2, 3]
        assert [each_index.find("POST", STREAM, asks("a")) for _ in range(2)] == [0, 3]
        assert each_index.unused() == [2]
    assert index.find("POST", STREAM, asks("a")) is None
    assert [again.find("POST", STREAM, asks("a")) for _ in range(2)] == [3, 3]
    assert again.find("POST", STREAM, asks("c")) is None


def test_the_nearest_request_is_given_with_its_differences() -> None:
    index = RequestIndex(
        recorded(
            ("POST", STREAM, asks("one", labels={"$any": "string"})),
            ("POST", STREAM, asks("two", tools=[{"googleSearch": {}}])),
            ("POST", f"{MODELS}/n:streamGenerateContent?alt=sse", asks("three")),
        )
    )
    assert index.nearest("POST", STREAM, asks("three", tools=[{"google_search": {}}])) == (
        1,
        [Mismatch("body.contents[0].parts[0].text", "changed", "two", "three")],
    )
    assert index.nearest("POST", STREAM, asks("one", labels={"$any": "word"})) == (
        0,
        [Mismatch("body.labels", "changed", {"$literal": {"$any": "string"}}, {"$any": "word"})],
    )
    assert index.unused() == [0, 1, 2]


def test_a_used_equal_request_is_the_nearest_without_a_difference() -> None:
    index = RequestIndex(recorded(("POST", STREAM, asks("a")), ("POST", STREAM, asks("b"))))
    index.find("POST", STREAM, asks("a"))
    assert index.nearest("POST", STREAM, asks("a")) == (0, [])


def test_without_recorded_requests_there_is_no_nearest() -> None:
    assert RequestIndex([]).nearest("POST", STREAM, asks("a")) is None
    assert RequestIndex([Exchange(None, 200, {}, ())]).nearest("POST", STREAM, asks("a")) is None


def test_in_a_long_cassette_requests_near_the_next_are_compared() -> None:
    requests = [("POST", STREAM, asks(f"{number} of many")) for number in range(3 * MAX_COMPARED)]
    index = RequestIndex(recorded(*requests))
    near = 2 * MAX_COMPARED
    index.find(*requests[near - 1])
    nearest = index.nearest("POST", STREAM, asks(f"{near} of many", labels={"a": "b"}))
    assert nearest == (near, [Mismatch("body.labels", "extra", None, {"a": "b"})])


def test_a_look_up_reads_only_the_request_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [("POST", STREAM, asks(str(number))) for number in range(200)]
    index = RequestIndex(recorded(*requests))
    read: list[Any] = []

    def count(body: bytes) -> Any:
        read.append(body)
        return json.loads(body)

    monkeypatch.setattr(request_index, "decode_json", count)
    assert index.find(*requests[150]) == 150
    assert len(read) == 1
