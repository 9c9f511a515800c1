"""The unified-llm client: the errors that it raises."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from harness import Cassette, Origin
from harness.server import serve
from harness.systems.unified_llm import (
    AuthenticationError,
    Client,
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    NetworkError,
    NoObjectGeneratedError,
    NotFoundError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    SDKError,
    ServerError,
    StreamError,
    Timeouts,
    errors,
)
from tests.systems.unified_llm.loopback import (
    HELLO,
    KEY,
    ONCE,
    Loopback,
    answer,
    error,
    reply,
)

STATUSES: dict[int, tuple[str, type[SDKError], bool]] = {
    400: ("INVALID_ARGUMENT", InvalidRequestError, False),
    401: ("UNAUTHENTICATED", AuthenticationError, False),
    403: ("PERMISSION_DENIED", errors.AccessDeniedError, False),
    404: ("NOT_FOUND", NotFoundError, False),
    408: ("", RequestTimeoutError, False),
    409: ("ABORTED", ProviderError, True),
    413: ("", ContextLengthError, False),
    429: ("RESOURCE_EXHAUSTED", RateLimitError, True),
    500: ("INTERNAL", ServerError, True),
    503: ("UNAVAILABLE", ServerError, True),
    504: ("DEADLINE_EXCEEDED", ServerError, True),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("code", STATUSES)
def test_a_status_is_a_typed_error(code: int, stream: bool) -> None:
    status, kind, retryable = STATUSES[code]
    body = error(code, status, "so it is")
    with (
        Loopback(answer(body, stream=stream, status=code), retry=ONCE) as client,
        pytest.raises(SDKError) as raised,
    ):
        list(client.stream(HELLO)) if stream else client.complete(HELLO)
    failure = raised.value
    assert isinstance(failure, ProviderError)
    assert type(failure) is kind
    assert (
        failure.message,
        failure.status_code,
        failure.error_code or "",
        failure.retryable,
        failure.raw,
    ) == (
        "so it is",
        code,
        status,
        retryable,
        body,
    )
    assert str(failure) == "so it is"


DETAILS: dict[str, tuple[dict[str, Any], type[SDKError]]] = {
    "bad key": (
        error(
            400,
            "INVALID_ARGUMENT",
            "API key not valid.",
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ),
        AuthenticationError,
    ),
    "too long": (
        error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (5).",
        ),
        ContextLengthError,
    ),
    "a day's quota": (
        error(
            429,
            "RESOURCE_EXHAUSTED",
            "quota",
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}],
            },
        ),
        QuotaExceededError,
    ),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_decide_where_the_status_is_ambiguous(name: str) -> None:
    body, kind = DETAILS[name]
    exchange = answer(body, stream=False, status=body["error"]["code"])
    with Loopback(exchange, retry=ONCE) as client, pytest.raises(SDKError) as raised:
        client.complete(HELLO)
    assert type(raised.value) is kind
    assert not raised.value.retryable


OF_THE_PROVIDER: tuple[type[SDKError], ...] = (
    *(
        AuthenticationError,
        errors.AccessDeniedError,
        NotFoundError,
        InvalidRequestError,
        RateLimitError,
        ServerError,
    ),
    *(errors.ContentFilterError, ContextLengthError, QuotaExceededError, RequestTimeoutError),
)
OF_THE_CLIENT: tuple[type[SDKError], ...] = (
    *(
        ProviderError,
        errors.AbortError,
        NetworkError,
        StreamError,
        errors.InvalidToolCallError,
        errors.UnsupportedToolChoiceError,
    ),
    *(NoObjectGeneratedError, ConfigurationError),
)


def test_the_hierarchy_of_errors() -> None:
    assert set(SDKError.__subclasses__()) == set(OF_THE_CLIENT)
    assert set(ProviderError.__subclasses__()) == set(OF_THE_PROVIDER)
    assert ProviderError("x", status_code=418).provider == "gemini"


def test_no_connection_is_a_network_error() -> None:
    with (
        Client(KEY, "http://127.0.0.1:9", retry=ONCE) as client,
        pytest.raises(NetworkError) as raised,
    ):
        client.complete(HELLO)
    assert raised.value.retryable
    assert isinstance(raised.value.cause, httpx2.ConnectError)


@pytest.mark.slow
def test_a_timeout_is_not_tried_again() -> None:
    waits: list[float] = []
    with serve(
        Cassette((answer(reply("x"), stream=True),), Origin("written")),
        match="path",
        fault="stall:0",
    ) as server:
        quick = Timeouts(stream_read=0.3)
        with (
            Client(KEY, server.base_url, timeouts=quick, sleep=waits.append) as client,
            pytest.raises(RequestTimeoutError),
        ):
            list(client.stream(HELLO))
    assert waits == []


@pytest.mark.slow
def test_a_stream_that_stalls_halfway_ends_in_an_error_event() -> None:
    stalled = serve(
        Cassette((answer(reply("Hi ", "there"), stream=True),), Origin("written")),
        match="path",
        fault="stall:1",
    )
    with (
        stalled as server,
        Client(KEY, server.base_url, timeouts=Timeouts(stream_read=0.3)) as client,
    ):
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "ERROR",
    ]
    assert events[-1]["error"]["message"] == "the stream ended before it was complete (aborted)"


def test_a_bad_address_is_a_configuration_error() -> None:
    with Client(KEY, "ftp://h", retry=ONCE) as client, pytest.raises(ConfigurationError):
        client.complete(HELLO)
