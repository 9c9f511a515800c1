"""Provider answers and settings for several tests of recording runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice

from harness.cassettes import Cassette
from harness.recording.run import record_requests
from harness.recording.settings import GenerateAsk, Settings
from tests.support.raw_server import Connection, Script, plain, streaming

BODY: dict[str, Any] = {
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "hi", "thoughtSignature": "QUJD", "brandNew": {"snake_key": 1}}],
        }
    ],
    "generationConfig": {"temperature": 0, "futureSetting": True},
    "unheardOf": [1],
}


USAGE = '"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "thoughtsTokenCount": 7, "totalTokenCount": 15}'


def event(text: str) -> bytes:
    candidate = f'{{"content": {{"parts": [{{"text": "{text}"}}],"role": "model"}},"finishReason": "STOP","index": 0}}'
    return f'data: {{"candidates": [{candidate}],{USAGE},"modelVersion": "m"}}\r\n\r\n'.encode()


HELLO = streaming(event("hello"))


ENVIRONMENT = """
    GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION GOOGLE_GENAI_HTTP_CLIENT HARNESS_MODEL CODE_ASSIST_ACCESS_TOKEN
    CODE_ASSIST_ENDPOINT CODE_ASSIST_CLIENT_ID CODE_ASSIST_CLIENT_SECRET CODE_ASSIST_TOKEN_URI GOOGLE_CLOUD_ACCESS_TOKEN
    GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL GOOGLE_GENAI_API_VERSION CODE_ASSIST_API_VERSION GOOGLE_APPLICATION_CREDENTIALS
"""


KEY = "a-key-for-the-recording"


class Seen:
    """Scripts that note their requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    def __call__(self, script: Script) -> Script:
        def noting(connection: Connection) -> None:
            head, _, body = connection.request.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
            }
            self.requests.append((first, headers, json.loads(body)))
            script(connection)

        return noting


TIER = b'{"currentTier": {"id": "free-tier"}, "cloudaicompanionProject": "my-project"}'


CA_EVENT = b'data: {"response": {"candidates": [{"content": {"role": "model","parts": [{"text": "hi"}]},"finishReason": "STOP"}]},"traceId": "t"}\r\n\r\n'


def limited(delay: str, quota: str = "PerMinute", reason: str = "RATE_LIMIT_EXCEEDED") -> Script:
    details = [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": quota}],
        },
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason},
    ]
    body = json.dumps(
        {
            "error": {
                "code": 429,
                "message": "slow down",
                "status": "RESOURCE_EXHAUSTED",
                "details": details,
            }
        }
    )
    return plain("429 Too Many Requests", body.encode(), "Content-Type: application/json")


def ask(url: str, path: Path, asks: Any = None, **options: Any) -> Cassette:
    return record_requests(
        "gemini-api",
        asks or [GenerateAsk(BODY, "m")],
        path,
        settings=Settings(api_key=KEY, base_url=url),
        **options,
    )


PROGRAM = """
import sys, time
assert sys.argv[1:3] == ["-p", "Say hello"], sys.argv
print('{"type":"init","timestamp":"2026-11-21T10:00:00.000Z","session_id":"s","model":"%s"}' % sys.argv[-1], flush=True)
sys.stderr.write("Loaded cached credentials.\\nsecond line\\n")
sys.stdin.read()
time.sleep(0.05)
print('{"type":"result","timestamp":"2026-11-21T10:00:00.200Z","status":"success"}', flush=True)
if len(sys.argv) > 7:
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(41)
"""
