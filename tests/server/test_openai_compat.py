"""The `openai` library as the client of a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from harness.server import Server, serve
from tests.server.socket_client import tape
from tests.server.wires import (
    CHAT,
    CHAT_CALLING,
    CHAT_DONE,
    MODEL,
    SIGNATURE,
    chunk,
    exchange,
)
from tests.support.need import need

VERTEX = "/v1/projects/other/locations/us-central1/endpoints/openapi/chat/completions"
USER: dict[str, Any] = {"role": "user", "content": "Oslo?"}
TEXT = (chunk({"content": "It is "}), chunk({"content": "mild."}), chunk({}, finish_reason="stop"))
ERROR = b'[{\n  "error": {\n    "code": 429,\n    "message": "Slow down.",\n    "status": "RESOURCE_EXHAUSTED"\n  }\n}\n]'
WHOLE = {
    "choices": [
        {"finish_reason": "stop", "index": 0, "message": {"content": "Mild.", "role": "assistant"}}
    ],
    "created": 1783341582,
    "id": "r",
    "model": MODEL,
    "object": "chat.completion",
}


def asked(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": list(messages), **more}


CASSETTE = tape(
    exchange(CHAT, asked(USER, stream=True), *TEXT, CHAT_DONE),
    exchange(VERTEX, asked(USER, model=f"google/{MODEL}"), json.dumps(WHOLE).encode()),
    exchange(CHAT, asked({**USER, "content": "call"}, stream=True), *CHAT_CALLING),
    exchange(CHAT, asked({**USER, "content": "cut"}, stream=True), *TEXT[:1], end="cut"),
    exchange(CHAT, asked({**USER, "content": "quota"}, stream=True), ERROR, status=429),
)


@pytest.fixture(name="server")
def _server() -> Iterator[Server]:
    need("clients", find_spec("openai"), "openai is not installed")
    with serve(CASSETTE, pace="step") as server:
        yield server


def stream_sync(base_url: str, *messages: dict[str, Any]) -> list[Any]:
    from openai import OpenAI

    with OpenAI(api_key="none", base_url=f"{base_url}/v1beta/openai", max_retries=0) as client:
        request: Any = {"model": MODEL, "messages": messages}
        return list(client.chat.completions.create(**request, stream=True))


def stream_async(base_url: str, *messages: dict[str, Any]) -> list[Any]:
    from openai import AsyncOpenAI

    async def run() -> list[Any]:
        path = f"{base_url}/v1beta/openai"
        async with AsyncOpenAI(api_key="none", base_url=path, max_retries=0) as client:
            request: Any = {"model": MODEL, "messages": messages}
            stream: Any = await client.chat.completions.create(**request, stream=True)
            return [message async for message in stream]

    return asyncio.run(run())


Stream = Callable[..., list[Any]]


@pytest.mark.slow
@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_openai_streams_and_calls(stream: Stream, server: Server) -> None:
    deltas = [message.choices[0].delta for message in stream(server.base_url, USER)]
    assert "".join(delta.content or "" for delta in deltas) == "It is mild."
    first = stream(server.base_url, {**USER, "content": "call"})[0].choices[0].delta
    (called,) = first.tool_calls
    assert (called.id, called.function.arguments) == ("call_297140", '{"city":"Oslo"}')
    assert called.extra_content == {"google": {"thought_signature": SIGNATURE}}
    assert server.misses == []


def message_of(error: Any) -> str:
    """The error message in the body, a list with one item, which the library does not read."""
    (wrapped,) = error.body
    message: str = wrapped["error"]["message"]
    return message


@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_openai_is_refused_a_second_turn_without_the_signature(
    stream: Stream, server: Server
) -> None:
    import openai

    function = {"name": "get_weather", "arguments": "{}"}
    call: dict[str, Any] = {"id": "call_297140", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": "call_297140", "content": "8"}
    with pytest.raises(openai.BadRequestError) as caught:
        stream(server.base_url, USER, {"role": "assistant", "tool_calls": [call]}, result)
    assert "missing a thought_signature" in message_of(caught.value)
    call["extra_content"] = {"google": {"thought_signature": SIGNATURE}}
    with pytest.raises(openai.NotFoundError) as missed:
        stream(server.base_url, USER, {"role": "assistant", "tool_calls": [call]}, result)
    assert "No recorded exchange answers POST" in message_of(missed.value)


@pytest.mark.parametrize("stream", [stream_sync, stream_async])
def test_openai_meets_errors(stream: Stream, server: Server) -> None:
    import openai

    with pytest.raises(openai.RateLimitError) as caught:
        stream(server.base_url, {**USER, "content": "quota"})
    assert message_of(caught.value) == "Slow down."
    with pytest.raises(openai.APIConnectionError):
        stream(server.base_url, {**USER, "content": "cut"})


def test_openai_lists_models_and_asks_vertex_ai(server: Server) -> None:
    from openai import NotFoundError, OpenAI

    with OpenAI(api_key="none", base_url=f"{server.base_url}/v1beta/openai") as client:
        assert [model.id for model in client.models.list()] == [f"models/{MODEL}"]
        assert client.models.retrieve(MODEL).owned_by == "google"
        with pytest.raises(NotFoundError) as caught:
            client.models.retrieve("other")
    assert message_of(caught.value).startswith("models/other is not found")
    vertex = f"{server.base_url}/v1/projects/p/locations/global/endpoints/openapi"
    with OpenAI(api_key="token", base_url=vertex) as client:
        request: Any = {"model": f"google/{MODEL}", "messages": [USER]}
        answer = client.chat.completions.create(**request)
    assert answer.choices[0].message.content == "Mild."
