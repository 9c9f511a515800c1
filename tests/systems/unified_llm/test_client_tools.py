"""The unified-llm client: the tools that it runs, and their results."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import httpx2

from harness import Cassette, Origin, Session
from harness.server import serve
from harness.systems.unified_llm import (
    AsyncClient,
    Client,
    Response,
)
from tests.systems.unified_llm.loopback import (
    HELLO,
    KEY,
    Loopback,
    answer,
    called,
    reply,
    tool,
)


def test_generate_runs_the_tools_and_asks_again() -> None:
    ran: list[Any] = []

    def add(arguments: dict[str, Any]) -> int:
        ran.append(arguments)
        return 5

    tools = [tool("add", add), tool("fail", lambda _: 1 / 0)]
    first = called(("add", {"a": 2}), ("fail", {}), ("gone", {}))
    session = Session()
    with Loopback(first, answer(reply("5")[0], stream=False), session=session) as client:
        assert client.generate({**HELLO, "tools": tools}).text == "5"
    assert ran == [{"a": 2}]
    assert list(session.calls) == ["call_1", "call_2", "call_3"]


def test_generate_sends_results_and_failures_in_call_order() -> None:
    asked: list[Any] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        made = (
            called(("add", {}), ("fail", {}), ("gone", {}))
            if len(asked) == 1
            else answer(reply("5")[0], stream=False)
        )
        return httpx2.Response(200, content=made.body)

    with Client(KEY, transport=httpx2.MockTransport(handle)) as client:
        client.generate(
            {**HELLO, "tools": [tool("add", lambda _: 5), tool("fail", lambda _: 1 / 0)]}
        )
    assert [part["functionResponse"]["response"] for part in asked[1]["contents"][-1]["parts"]] == [
        {"result": 5},
        {"error": "ZeroDivisionError: division by zero"},
        {"error": "unknown tool 'gone'; expected one of add, fail"},
    ]


def test_the_blocking_client_awaits_tools_also_inside_of_an_event_loop() -> None:
    async def add(arguments: dict[str, Any]) -> int:
        return 5

    async def generate() -> Response:
        request = {**HELLO, "tools": [tool("add", add)]}
        with Loopback(called(("add", {})), answer(reply("5")[0], stream=False)) as client:
            return client.generate(request)

    assert asyncio.run(generate()).text == "5"


def test_generate_stops_after_its_rounds() -> None:
    again = [called(("f", {})) for _ in range(4)]
    with Loopback(*again) as client:
        request = {**HELLO, "tools": [tool("f", lambda _: 1)]}
        assert len(client.generate(request, max_tool_rounds=2).tool_calls) == 1
        assert client.generate(request, max_tool_rounds=0).tool_calls[0]["id"] == "call_4"


def test_generate_gives_its_steps_and_their_total_usage() -> None:
    first = answer(
        {
            **json.loads(called(("f", {})).body),
            "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": 2},
        },
        stream=False,
    )
    uncounted = called(("f", {}))
    with Loopback(first, uncounted, answer(reply("Hi")[0], stream=False)) as client:
        response = client.generate({**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=2)
    assert [len(step.tool_calls) for step in response.steps] == [1, 1, 0]
    assert response.steps[-1] is response
    assert response.total_usage == {
        "input_tokens": 8,
        "output_tokens": 1,
        "reasoning_tokens": 2,
        "total_tokens": 4,
    }
    assert response.steps[1].total_usage == {}


def test_generate_leaves_tools_without_execute_to_the_caller() -> None:
    with Loopback(called(("f", {}))) as client:
        assert [
            call["name"] for call in client.generate({**HELLO, "tools": [{"name": "f"}]}).tool_calls
        ] == ["f"]


def of_tools() -> list[dict[str, Any]]:
    """Tools of every kind: a function, a coroutine function, one that returns an awaitable, and one
    of each that fails.
    """

    async def slow(arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(0.02)
        return arguments["n"]

    async def slow_failure(_: dict[str, Any]) -> Any:
        raise LookupError("nothing there")

    return [
        tool("add", lambda arguments: arguments["n"] + 1),
        tool("slow", slow),
        tool("late", lambda arguments: slow(arguments)),
        tool("fail", lambda _: 1 / 0),
        tool("slow_failure", slow_failure),
    ]


def test_the_async_client_runs_both_kinds_of_tools() -> None:
    asked: list[Any] = []
    calls = [
        ("slow", {"n": 1}),
        ("add", {"n": 1}),
        ("fail", {}),
        ("late", {"n": 3}),
        ("slow_failure", {}),
        ("gone", {}),
    ]

    def handle(request: httpx2.Request) -> httpx2.Response:
        asked.append(json.loads(request.content))
        made = called(*calls) if len(asked) == 1 else answer(reply("done")[0], stream=False)
        return httpx2.Response(200, content=made.body)

    async def talk() -> Response:
        async with AsyncClient(KEY, transport=httpx2.MockTransport(handle)) as client:
            return await client.generate({**HELLO, "tools": of_tools()})

    assert asyncio.run(talk()).text == "done"
    assert [part["functionResponse"]["response"] for part in asked[1]["contents"][-1]["parts"]] == [
        {"result": 1},
        {"result": 2},
        {"error": "ZeroDivisionError: division by zero"},
        {"result": 3},
        {"error": "LookupError: nothing there"},
        {"error": "unknown tool 'gone'; expected one of add, slow, late, fail, slow_failure"},
    ]


def test_the_async_client_runs_calls_at_the_same_time() -> None:
    """Each tool waits for the other; run one after the other, neither would end."""
    there: list[asyncio.Event] = []
    met: list[int] = []

    async def meet(arguments: dict[str, Any]) -> None:
        there[arguments["mine"]].set()
        await asyncio.wait_for(there[1 - arguments["mine"]].wait(), 1)
        met.append(arguments["mine"])

    async def talk(base_url: str) -> Response:
        there.extend((asyncio.Event(), asyncio.Event()))
        async with AsyncClient(KEY, base_url) as client:
            return await client.generate({**HELLO, "tools": [tool("meet", meet)]})

    both = called(("meet", {"mine": 0}), ("meet", {"mine": 1}))
    with serve(
        Cassette((both, answer(reply("Hi")[0], stream=False)), Origin("written")),
        pace="instant",
        match="path",
    ) as server:
        assert asyncio.run(talk(server.base_url)).text == "Hi"
    assert sorted(met) == [0, 1]


def test_the_async_client_stops_after_its_rounds() -> None:
    async def talk(base_url: str) -> list[int]:
        async with AsyncClient(KEY, base_url) as client:
            looped = await client.generate(
                {**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=2
            )
            unlooped = await client.generate(
                {**HELLO, "tools": [tool("f", lambda _: 1)]}, max_tool_rounds=0
            )
            left = await client.generate({**HELLO, "tools": [{"name": "f"}]})
            return [len(response.tool_calls) for response in (looped, unlooped, left)]

    with serve(
        Cassette((called(("f", {})),) * 5, Origin("written")), pace="instant", match="path"
    ) as server:
        assert asyncio.run(talk(server.base_url)) == [1, 1, 1]
        assert server.unused == []


def test_both_clients_offer_the_same() -> None:
    """They differ only in ``await`` and in ``aclose``, which closes asyncio's objects."""
    offered = [
        {name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient)
    ]
    assert offered == [
        {"complete", "stream", "generate", "close"},
        {"complete", "stream", "generate", "aclose"},
    ]
    plain, other = (inspect.signature(kind).parameters for kind in (Client, AsyncClient))
    assert list(plain) == list(other)
    assert {
        name: str(inspect.signature(getattr(AsyncClient, name)).parameters)
        for name in ("complete", "stream", "generate")
    } == {
        name: str(inspect.signature(getattr(Client, name)).parameters)
        for name in ("complete", "stream", "generate")
    }
