"""Answers, loopback servers and clients for the tests of the unified-llm client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2

import harness
from harness import Cassette, Exchange, Origin, Request
from harness.server import serve
from harness.systems.unified_llm import (
    Client,
    RetryPolicy,
)

CASSETTES = Path(__file__).parents[3] / "cassettes"
KEY = "the-key"
MODEL = "gemini-3-pro-preview"
HELLO = {
    "model": f"gemini:{MODEL}",
    "messages": [{"role": "user", "content": [{"kind": "text", "text": "Hello"}]}],
}
ONCE = RetryPolicy(max_retries=0)

API = "https://generativelanguage.googleapis.com/v1beta"


def reply(*texts: str, finish: str = "STOP") -> list[dict[str, Any]]:
    last = len(texts) - 1
    return [
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": text}], "role": "model"},
                    **({"finishReason": finish} if at == last else {}),
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 3,
                "candidatesTokenCount": at + 1,
                "totalTokenCount": at + 4,
            },
            "modelVersion": MODEL,
            "responseId": "r1",
        }
        for at, text in enumerate(texts)
    ]


def answer(
    messages: Any,
    *,
    stream: bool,
    status: int = 200,
    headers: dict[str, str] | None = None,
    end: Any = "complete",
) -> Exchange:
    """One exchange; a stream has one read per message. ``messages`` may also be the body itself."""
    if isinstance(messages, bytes):
        reads = [messages]
    elif stream and status == 200:
        reads = [b"data: " + json.dumps(message).encode() + b"\r\n\r\n" for message in messages]
    else:
        reads = [json.dumps(messages).encode()]
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    kind = "text/event-stream" if stream and status == 200 else "application/json"
    request = Request(
        "POST", f"{API}/models/{MODEL}:{method}", {"content-type": ["application/json"]}, b"{}"
    )
    given = {"Content-Type": [kind], **{name: [value] for name, value in (headers or {}).items()}}
    return Exchange(request, status, given, tuple((None, read) for read in reads), end, "")


def error(code: int, status: str, message: str = "no", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


RETRY_IN_12_S = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}


class Loopback:
    """A server that answers with the exchanges in order, and a client of it.

    ``waits`` collects the waiting times in seconds; the client does not really wait.
    """

    def __init__(
        self, *exchanges: Exchange, retry: RetryPolicy | None = None, **options: Any
    ) -> None:
        self.server = serve(
            Cassette(exchanges, Origin("written")),
            pace="instant",
            match="path",
            strictness="lenient",  # the tests ask for any recorded answer with one prompt
        )
        self.retry = retry or RetryPolicy(chance=lambda: 0.5)
        self.options = options
        self.waits: list[float] = []

    def __enter__(self) -> Client:
        self.server.__enter__()
        # loopback needs no certificates, and reading those of the system takes long
        plain = httpx2.HTTPTransport(verify=False)
        self.client = Client(
            KEY,
            self.server.base_url,
            retry=self.retry,
            sleep=self.waits.append,
            transport=plain,
            **self.options,
        )
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.server.__exit__(None, None, None)


def called(*calls: tuple[str, dict[str, Any]]) -> Exchange:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": args}} for name, args in calls
    ]
    parts[0]["thoughtSignature"] = "U0lH"  # the server requires it back
    return answer(
        {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]},
        stream=False,
    )


def tool(name: str, execute: Any) -> dict[str, Any]:
    return {"name": name, "execute": execute}


OVERLOADED = error(503, "UNAVAILABLE", "overloaded")


RECORDED = [
    (f"{path.parent.name}-{path.stem}-{number}", exchange)
    for path in sorted(CASSETTES.glob("*/*.yaml"))
    for number, exchange in enumerate(harness.load(path).exchanges, 1)
    if exchange.generates
]
"""(name, exchange) of every recorded answer."""
