"""Cases that run the client: the required context, and the payloads of a call."""

from __future__ import annotations

from typing import Any

import pytest

from harness.adapters import AdapterError, RunOptions
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.providers import with_provider
from harness.stream.exchange import Cassette, Exchange, Origin, Request

URL = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
BODY = b'{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}'
REFUSED = b'{"error": {"code": 429, "message": "Later.", "details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "900s"}]}}'
ASKED = {"model": "gemini:m", "messages": [{"role": "user", "content": "Hi"}]}


def payloads_of(context: dict[str, Any]) -> list[Any]:
    """The payloads of a call that the server refuses for a quarter of an hour."""
    exchange = with_provider(
        Exchange(
            Request("POST", URL, {}, BODY),
            429,
            {"content-type": ["application/json"]},
            ((0.0, REFUSED),),
            "complete",
        )
    )
    cassette = Cassette((exchange,), Origin("written"))
    adapter = make_client_adapter(CLIENTS["unified-llm-client"], lambda name: cassette)
    return adapter.output(exchange, RunOptions(cassette="x", context=context)).items


def test_a_failed_call_gives_its_request_and_its_exception() -> None:
    raised = {
        "type": "RateLimitError",
        "message": "Later.",
        "retryable": True,
        "status_code": 429,
        "retry_after": 900.0,
    }
    assert payloads_of({"call": "complete", "request": ASKED}) == [
        {"sent": {"path": "/v1beta/models/m:generateContent", "key": ["x-goog-api-key"]}},
        {"raised": raised},
    ]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({}, "must have call"),
        ({"call": "complete"}, "must have call"),
        ({"call": "generate", "request": ASKED}, "must have call"),
        ({"call": "complete", "request": "Hi"}, "must have call"),
        ({"call": "complete", "request": ASKED, "key": "x"}, "must have call"),
        (
            {"call": "complete", "request": {"model": "gemini:m", "messages": []}},
            "can't be sent: messages",
        ),
        (
            {
                "call": "complete",
                "request": {
                    "model": "gemini:m",
                    "messages": [
                        {
                            "role": "user",
                            "content": [{"kind": "image", "image": {"url": "/etc/hosts"}}],
                        }
                    ],
                },
            },
            "can't be sent: messages",
        ),
    ],
)
def test_another_context_is_refused(context: dict[str, Any], words: str) -> None:
    with pytest.raises(AdapterError, match=words):
        payloads_of(context)
