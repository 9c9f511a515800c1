"""Runs the tool calls of an answer, several at once, and makes the Request that sends the results.

A tool has an ``execute(arguments)``. Outcomes are in the order of the calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from harness.dialects.unified_llm.request import follow_up
from harness.stream.generation import ToolOutcome

from .response import Response

Execute = Callable[[dict[str, Any]], Any]
Tools = Mapping[str, Execute]

MAX_AT_ONCE: Final = 8


def executable(request: Mapping[str, Any]) -> Tools:
    """Return the ``execute`` functions of a Request, by the name of the tool."""
    return {
        tool["name"]: tool["execute"]
        for tool in request.get("tools") or []
        if tool.get("execute") is not None
    }


def after_tools(
    request: Mapping[str, Any], response: Response, outcomes: list[ToolOutcome]
) -> dict[str, Any]:
    """Return the next Request: the old one, the answer, and the outcomes of its calls."""
    return follow_up(request, [{"type": "FINISH", "response": response}], outcomes)


async def run_tools(tools: Tools, response: Response) -> list[ToolOutcome]:
    """Return the outcome of each call. An ``execute`` may be a coroutine function; any other runs
    in a thread.

    An unknown tool and a tool that raises give failed outcomes, which are sent to the model.
    """
    places = asyncio.Semaphore(MAX_AT_ONCE)

    async def outcome(call: Mapping[str, Any]) -> ToolOutcome:
        async with places:
            return await _outcome(tools, call)

    return list(await asyncio.gather(*map(outcome, response.tool_calls)))


async def run_tools_blocking(tools: Tools, response: Response) -> list[ToolOutcome]:
    """Run the tools as `run_tools` does, but block; the thread of the caller may have an event loop
    of its own.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run_tools(tools, response)).result()


async def _outcome(tools: Tools, call: Mapping[str, Any]) -> ToolOutcome:
    execute = tools.get(call["name"])
    if execute is None:
        known = ", ".join(tools)
        return ToolOutcome(f"unknown tool {call['name']!r}; expected one of {known}", failed=True)
    try:
        if inspect.iscoroutinefunction(execute):
            return ToolOutcome(await execute(call["arguments"]))
        result = await asyncio.to_thread(execute, call["arguments"])
        return ToolOutcome(await result if inspect.isawaitable(result) else result)
    except Exception as error:  # noqa: BLE001  # sent to the model as a failure
        return ToolOutcome(f"{type(error).__name__}: {error}", failed=True)
