"""The unified-llm client for asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import harness
from harness import Cassette, Origin
from harness.server import serve
from harness.systems.unified_llm import (
    AsyncClient,
    AuthenticationError,
    NetworkError,
    RetryPolicy,
)
from tests.systems.unified_llm.loopback import HELLO, KEY, ONCE, OVERLOADED, answer, error, reply


def test_the_async_client_gives_the_same_answers() -> None:
    waits: list[float] = []

    async def nap(seconds: float) -> None:
        waits.append(seconds)

    busy = [answer(OVERLOADED, stream=stream, status=503) for stream in (False, True)]
    good = [answer(reply("Hi")[0], stream=False), answer(reply("Hi ", "there"), stream=True)]
    retry = RetryPolicy(chance=lambda: 0.5)

    async def talk(base_url: str) -> tuple[str, list[dict[str, Any]]]:
        async with AsyncClient(KEY, base_url, retry=retry, sleep=nap) as client:
            text = (await client.complete(HELLO)).text
            return text, [event async for event in client.stream(HELLO)]

    with serve(Cassette((*busy, *good), Origin("written")), pace="instant", match="path") as server:
        text, events = asyncio.run(talk(server.base_url))
    assert (text, waits) == ("Hi", [1.0, 1.0])
    assert events == harness.replay(good[1])


def test_the_async_client_gives_the_same_errors() -> None:
    async def talk(base_url: str) -> list[dict[str, Any]]:
        async with AsyncClient(KEY, base_url, retry=ONCE) as client:
            with pytest.raises(AuthenticationError):
                await client.complete(HELLO)
            return [event async for event in client.stream(HELLO)]

    refused = answer(error(401, "UNAUTHENTICATED"), stream=False, status=401)
    cut = answer(reply("Hi ", "there")[:1], stream=True, end="cut")
    with serve(Cassette((refused, cut), Origin("written")), pace="instant", match="path") as server:
        assert asyncio.run(talk(server.base_url))[-1]["error"]["type"] == "StreamError"

    async def unheard() -> None:
        async with AsyncClient(KEY, "http://127.0.0.1:9", retry=ONCE) as client:
            await client.complete(HELLO)

    with pytest.raises(NetworkError):
        asyncio.run(unheard())
