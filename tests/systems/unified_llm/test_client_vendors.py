"""The unified-llm client with several vendors: the one that a model names, its key, its limits."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from harness.systems.unified_llm import (
    Client,
    ConfigurationError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RetryPolicy,
    ServerError,
)
from harness.systems.unified_llm.call import Preparer

KEYS = {"GEMINI_API_KEY": "g-key", "OPENAI_API_KEY": "o-key", "ANTHROPIC_API_KEY": "a-key"}
SAID: dict[str, dict[str, Any]] = {
    "gemini": {
        "candidates": [
            {
                "content": {"parts": [{"text": "Hi", "thoughtSignature": "Rw=="}]},
                "finishReason": "STOP",
            }
        ],
        "modelVersion": "m",
    },
    "openai": {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m",
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "Tw=="},
            {
                "id": "msg_1",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
            },
        ],
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "QQ=="},
            {"type": "text", "text": "Hi"},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
ADDRESSES = {
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        "x-goog-api-key: g-key",
    ),
    "openai": ("https://api.openai.com/v1/responses", "authorization: Bearer o-key"),
    "anthropic": ("https://api.anthropic.com/v1/messages", "x-api-key: a-key"),
}
LIMITS = {
    "openai": "x-ratelimit-{value}-{unit}",
    "anthropic": "anthropic-ratelimit-{unit}-{value}",
}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def client(*answers: httpx2.Response, **more: Any) -> tuple[Client, list[httpx2.Request]]:
    """A client for all vendors that gets these answers, and the requests that it will send."""
    requests: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return answers[len(requests) - 1]

    waits: list[float] = []
    options = {"provider": None, "sleep": waits.append, **more}
    return Client(transport=httpx2.MockTransport(handle), **options), requests


def said(vendor: str, **headers: str) -> httpx2.Response:
    return httpx2.Response(200, json=SAID[vendor], headers=headers)


def ask(vendor: str, *messages: Any) -> dict[str, Any]:
    question = {"role": "user", "content": "Hello"}
    return {"model": f"{vendor}:m", "max_tokens": 9, "messages": [*messages, question]}


@pytest.mark.parametrize("vendor", SAID)
def test_the_name_before_a_model_chooses_address_and_key(vendor: str) -> None:
    opened, requests = client(said(vendor))
    with opened:
        response = opened.complete(ask(vendor))
    assert (response.text, response["provider"], response["model"]) == ("Hi", vendor, "m")
    (sent,) = requests
    address, key = ADDRESSES[vendor]
    assert str(sent.url) == address
    assert sent.headers[key.partition(": ")[0]] == key.partition(": ")[2]
    assert "m" in (json.loads(sent.content).get("model"), None) or vendor == "gemini"


def test_without_a_name_gemini_is_asked_and_another_name_is_refused() -> None:
    opened, requests = client(said("gemini"))
    with opened:
        assert opened.complete({**ask("gemini"), "model": "m"}).text == "Hi"
        with pytest.raises(ConfigurationError, match="unknown provider 'other' of the model"):
            opened.complete(ask("other"))
    assert len(requests) == 1


def test_a_vendor_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    opened, requests = client()
    with opened, pytest.raises(ConfigurationError, match="set OPENAI_API_KEY"):
        opened.complete(ask("openai"))
    assert requests == []


def test_one_history_goes_to_each_vendor_without_the_signatures_of_the_others() -> None:
    opened, requests = client(*(said(vendor) for vendor in ("gemini", "anthropic", "openai")))
    history: list[Any] = []
    warnings = []
    with opened:
        for vendor in ("gemini", "anthropic", "openai"):
            response = opened.complete(ask(vendor, *history))
            history = response.messages
            warnings.append([item["message"] for item in response["warnings"]])
    bodies = [request.content.decode() for request in requests]
    assert [("Rw==" in body, "QQ==" in body) for body in bodies] == [(False, False)] * 3
    foreign = [[text for text in of_step if "its maker" in text] for of_step in warnings]
    assert [len(of_step) for of_step in foreign] == [0, 1, 2]
    assert "it is from gemini (m)" in foreign[1][0]
    assert "it is from anthropic (m)" in foreign[2][1]


def test_each_vendor_gets_its_own_signatures_back() -> None:
    for vendor, signature in (("gemini", "Rw=="), ("anthropic", "QQ=="), ("openai", "Tw==")):
        opened, requests = client(said(vendor), said(vendor))
        with opened:
            history = opened.complete(ask(vendor)).messages
            assert opened.complete(ask(vendor, *history))["warnings"] == []
        assert signature in requests[1].content.decode()


@pytest.mark.parametrize("vendor", LIMITS)
def test_the_limits_of_a_vendor_are_in_the_response(vendor: str) -> None:
    def header(unit: str, value: str) -> str:
        return LIMITS[vendor].format(unit=unit, value=value)

    headers = {
        header("requests", "limit"): "500",
        header("requests", "remaining"): "499",
        header("tokens", "reset"): "6m0s",
    }
    opened, _ = client(said(vendor, **headers), said("gemini", **headers))
    with opened:
        assert opened.complete(ask(vendor))["rate_limit"] == {
            "requests_limit": 500,
            "requests_remaining": 499,
            "tokens_reset": "6m0s",
        }
        assert "rate_limit" not in opened.complete(ask("gemini"))


BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
LIMITED = {"error": {"message": "slow", "type": "requests", "code": "rate_limit_exceeded"}}
EMPTY = {"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}


@pytest.mark.parametrize(
    ("vendor", "status", "headers", "body", "waits"),
    [
        ("anthropic", 529, {}, BUSY, [1.0]),
        ("anthropic", 529, {"retry-after": "3"}, BUSY, [3.0]),
        ("openai", 503, {"retry-after": "2"}, {"error": {"message": "busy"}}, [2.0]),
        ("openai", 429, {"retry-after-ms": "250"}, LIMITED, [0.25]),
        ("openai", 429, {"retry-after": "7"}, LIMITED, [7.0]),
    ],
)
def test_an_overloaded_vendor_is_asked_again(
    vendor: str, status: int, headers: dict[str, str], body: Any, waits: list[float]
) -> None:
    waited: list[float] = []
    busy = httpx2.Response(status, json=body, headers=headers)
    retry = RetryPolicy(chance=lambda: 0.5)
    opened, requests = client(busy, said(vendor), retry=retry, sleep=waited.append)
    with opened:
        assert opened.complete(ask(vendor)).text == "Hi"
    assert waited == waits
    assert requests[0].content == requests[1].content


@pytest.mark.parametrize(
    ("vendor", "status", "body", "error"),
    [
        ("anthropic", 529, BUSY, ServerError),
        (
            "anthropic",
            429,
            {"type": "error", "error": {"type": "rate_limit_error"}},
            RateLimitError,
        ),
        ("openai", 429, EMPTY, QuotaExceededError),
    ],
)
def test_an_error_names_the_vendor(
    vendor: str, status: int, body: Any, error: type[ProviderError]
) -> None:
    opened, _ = client(httpx2.Response(status, json=body), retry=RetryPolicy(max_retries=0))
    with opened, pytest.raises(error) as raised:
        opened.complete(ask(vendor))
    assert raised.value.provider == vendor
    assert raised.value.status_code == status


def test_answers_that_are_read_at_once_keep_their_makers() -> None:
    preparer = Preparer("key", None, None, None)
    streams = {
        "gemini": [
            {"candidates": [{"content": {"parts": [{"text": "Hm", "thoughtSignature": "Rw=="}]}}]},
            {"candidates": [{"content": {"parts": [{"text": ".", "thoughtSignature": "Rg=="}]}}]},
        ],
        "anthropic": [
            {"type": "message_start", "message": SAID["anthropic"] | {"content": []}},
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "redacted_thinking", "data": "QQ=="},
            },
        ],
    }
    readings = [preparer.prepare(ask(vendor), stream=True).reading(200, {}) for vendor in streams]
    for messages in zip(*streams.values(), strict=True):
        for reading, message in zip(readings, messages, strict=True):
            list(reading.feed(f"data: {json.dumps(message)}\n\n".encode()))
    origins = {value: preparer.session.origin(value) for value in ("Rw==", "Rg==", "QQ==")}
    vendors = {value: origin and origin.vendor for value, origin in origins.items()}
    assert vendors == {"Rw==": "gemini", "Rg==": "gemini", "QQ==": "anthropic"}
