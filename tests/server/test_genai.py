"""google-genai as the client of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import errors, types

from harness.server import Server, serve
from tests.server.socket_client import JSON, MODEL, answered, asks, tape

STREAM = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Plan","thought": true}],"role": "model"}}],"responseId": "r"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"text": "Gr\xc3\xbc"}],"role": "model"}}],"responseId": "r"}\r\n\r\n',
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1","name": "look","args": {"at": 1}},',
    b'"thoughtSignature": "U0lH"}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"totalTokenCount": 9}}\r\n\r\n',
)


OVERLOADED = b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded.",\n    "status": "UNAVAILABLE"\n  }\n}\n'


QUOTA = b'{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}'


def timed(*reads: bytes) -> tuple[tuple[float, bytes], ...]:
    return tuple((10.0 * number, data) for number, data in enumerate(reads, 1))


STREAMS = {
    "whole": answered(timed(*STREAM), body=asks("whole")),
    "cut": answered(timed(*STREAM[:2]), body=asks("cut"), end="cut"),
    "reset": answered(timed(*STREAM[:2]), body=asks("reset"), end="reset"),
    "broken": answered(timed(STREAM[0], OVERLOADED), body=asks("broken")),
    "quota": answered(timed(QUOTA), body=asks("quota"), status=429, headers=JSON),
}


def client_of(base_url: str) -> genai.Client:
    async_args = {"transport": httpx2.AsyncHTTPTransport()}  # else aiohttp, if it is installed
    return genai.Client(
        api_key="none",
        http_options=types.HttpOptions(
            base_url=base_url, api_version="v1beta", async_client_args=async_args
        ),
    )


def stream_sync(base_url: str, prompt: str, got: list[types.GenerateContentResponse]) -> None:
    with client_of(base_url) as client:
        got.extend(client.models.generate_content_stream(model=MODEL, contents=prompt))


def stream_async(base_url: str, prompt: str, got: list[types.GenerateContentResponse]) -> None:
    async def run() -> None:
        with client_of(base_url) as client:
            async with client.aio as talking:
                async for response in await talking.models.generate_content_stream(
                    model=MODEL, contents=prompt
                ):
                    got.append(response)

    asyncio.run(run())


@pytest.fixture
def streams() -> Iterator[Server]:
    with serve(tape(*STREAMS.values()), pace="recorded") as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
@pytest.mark.parametrize("cuts", ["recorded", "bytes"])
def test_google_genai_streams(
    stream: Callable[[str, str, list[Any]], None], cuts: str, streams: Server
) -> None:
    streams.behave(cuts=cuts, pace="recorded" if cuts == "recorded" else "instant")
    got: list[types.GenerateContentResponse] = []
    stream(streams.base_url, "whole", got)
    parts = [part for response in got for part in (response.candidates or [])[0].content.parts]  # type: ignore[union-attr]  # each has content
    assert [(part.text, part.thought) for part in parts[:2]] == [("Plan", True), ("Grü", None)]
    called = parts[2].function_call
    assert called is not None
    assert (called.id, called.args, parts[2].thought_signature) == ("c1", {"at": 1}, b"SIG")
    assert got[-1].usage_metadata.total_token_count == 9  # type: ignore[union-attr]  # it has usage
    assert streams.misses == []


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
@pytest.mark.parametrize(
    ("prompt", "error", "part", "responses"),
    [
        (
            "cut",
            httpx2.RemoteProtocolError,
            "peer closed connection without sending complete message body",
            2,
        ),
        ("reset", httpx2.ReadError, None, 2),
        ("broken", errors.ServerError, "503 UNAVAILABLE", 1),
        ("quota", errors.ClientError, "429 RESOURCE_EXHAUSTED", 0),
        ("unheard of", errors.ClientError, "404 NOT_FOUND.*No recorded exchange answers POST", 0),
    ],
)
def test_google_genai_meets_every_end(
    stream: Callable[[str, str, list[Any]], None],
    prompt: str,
    error: type[Exception],
    part: str | None,
    responses: int,
    streams: Server,
) -> None:
    got: list[types.GenerateContentResponse] = []
    with pytest.raises(error, match=part):
        stream(streams.base_url, prompt, got)
    assert len(got) == responses


@pytest.mark.slow
def test_google_genai_lists_models_and_counts_tokens(streams: Server) -> None:
    with client_of(streams.base_url) as client:
        assert [model.name for model in client.models.list()] == [f"models/{MODEL}"]
        assert client.models.get(model=MODEL).name == f"models/{MODEL}"
        assert (
            client.models.count_tokens(model=MODEL, contents="sixteen letters.").total_tokens == 4
        )
