"""Answers in Google's words: refused histories, errors, made-up answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.server import serve
from tests.server.socket_client import (
    MODEL,
    PATH,
    UNARY,
    UNSIGNED,
    USER,
    VERTEX,
    Seen,
    answered,
    asks,
    call,
    result,
    tape,
    turn,
)

CODE_ASSIST = "/v1internal:streamGenerateContent?alt=sse"


def test_a_status_fault_answers_only_requests_that_generate() -> None:
    with serve(tape(answered()), fault="status:429") as server:
        seen, models = Seen(server), Seen(server, b"", "/v1beta/models", "GET")
        unary = Seen(server, path=UNARY)
    assert (seen.status, models.status) == ("HTTP/1.1 429 Too Many Requests", "HTTP/1.1 200 OK")
    error = json.loads(seen.rest)["error"]
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert error["details"][-1] == {
        "@type": "type.googleapis.com/google.rpc.RetryInfo",
        "retryDelay": "1s",
    }
    assert unary.status == seen.status


SIGNED = {"thoughtSignature": "U0lH"}


STEP = [turn("model", call("f", **SIGNED)), turn("user", result("f"))]


UNSIGNED_CALL = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing "
    "thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {}. Please refer "
    "to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)


COUNTS = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."


ORDER = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."


RESULT_ORDER = (
    "Please ensure that function response turn comes immediately after a function call turn."
)


HISTORIES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "signed": ([USER, *STEP], None),
    "unsigned": ([USER, *UNSIGNED], UNSIGNED_CALL.format("f", 2)),
    "second step unsigned": (
        [USER, *STEP, turn("model", call("g")), turn("user", result("g"))],
        UNSIGNED_CALL.format("g", 4),
    ),
    "unsigned in an earlier turn": ([USER, *UNSIGNED, turn("model", {"text": "4"}), USER], None),
    "unsigned before a turn that only has results": (
        [USER, *UNSIGNED, *STEP],
        UNSIGNED_CALL.format("f", 2),
    ),
    "signature on the second of two calls": (
        [
            USER,
            turn("model", call("f"), call("g", **SIGNED)),
            turn("user", result("f"), result("g")),
        ],
        None,
    ),
    "signature only on a text": (
        [USER, turn("model", {"text": "", **SIGNED}, call("f")), turn("user", result("f"))],
        UNSIGNED_CALL.format("f", 2),
    ),
    "two parallel calls interleaved": (
        [USER, *STEP, turn("model", call("g")), turn("user", result("g"))],
        UNSIGNED_CALL.format("g", 4),
    ),
    "dummy": (
        [
            USER,
            turn("model", call("f", thoughtSignature="skip_thought_signature_validator")),
            turn("user", result("f")),
        ],
        None,
    ),
    "dummy as the SDK sends it": (
        [
            USER,
            turn(
                "model", call("f", thoughtSignature="c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
            ),
            turn("user", result("f")),
        ],
        None,
    ),
    "the other dummy": (
        [
            USER,
            turn("model", call("f", thoughtSignature="context_engineering_is_the_way_to_go")),
            turn("user", result("f")),
        ],
        None,
    ),
    "snake case, no padding": (
        [
            USER,
            turn("model", {"function_call": {"name": "f"}, "thought_signature": "U0lH"}),
            turn("user", result("f")),
        ],
        None,
    ),
    "altered": (
        [USER, turn("model", call("f", thoughtSignature="U0lI")), turn("user", result("f"))],
        "Invalid thought signature.",
    ),
    "a result too few": (
        [USER, turn("model", call("f", **SIGNED), call("g")), turn("user", result("f"))],
        COUNTS,
    ),
    "a result too many": (
        [USER, turn("model", call("f", **SIGNED)), turn("user", result("f"), result("g"))],
        COUNTS,
    ),
    "results of no call": ([USER, turn("user", result("f"))], RESULT_ORDER),
    "no result": ([USER, turn("model", call("f", **SIGNED)), USER], COUNTS),
    "a call after a text of the same turn": (
        [
            USER,
            turn("model", {"text": "I"}),
            turn("model", call("f", **SIGNED)),
            turn("user", result("f")),
        ],
        None,
    ),
    "a call first": ([turn("model", call("f", **SIGNED)), turn("user", result("f"))], ORDER),
    "results in the role of the model": ([USER, STEP[0], turn("model", result("f")), *STEP], None),
    "a role that is none": (
        [USER, turn("assistant", {"text": "4"}), USER],
        "Please use a valid role: user, model.",
    ),
}


ANSWER_WITH_SIGNATURE = b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "U0lH"}]}}]}\r\n\r\n'


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("path", [PATH, UNARY, VERTEX, CODE_ASSIST])
def test_a_history_is_checked_like_the_api_checks_it(name: str, path: str) -> None:
    contents, message = HISTORIES[name]
    body: dict[str, Any] = {"contents": contents}
    if path == CODE_ASSIST:
        body = {"model": MODEL, "project": "p", "request": body}
    with serve(tape(answered(((None, ANSWER_WITH_SIGNATURE),))), pace="step") as server:
        seen = Seen(server, json.dumps(body).encode(), path)
    error = json.loads(seen.rest)["error"]
    if message is None:
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")
    else:
        assert (error["code"], error["status"], error["message"]) == (
            400,
            "INVALID_ARGUMENT",
            message,
        )


@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("gemini-2.5-flash", 404),
        ("gemini-2.0-flash", 404),
        ("gemini-3-pro-image", 404),
        ("gemini-3.8-flash", 400),
        ("gemini-4-argon", 400),
        ("gemini-pro-latest", 400),
    ],
)
def test_signatures_are_asked_for_from_gemini_3_on(model: str, code: int) -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(
            server, json.dumps({"contents": [USER, *UNSIGNED]}).encode(), PATH.replace(MODEL, model)
        )
    assert json.loads(seen.rest)["error"]["code"] == code


def test_a_recorded_request_with_any_history_is_answered() -> None:
    body = json.dumps({"contents": [USER, *UNSIGNED]}).encode()
    with serve(tape(answered(body=body)), pace="step") as server:
        assert Seen(server, body).status == "HTTP/1.1 200 "


def described(prefix: str) -> dict[str, Any]:
    methods = ["generateContent", "countTokens"]
    return {
        "name": prefix + MODEL,
        "version": MODEL,
        "displayName": MODEL,
        "supportedGenerationMethods": methods,
    }


PROJECT = {"id": "harness-project", "name": "harness-project"}


DONE = {
    "name": "operations/harness",
    "done": True,
    "response": {"cloudaicompanionProject": PROJECT},
}


@pytest.mark.parametrize(
    ("method", "path", "body", "content"),
    [
        ("GET", "/v1/models?pageSize=5", b"", {"models": [described("models/")]}),
        (
            "GET",
            f"/v1beta1/publishers/google/models/{MODEL}",
            b"",
            described("publishers/google/models/"),
        ),
        ("POST", f"/v1/models/{MODEL}:countTokens", asks("sixteen letters."), {"totalTokens": 4}),
        (
            "POST",
            "/v1internal:countTokens",
            b'{"request": {"contents": [{"parts": [{"text": ""}]}]}}',
            {"totalTokens": 1},
        ),
        ("GET", "/v1internal/operations/x", b"", DONE),
    ],
)
def test_answers_to_other_requests_are_made_up_and_marked(
    method: str, path: str, body: bytes, content: Any
) -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, body, path, method)
    assert (json.loads(seen.rest), "X-Harness: not recorded" in seen.headers) == (content, True)


def test_code_assist_sets_up_a_user_who_has_a_project() -> None:
    with serve(tape(answered()), pace="step") as server:
        loaded, onboarded = (
            json.loads(Seen(server, b"{}", f"/v1internal:{name}").rest)
            for name in ("loadCodeAssist", "onboardUser")
        )
        quota = json.loads(Seen(server, b"{}", "/v1internal:retrieveUserQuota").rest)
        assert Seen(server, b"{}", "/v1internal:launchRockets").status == "HTTP/1.1 404 Not Found"
    assert (loaded["currentTier"]["id"], loaded["cloudaicompanionProject"]) == (
        "standard-tier",
        "harness-project",
    )
    assert [bucket["modelId"] for bucket in quota["buckets"]] == [MODEL]
    assert (onboarded["done"], onboarded["response"]["cloudaicompanionProject"]["id"]) == (
        True,
        "harness-project",
    )


def test_an_unknown_model_is_not_found_by_name() -> None:
    with serve(tape(answered()), pace="step") as server:
        seen = Seen(server, b"", "/v1beta/models/gemini-9", "GET")
    assert (
        json.loads(seen.rest)["error"]["message"]
        == f"models/gemini-9 is not found; the served cassettes answer for {MODEL}."
    )
