"""The unified-llm client over the Interactions API and the OpenAI-compatible endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import harness
from harness.server import serve
from harness.systems.unified_llm import (
    Client,
    ConfigurationError,
    ContentFilterError,
    InvalidRequestError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RetryPolicy,
    ServerError,
)
from tests.systems.unified_llm.loopback import CASSETTES, KEY, ONCE

GOOGLE = "https://generativelanguage.googleapis.com"
MODEL = "gemini-3.8-flash"
HELLO = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
WEATHER: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": "Oslo and Bern?"}],
    "tools": [{"name": "w", "execute": lambda arguments: f"cold in {arguments['city']}"}],
}


def client(
    provider: str, *answers: Any, status: int = 200, base_url: str | None = None
) -> tuple[Client, list[httpx2.Request]]:
    """A client that gets these answers, and the requests that it will send."""
    requests: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(status, json=answers[len(requests) - 1])

    opened = Client(
        KEY, base_url, provider=provider, retry=ONCE, transport=httpx2.MockTransport(handle)
    )
    return opened, requests


def interaction(*steps: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"object": "interaction", "status": status, "model": MODEL, "steps": steps, **more}


def completion(reason: str, **message: Any) -> dict[str, Any]:
    choice = {"finish_reason": reason, "index": 0, "message": {"role": "assistant", **message}}
    return {"choices": [choice], "id": "r", "model": MODEL, "object": "chat.completion"}


SAID = {
    "interactions": interaction(
        {"type": "model_output", "content": [{"type": "text", "text": "Hi"}]}
    ),
    "openai-compat": completion("stop", content="Hi"),
}


@pytest.mark.parametrize(
    ("provider", "base_url", "address"),
    [
        ("interactions", None, f"{GOOGLE}/v1beta/interactions"),
        ("interactions", "http://h:1/v1", "http://h:1/v1/interactions"),
        ("openai-compat", None, f"{GOOGLE}/v1beta/openai/chat/completions"),
        ("openai-compat", "http://h:1", "http://h:1/v1beta/openai/chat/completions"),
        (
            "openai-compat",
            f"{GOOGLE}/v1beta/openai/",
            f"{GOOGLE}/v1beta/openai/chat/completions",
        ),
        (
            "openai-compat",
            "http://h:1/v1/projects/p/locations/global/endpoints/openapi",
            "http://h:1/v1/projects/p/locations/global/endpoints/openapi/chat/completions",
        ),
    ],
)
def test_each_wire_has_its_address(provider: str, base_url: str | None, address: str) -> None:
    opened, requests = client(provider, SAID[provider], base_url=base_url)
    with opened:
        assert opened.complete(HELLO).text == "Hi"
    assert str(requests[0].url) == address


@pytest.mark.parametrize(
    ("provider", "header"),
    [
        ("interactions", "x-goog-api-key: the-key"),
        ("openai-compat", "authorization: Bearer the-key"),
    ],
)
def test_the_body_says_whether_a_stream_is_wanted(provider: str, header: str) -> None:
    opened, requests = client(provider, SAID[provider], SAID[provider])
    with opened:
        opened.complete(HELLO)
        list(opened.stream(HELLO))
    assert [json.loads(request.content).get("stream") for request in requests] == [None, True]
    name, _, value = header.partition(": ")
    assert requests[0].headers[name] == value


def test_results_of_tools_follow_the_steps_of_interactions() -> None:
    steps: list[dict[str, Any]] = [
        {"type": "thought", "signature": "QUJD"},
        {"type": "function_call", "id": "a1", "name": "w", "arguments": {"city": "Oslo"}},
        {"type": "function_call", "id": "a2", "name": "w", "arguments": {"city": "Bern"}},
    ]
    opened, requests = client(
        "interactions", interaction(*steps, status="requires_action"), SAID["interactions"]
    )
    with opened:
        response = opened.generate(WEATHER)
    assert response.text == "Hi"
    assert [len(step.tool_calls) for step in response.steps] == [2, 0]
    assert json.loads(requests[1].content)["input"][1:] == [
        *steps,
        {"type": "function_result", "call_id": "a1", "name": "w", "result": "cold in Oslo"},
        {"type": "function_result", "call_id": "a2", "name": "w", "result": "cold in Bern"},
    ]


def test_after_a_stored_interaction_only_results_are_sent() -> None:
    call = {"type": "function_call", "id": "a1", "name": "w", "arguments": {"city": "Oslo"}}
    opened, requests = client(
        "interactions",
        interaction(call, status="requires_action", id="v1_a"),
        SAID["interactions"],
    )
    with opened:
        opened.generate({**WEATHER, "provider_options": {"interactions": {"store": True}}})
    second = json.loads(requests[1].content)
    assert second["previous_interaction_id"] == "v1_a"
    assert [step["type"] for step in second["input"]] == ["function_result"]
    assert second["tools"] == [{"type": "function", "name": "w"}]


def test_extra_content_goes_back_over_the_compatible_endpoint() -> None:
    calls = [
        {
            "extra_content": {"google": {"thought_signature": "QUJD"}},
            "function": {"arguments": '{"city":"Oslo"}', "name": "w"},
            "id": "call_1",
            "type": "function",
        },
        {
            "function": {"arguments": '{"city":"Bern"}', "name": "w"},
            "id": "call_2",
            "type": "function",
        },
    ]
    opened, requests = client(
        "openai-compat", completion("tool_calls", tool_calls=calls), SAID["openai-compat"]
    )
    with opened:
        assert opened.generate(WEATHER).text == "Hi"
    assert json.loads(requests[1].content)["messages"][1:] == [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "cold in Oslo"},
        {"role": "tool", "tool_call_id": "call_2", "content": "cold in Bern"},
    ]


def code(word: str) -> dict[str, Any]:
    return {"error": {"code": word, "message": "no"}}


def numbered(status: int, word: str) -> list[dict[str, Any]]:
    return [{"error": {"code": status, "message": "no", "status": word}}]


@pytest.mark.parametrize(
    ("provider", "status", "body", "error"),
    [
        ("interactions", 400, code("invalid_request"), InvalidRequestError),
        ("interactions", 400, code("prohibited_content"), ContentFilterError),
        ("interactions", 429, code("rate_limit_exceeded"), RateLimitError),
        ("interactions", 429, code("quota_exceeded"), QuotaExceededError),
        ("interactions", 503, code("service_unavailable"), ServerError),
        ("openai-compat", 400, numbered(400, "INVALID_ARGUMENT"), InvalidRequestError),
        ("openai-compat", 429, numbered(429, "RESOURCE_EXHAUSTED"), RateLimitError),
        ("openai-compat", 503, numbered(503, "UNAVAILABLE"), ServerError),
    ],
)
@pytest.mark.parametrize(
    "call", [Client.complete, lambda client, request: [*client.stream(request)]]
)
def test_an_error_of_either_wire_is_typed(
    provider: str,
    status: int,
    body: Any,
    error: type[ProviderError],
    call: Callable[[Client, Any], Any],
) -> None:
    opened, _ = client(provider, body, status=status)
    with opened, pytest.raises(error) as raised:
        call(opened, HELLO)
    assert type(raised.value) is error
    assert raised.value.message == "no"
    assert raised.value.status_code == status


def test_an_error_code_of_interactions_is_kept() -> None:
    opened, _ = client("interactions", code("prohibited_content"), status=400)
    with opened, pytest.raises(ContentFilterError) as raised:
        opened.complete(HELLO)
    assert raised.value.error_code == "prohibited_content"
    assert not raised.value.retryable


@pytest.mark.parametrize(
    ("provider", "name"),
    [("interactions", "interactions/stateless-turns"), ("openai-compat", "openai-compat/turns")],
)
def test_a_recorded_stream_gives_the_same_events_live(provider: str, name: str) -> None:
    path = CASSETTES / f"{name}.yaml"
    exchange = harness.load(path).exchanges[0]
    with (
        serve(path, provider=provider, match="path") as server,
        Client(KEY, server.base_url, provider=provider, retry=RetryPolicy(0)) as opened,
    ):
        live = list(opened.stream(HELLO))
    assert live == harness.replay(exchange)


def test_losses_of_the_wire_are_warnings_of_the_response() -> None:
    opened, _ = client("openai-compat", SAID["openai-compat"])
    with opened:
        response = opened.complete({**HELLO, "provider_options": {"gemini": {"top_k": 3}}})
    assert response["warnings"] == [
        {
            "message": "generationConfig.topK: is left out; the compatible endpoint has no field for it"
        }
    ]


def test_a_request_to_an_agent_needs_no_model() -> None:
    opened, requests = client("interactions", SAID["interactions"])
    request = {"messages": HELLO["messages"]}
    with opened:
        opened.complete(
            {**request, "provider_options": {"interactions": {"agent": "deep-research"}}}
        )
        with pytest.raises(ConfigurationError, match="names no model"):
            opened.complete(request)
    assert json.loads(requests[0].content)["agent"] == "deep-research"
