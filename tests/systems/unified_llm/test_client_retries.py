"""The unified-llm client: retries of failed calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.systems.unified_llm import (
    ProviderError,
    RateLimitError,
    RetryPolicy,
    ServerError,
    StreamAccumulator,
)
from tests.systems.unified_llm.loopback import (
    HELLO,
    OVERLOADED,
    RETRY_IN_12_S,
    Loopback,
    answer,
    error,
    reply,
)


@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_call_is_tried_again_after_doubling_waits(stream: bool) -> None:
    busy = answer(OVERLOADED, stream=stream, status=503)
    good = reply("Hi")
    loopback = Loopback(busy, busy, answer(good if stream else good[0], stream=stream))
    with loopback as client:
        response = (
            StreamAccumulator(client.stream(HELLO)).response if stream else client.complete(HELLO)
        )
    assert response.text == "Hi"
    assert loopback.waits == [1.0, 2.0]


def test_after_two_retries_the_error_is_raised() -> None:
    loopback = Loopback(*[answer(OVERLOADED, stream=False, status=503)] * 4)
    with loopback as client, pytest.raises(ServerError):
        client.complete(HELLO)
    assert loopback.waits == [1.0, 2.0]


@pytest.mark.parametrize(
    ("headers", "details", "waits"),
    [
        ({}, [RETRY_IN_12_S], [12.5]),
        ({"Retry-After": "7"}, [], [7]),
        ({"Retry-After": "60"}, [], [60]),
    ],
)
def test_the_wait_that_the_provider_asks_for_is_used(
    headers: dict[str, str], details: list[Any], waits: list[float]
) -> None:
    limited = answer(
        error(429, "RESOURCE_EXHAUSTED", "slow down", *details),
        stream=False,
        status=429,
        headers=headers,
    )
    loopback = Loopback(limited, answer(reply("Hi")[0], stream=False))
    with loopback as client:
        assert client.complete(HELLO).text == "Hi"
    assert loopback.waits == waits


def test_a_wait_over_a_minute_raises_the_error() -> None:
    limited = answer(
        error(429, "RESOURCE_EXHAUSTED", "slow down"),
        stream=False,
        status=429,
        headers={"Retry-After": "61"},
    )
    loopback = Loopback(limited, answer(reply("Hi")[0], stream=False))
    with loopback as client, pytest.raises(RateLimitError) as raised:
        client.complete(HELLO)
    assert (raised.value.retry_after, loopback.waits) == (61, [])


@pytest.mark.parametrize("code", [400, 401, 403, 404, 408, 413])
def test_a_final_error_is_not_tried_again(code: int) -> None:
    loopback = Loopback(
        answer(error(code, ""), stream=False, status=code), answer(reply("Hi")[0], stream=False)
    )
    with loopback as client, pytest.raises(ProviderError):
        client.complete(HELLO)
    assert loopback.waits == []


def test_nothing_is_tried_again_after_the_first_event() -> None:
    broken = answer([*reply("Hi ", "x")[:1], OVERLOADED], stream=True)
    loopback = Loopback(broken, answer(reply("other"), stream=True))
    with loopback as client:
        events = list(client.stream(HELLO))
    assert [event["type"] for event in events] == [
        "STREAM_START",
        "TEXT_START",
        "TEXT_DELTA",
        "TEXT_END",
        "ERROR",
    ]
    assert events[-1]["error"]["type"] == "ServerError"
    assert loopback.waits == []
    with pytest.raises(ServerError, match="overloaded"):
        _ = StreamAccumulator(events).response


def test_an_error_before_the_first_event_is_tried_again() -> None:
    loopback = Loopback(answer([OVERLOADED], stream=True), answer(reply("Hi"), stream=True))
    with loopback as client:
        assert StreamAccumulator(client.stream(HELLO)).response.text == "Hi"
    assert loopback.waits == [1.0]


def test_a_cut_answer_is_tried_again_unless_an_event_was_given() -> None:
    whole = reply("Hi")[0]
    cut = answer(json.dumps(whole).encode()[:40], stream=False, end="cut")
    loopback = Loopback(cut, answer(whole, stream=False))
    with loopback as client:
        assert client.complete(HELLO).text == "Hi"
    assert loopback.waits == [1.0]
    halfway = Loopback(
        answer(reply("Hi ", "there")[:1], stream=True, end="cut"),
        answer(reply("other"), stream=True),
    )
    with halfway as client:
        assert list(client.stream(HELLO))[-1]["error"]["type"] == "StreamError"
    assert halfway.waits == []


def test_waits_are_stretched_by_chance_and_bounded() -> None:
    failure = ServerError("x")
    for chance, seconds in ((0.0, [0.5, 1.0, 2.0, 60.0]), (1.0, [1.5, 3.0, 6.0, 60.0])):
        policy = RetryPolicy(max_retries=99, chance=lambda chance=chance: chance)  # type: ignore[misc]  # binds the value of this iteration
        assert [policy.wait(failure, retries) for retries in (0, 1, 2, 7)] == seconds


def test_each_retry_is_reported_before_its_wait() -> None:
    calls: list[Any] = []
    retry = RetryPolicy(
        chance=lambda: 0.5,
        on_retry=lambda failure, number, seconds: calls.append((type(failure), number, seconds)),
    )
    with Loopback(
        answer(OVERLOADED, stream=False, status=503),
        answer(reply("Hi")[0], stream=False),
        retry=retry,
    ) as client:
        client.complete(HELLO)
    assert calls == [(ServerError, 1, 1.0)]
