"""Tests that record `client.interactions` and `openai` once, and then replay the cassette."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from google import genai

from harness import load
from harness.pipeline.replay import replay
from harness.recording import Playback, Recording, transports, use_cassette
from harness.recording.drivers.genai import http_options
from harness.server import serve
from tests.server.socket_client import tape
from tests.server.test_openai_compat import CASSETTE as CHATS
from tests.server.test_openai_compat import USER
from tests.server.test_openai_compat import asked as chatted
from tests.server.test_stored_interactions import CASSETTE as INTERACTIONS
from tests.server.test_stored_interactions import RESULT, asked
from tests.support.need import need

Tape = Recording | Playback
NOWHERE = "http://127.0.0.1:9"


async def aread(call: Any, **given: Any) -> list[Any]:
    """Call with await, and read the whole answer as plain data."""
    answer = await call(**given)
    items = [item async for item in answer] if isinstance(answer, AsyncIterator) else [answer]
    return [item.model_dump(mode="json") for item in items]


def read(call: Any, **given: Any) -> list[Any]:
    """Call without await, and read the whole answer as plain data."""
    answer = call(**given)
    items = list(answer) if isinstance(answer, Iterator) else [answer]
    return [item.model_dump(mode="json") for item in items]


SECOND: dict[str, Any] = asked([RESULT], previous_interaction_id="v1_call")


def interact(cassette: Tape, base_url: str) -> list[Any]:
    """A stream, its second turn, and an answer in the background that is polled."""
    options, close = http_options(cassette, base_url=base_url, api_version="v1beta")
    with genai.Client(api_key="a-key", http_options=options) as client:
        talking: Any = client.interactions
        answers = [
            read(talking.create, **asked("call"), stream=True),
            read(talking.create, **SECOND, stream=True),
            read(talking.create, **asked("slow", background=True)),
            *(read(talking.get, id="v1_slow") for _ in range(2)),
        ]
    close()
    return answers


def ainteract(cassette: Tape, base_url: str) -> list[Any]:
    async def run() -> list[Any]:
        options, _ = http_options(cassette, base_url=base_url, api_version="v1beta")
        with genai.Client(api_key="a-key", http_options=options) as client:
            async with client.aio as awaiting:
                talking: Any = awaiting.interactions
                return [
                    await aread(talking.create, **asked("call"), stream=True),
                    await aread(talking.create, **SECOND, stream=True),
                    await aread(talking.create, **asked("slow", background=True)),
                    *[await aread(talking.get, id="v1_slow") for _ in range(2)],
                ]

    return asyncio.run(run())


def openai() -> Any:
    need("clients", find_spec("openai"), "openai is not installed")
    return import_module("openai")


PROMPTS = (chatted(USER), chatted({**USER, "content": "call"}))
HTTP = transports("httpx2")


def chat(cassette: Tape, base_url: str) -> list[Any]:
    http = HTTP.http.Client(transport=HTTP.sync(cassette))
    place = {"api_key": "a-key", "base_url": f"{base_url}/v1beta/openai"}
    with openai().OpenAI(**place, http_client=http) as client:
        return [read(client.chat.completions.create, **prompt, stream=True) for prompt in PROMPTS]


def achat(cassette: Tape, base_url: str) -> list[Any]:
    async def run() -> list[Any]:
        http = HTTP.http.AsyncClient(transport=HTTP.asynchronous(cassette))
        place = {"api_key": "a-key", "base_url": f"{base_url}/v1beta/openai"}
        async with openai().AsyncOpenAI(**place, http_client=http) as client:
            create = client.chat.completions.create
            return [await aread(create, **prompt, stream=True) for prompt in PROMPTS]

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ask", "provider"),
    [
        (interact, "interactions"),
        (ainteract, "interactions"),
        (chat, "openai-compat"),
        (achat, "openai-compat"),
    ],
)
def test_a_client_is_recorded_once_and_then_replayed(
    tmp_path: Path, ask: Any, provider: str
) -> None:
    path = tmp_path / "a.yaml"
    with serve(tape(*INTERACTIONS.exchanges, *CHATS.exchanges), pace="step") as server:
        with use_cassette(path, mode="once") as cassette:
            recorded = ask(cassette, server.base_url)
        served = [request.exchange for request in server.requests]
    kept = load(path).exchanges
    assert [exchange.end for exchange in kept] == ["complete"] * len(kept)
    assert [[data for _, data in exchange.reads] for exchange in kept] == [
        [data for _, data in exchange.reads] for exchange in served if exchange
    ]
    with use_cassette(path, mode="none") as cassette:
        assert ask(cassette, NOWHERE) == recorded
    for exchange in kept:
        assert exchange.provider == provider
        assert replay(exchange, dialect="unified-llm")
    assert "a-key" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_relay_records_both_wires(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client in any language sends its request to the relay, which sends it to the provider of
    the path.
    """
    pytester.makepyfile(
        """
        import json
        import urllib.request

        import pytest

        def ask(url, body):
            request = urllib.request.Request(url, json.dumps(body).encode())
            with urllib.request.urlopen(request) as answer:
                return answer.read()

        @pytest.mark.harness_cassette("both")
        def test_both(harness_base_url):
            body = {"model": "gemini-3.8-flash", "input": "text", "stream": True}
            assert b"v1_text" in ask(f"{harness_base_url}/v1beta/interactions", body)
            user = {"role": "user", "content": "Oslo?"}
            chat = {"model": "gemini-3.8-flash", "messages": [user], "stream": True}
            path = "/v1beta/openai/chat/completions"
            assert b"It is " in ask(harness_base_url + path, chat)
        """
    )
    with serve(tape(*INTERACTIONS.exchanges, *CHATS.exchanges), pace="step") as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        pytester.runpytest("--harness-record", "once").assert_outcomes(passed=1)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL")
    pytester.runpytest().assert_outcomes(passed=1)
    (path,) = pytester.path.rglob("both.yaml")
    kept = [(exchange.provider, exchange.streamed) for exchange in load(path).exchanges]
    assert kept == [("interactions", True), ("openai-compat", True)]
    assert json.dumps(asked("text", stream=True))[:-1] in path.read_text(encoding="utf-8")
