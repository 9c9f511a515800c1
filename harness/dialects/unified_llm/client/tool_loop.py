"""Runs the tool calls of an answer, several at once, and makes the Request that sends the results.

A tool has an ``execute(arguments)``. Outcomes stand in the order of the calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from harness.stream.generation import ToolOutcome

from ..request import follow_up
from . import coroutines
from .response import Response

Execute = Callable[[dict[str, Any]], Any]
Tools = Mapping[str, Execute]

MAX_AT_ONCE: Final = 8


def executable(request: Mapping[str, Any]) -> Tools:
    """The ``execute`` functions of a Request, by the name of the tool."""
    return {
        tool["name"]: tool["execute"]
        for tool in request.get("tools") or []
        if tool.get("execute") is not None
    }


def after_tools(
    request: Mapping[str, Any], response: Response, outcomes: list[ToolOutcome]
) -> dict[str, Any]:
    """The next Request: the old one, the answer, and the outcomes of its calls."""
    return follow_up(request, [{"type": "FINISH", "response": response}], outcomes)


async def run_in_threads(tools: Tools, response: Response) -> list[ToolOutcome]:
    """The outcome of each call; every ``execute`` runs in a thread. Blocks.

    An unknown tool and a tool that raises give failed outcomes, which are sent to the model.
    """
    with ThreadPoolExecutor(MAX_AT_ONCE) as pool:
        return list(
            pool.map(
                lambda call: coroutines.run(_outcome(tools, call, _call_here)), response.tool_calls
            )
        )


async def run_in_loop(tools: Tools, response: Response) -> list[ToolOutcome]:
    """Like `run_in_threads`, without blocking; an ``execute`` may be a coroutine function."""
    places = asyncio.Semaphore(MAX_AT_ONCE)

    async def outcome(call: Mapping[str, Any]) -> ToolOutcome:
        async with places:
            return await _outcome(tools, call, _call_in_loop_or_thread)

    return list(await asyncio.gather(*map(outcome, response.tool_calls)))


async def _outcome(
    tools: Tools,
    call: Mapping[str, Any],
    run: Callable[[Execute, dict[str, Any]], Awaitable[Any]],
) -> ToolOutcome:
    execute = tools.get(call["name"])
    if execute is None:
        known = ", ".join(tools)
        return ToolOutcome(f"unknown tool {call['name']!r}; known are {known}", failed=True)
    try:
        return ToolOutcome(await run(execute, call["arguments"]))
    except Exception as error:  # noqa: BLE001  # sent to the model as a failure
        return ToolOutcome(f"{type(error).__name__}: {error}", failed=True)


async def _call_here(execute: Execute, arguments: dict[str, Any]) -> Any:
    return execute(arguments)


async def _call_in_loop_or_thread(execute: Execute, arguments: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(execute):
        return await execute(arguments)
    result = await asyncio.to_thread(execute, arguments)
    return await result if inspect.isawaitable(result) else result
