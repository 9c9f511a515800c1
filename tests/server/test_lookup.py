"""The exchange that answers a request, and the message if there is none."""

from __future__ import annotations

import json

import pytest

from harness.cassettes import Exchange
from harness.server import serve
from tests.server.socket_client import (
    JSON,
    MODEL,
    PATH,
    UNARY,
    UNSIGNED,
    USER,
    VERTEX,
    Seen,
    answered,
    asks,
    tape,
)


def test_equal_requests_are_answered_in_recorded_order() -> None:
    exchanges = [answered(((None, text),)) for text in (b"one", b"two")]
    with serve(tape(*exchanges), pace="step") as server:
        assert [Seen(server).blocks for _ in range(3)] == [[b"one"], [b"two"], [b"two"]]
        assert server.unused == []


def test_the_spelling_of_a_request_and_its_host_are_ignored() -> None:
    recorded = b'{"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "generationConfig": {"topP": 1}}'
    asked = b'{"generation_config":{"top_p":1.0},"contents":[{"parts":[{"text":"hi"}]}]}'
    with serve(tape(answered(body=recorded)), pace="step") as server:
        assert Seen(server, asked, PATH.replace("v1beta", "v1") + "&key=secret").end == "complete"
        assert server.misses == []


def test_an_unknown_request_names_the_nearest() -> None:
    with serve(
        tape(answered(), answered(body=asks("other")), answered(path=UNARY, body=asks("hj"))),
        pace="step",
    ) as server:
        token = f"X-Harness-Token: {server.token}\r\n"
        seen = Seen(server, asks("hj"), PATH + "&key=AIzaNever", more=token)
        array = Seen(server, asks("hj"), PATH.removesuffix("?alt=sse"))
        assert (seen.status, "X-Harness: not recorded" in seen.headers) == (
            "HTTP/1.1 404 Not Found",
            True,
        )
        error = json.loads(seen.rest)["error"]
        assert (error["code"], error["status"], list(json.loads(array.rest)[0])) == (
            404,
            "NOT_FOUND",
            ["error"],
        )
        assert (
            f"No recorded exchange answers POST {PATH.partition('?')[0]}. The nearest is exchange 1 of the cassette"
            in error["message"]
        )
        assert 'body.contents[0].parts[0].text: recorded "hi", here "hj"' in error["message"]
        assert server.misses[0] == error["message"]
        assert b"AIza" not in seen.raw
        assert server.unused == [
            "exchange 1 of the cassette",
            "exchange 2 of the cassette",
            "exchange 3 of the cassette",
        ]


def test_long_values_of_the_nearest_request_are_shortened() -> None:
    with serve(tape(answered()), pace="step") as server:
        Seen(server, asks("book " * 10_000))
        assert len(server.misses[0]) < 1000
        assert "book book" in server.misses[0]


def test_a_match_by_path_ignores_the_body_but_not_its_history() -> None:
    exchanges = [
        answered(((None, b"one"),)),
        answered(((None, b"other model"),), path=PATH.replace(MODEL, "gemini-3-pro")),
        answered(((None, b"two"),), body=asks("2")),
    ]
    exchanges.append(answered(((None, b"[array]"),), path=PATH.removesuffix("?alt=sse")))
    with serve(tape(*exchanges), pace="step", match="path") as server:
        assert [Seen(server, asks(text)).blocks for text in ("2", "0", "1")] == [
            [b"one"],
            [b"two"],
            [b"two"],
        ]
        assert Seen(server, asks("?"), PATH.replace(MODEL, "gemini-3-pro")).blocks == [
            b"other model"
        ]
        assert Seen(server, asks("?"), UNARY).status == "HTTP/1.1 404 Not Found"
        assert Seen(server, asks("?"), PATH.removesuffix("?alt=sse")).blocks == [b"[array]"]
        assert (
            Seen(server, json.dumps({"contents": [USER, *UNSIGNED]}).encode()).status
            == "HTTP/1.1 400 Bad Request"
        )


@pytest.mark.parametrize(
    ("provider", "path", "served"),
    [
        (None, PATH, True),
        (None, VERTEX, True),
        (None, UNARY, False),
        ("vertex-ai", VERTEX, True),
        ("vertex-ai", PATH, False),
    ],
)
def test_a_bare_answer_answers_every_request_of_its_kind(
    provider: str | None, path: str, served: bool
) -> None:
    bare = Exchange(
        None,
        200,
        {},
        ((None, b'data: {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}\n\n'),),
        "unknown",
    )
    with serve(tape(bare), pace="step", provider=provider) as server:
        assert (Seen(server, asks("anything"), path).status == "HTTP/1.1 200 ") is served


def test_answers_without_a_request_answer_in_their_mode_and_order() -> None:
    unary = b'{"candidates": [{"content": {"parts": [{"text": "whole"}]}}]}'
    bodies = (
        b'data: {"candidates": [{"content": {}}], "responseId": "1"}\n\n',
        unary,
        b'data: {"candidates": [{"content": {}}]}\n\n',
    )
    with serve(
        tape(*(Exchange(None, 200, {}, ((None, body),), "unknown") for body in bodies)), pace="step"
    ) as server:
        assert [Seen(server, asks("x"), path).blocks[0] for path in (UNARY, PATH, PATH, UNARY)] == [
            unary,
            bodies[0],
            bodies[2],
            unary,
        ]


def test_the_output_of_a_program_is_not_served() -> None:
    line = b'{"type":"init","timestamp":"2026-01-01T00:00:00Z","session_id":"s","model":"m"}\n'
    with serve(
        tape(Exchange(None, 200, {}, ((None, line),), "complete"), answered()), pace="step"
    ) as server:
        assert server.unused == ["exchange 2 of the cassette"]


def test_a_recorded_answer_comes_before_a_made_up_one() -> None:
    count = answered(
        ((None, b'{"totalTokens": 77}'),), path=f"/v1beta/models/{MODEL}:countTokens", headers=JSON
    )
    with serve(tape(count), pace="step") as server:
        assert Seen(server, path=f"/v1/models/{MODEL}:countTokens").blocks == [
            b'{"totalTokens": 77}'
        ]
