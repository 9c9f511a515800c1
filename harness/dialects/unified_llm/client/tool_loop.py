"""What running an answer's calls gives, and what is asked then: each tool's own ``execute``, all at
once, outcomes in call order.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from harness.stream.generation import ToolOutcome

from ..request import follow_up
from .response import Response

Tools = Mapping[str, Callable[[dict[str, Any]], Any]]

MAX_AT_ONCE: Final = 8


def executable(request: Mapping[str, Any]) -> Tools:
    """The tools of a Request that say how they are run, by name."""
    return {
        tool["name"]: tool["execute"]
        for tool in request.get("tools") or []
        if tool.get("execute") is not None
    }


def after_tools(
    request: Mapping[str, Any], response: Response, outcomes: list[ToolOutcome]
) -> dict[str, Any]:
    """The Request that sends the outcomes of an answer's calls."""
    return follow_up(request, [{"type": "FINISH", "response": response}], outcomes)


def run(tools: Tools, response: Response) -> list[ToolOutcome]:
    """The outcome of each call; one of an unknown tool, or of a tool that raises, is a failure that
    the model is told.
    """
    with ThreadPoolExecutor(MAX_AT_ONCE) as pool:
        return list(pool.map(lambda call: _run_one(tools, call), response.tool_calls))


async def run_async(tools: Tools, response: Response) -> list[ToolOutcome]:
    """As `run`; an ``execute`` may be a coroutine function too, one that is not runs in a
    thread.
    """
    places = asyncio.Semaphore(MAX_AT_ONCE)

    async def run_one(call: Mapping[str, Any]) -> ToolOutcome:
        async with places:
            return await _run_one_async(tools, call)

    return list(await asyncio.gather(*map(run_one, response.tool_calls)))


def _run_one(tools: Tools, call: Mapping[str, Any]) -> ToolOutcome:
    execute = tools.get(call["name"])
    if execute is None:
        return _unknown(tools, call)
    try:
        return ToolOutcome(execute(call["arguments"]))
    # a tool is the caller's code: whatever it raises, the model is told and goes on
    except Exception as error:  # noqa: BLE001
        return _failure(error)


async def _run_one_async(tools: Tools, call: Mapping[str, Any]) -> ToolOutcome:
    execute = tools.get(call["name"])
    if execute is None:
        return _unknown(tools, call)
    try:
        if inspect.iscoroutinefunction(execute):
            return ToolOutcome(await execute(call["arguments"]))
        result = await asyncio.to_thread(execute, call["arguments"])
        return ToolOutcome(await result if inspect.isawaitable(result) else result)
    except Exception as error:  # noqa: BLE001  # as above
        return _failure(error)


def _unknown(tools: Tools, call: Mapping[str, Any]) -> ToolOutcome:
    return ToolOutcome(f"unknown tool {call['name']!r}; known are {', '.join(tools)}", failed=True)


def _failure(error: Exception) -> ToolOutcome:
    return ToolOutcome(f"{type(error).__name__}: {error}", failed=True)
