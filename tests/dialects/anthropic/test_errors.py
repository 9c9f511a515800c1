"""The Messages stream of answers that fail or are interrupted: golden streams, one rule a row."""

from __future__ import annotations

import pytest

from harness.stream import events as ev

from .test_response import (
    START,
    STOP,
    Payload,
    begin,
    call,
    error,
    text,
    tool_use,
    translate,
    unknown,
)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (400, "INVALID_ARGUMENT", "invalid_request_error"),
        (401, None, "authentication_error"),
        (403, None, "permission_error"),
        (404, None, "not_found_error"),
        (429, "RESOURCE_EXHAUSTED", "rate_limit_error"),
        (503, "UNAVAILABLE", "overloaded_error"),
        (500, "INTERNAL", "api_error"),
        (499, "CANCELLED", "api_error"),
        (500, "UNAVAILABLE", "api_error"),
        (None, "UNAVAILABLE", "overloaded_error"),
        (None, "RESOURCE_EXHAUSTED", "rate_limit_error"),
        (None, "insufficient_quota", "rate_limit_error"),
        (None, "context_length_exceeded", "invalid_request_error"),
        (None, "invalid_api_key", "authentication_error"),
        (None, None, "api_error"),
    ],
)
def test_error_types(code: int | None, status: str | None, kind: str) -> None:
    assert translate(ev.Error("no", code, status)) == [error(kind, "no")]


CUT = error("api_error", "the stream was cut before its end")

INTERRUPTIONS: dict[str, tuple[list[ev.Event], list[Payload]]] = {
    "cut before anything": ([ev.Incomplete("cut")], [CUT]),
    "reset": (
        [ev.Incomplete("reset")],
        [error("api_error", "the connection was reset before the end of the stream")],
    ),
    "left": (
        [ev.Incomplete("aborted")],
        [error("api_error", "the client left before the end of the stream")],
    ),
    "inside a message": (
        [ev.Incomplete("cut", 'data: {"can')],
        [
            error(
                "api_error",
                "the stream was cut before its end, inside a message of which 11 characters had arrived",
            )
        ],
    ),
    "ended like no other": (
        [ev.Incomplete("unknown")],
        [error("api_error", "the stream stopped before its end")],
    ),
    "an open block stays open": (
        [START, ev.Text("a"), ev.Incomplete("cut")],
        [begin(), *text(0, "a")[:-1], CUT],
    ),
    "an open call has what had arrived, and no end": (
        [
            START,
            ev.CallStart(1, "f"),
            ev.CallPiece(1, "$.x", "ab", more=True),
            ev.Incomplete("cut"),
        ],
        [begin(), *tool_use(0, "toolu_1", "f", '{"x":"ab"}')[:-1], CUT],
    ),
    "counts and a finish reason stand in message_delta, which a broken answer has not": (
        [
            START,
            ev.Text("a"),
            ev.Usage({}, input=3),
            ev.Finish("length", "MAX_TOKENS"),
            ev.Incomplete("cut"),
        ],
        [begin(), *text(0, "a")[:-1], CUT],
    ),
    "a whole call before an error is whole": (
        [START, *call(1, "f", {}), ev.Error("no", 503)],
        [begin(), *tool_use(0, "toolu_1", "f", "{}"), error("overloaded_error", "no")],
    ),
    "the model stands before an error in the stream": (
        [START, ev.Error("no", 503)],
        [begin(), error("overloaded_error", "no")],
    ),
    "unknown things stand before an error": (
        [ev.Unknown("frame", "?"), ev.Error("no", 503)],
        [begin(""), unknown("?"), error("overloaded_error", "no")],
    ),
    "what waited for message_start is said once": (
        [ev.Unknown("frame", "?"), START, ev.Text("a"), ev.Error("no", 503)],
        [begin(), unknown("?"), *text(0, "a")[:-1], error("overloaded_error", "no")],
    ),
    "nothing follows an error": (
        [
            ev.Error("no", 503),
            START,
            ev.Text("a"),
            ev.Unknown("x", 1),
            *call(1, "f", {}),
            STOP,
            ev.Error("again", 400),
        ],
        [error("overloaded_error", "no")],
    ),
}


@pytest.mark.parametrize(("events", "expected"), INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_errors_and_interruptions(events: list[ev.Event], expected: list[Payload]) -> None:
    assert translate(*events) == expected
