"""What running an answer's calls gives: each tool's own ``execute``, all at once, the outcomes in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from ..asking import ToolOutcome
from .response import Response

Tools = Mapping[str, Callable[[dict[str, Any]], Any]]

MAX_AT_ONCE: Final = 8


def executable(request: Mapping[str, Any]) -> Tools:
    """The tools of a Request that say how they are run, by name."""
    return {tool["name"]: tool["execute"] for tool in request.get("tools") or [] if tool.get("execute") is not None}


def run(tools: Tools, response: Response) -> list[ToolOutcome]:
    """The outcome of each call; one of an unknown tool, or of a tool that raises, is a failure that the model is told."""
    with ThreadPoolExecutor(MAX_AT_ONCE) as pool:
        return list(pool.map(lambda call: _run_one(tools, call), response.tool_calls))


def _run_one(tools: Tools, call: Mapping[str, Any]) -> ToolOutcome:
    execute = tools.get(call["name"])
    if execute is None:
        return ToolOutcome(f"unknown tool {call['name']!r}; known are {', '.join(tools)}", failed=True)
    try:
        return ToolOutcome(execute(call["arguments"]))
    except Exception as error:  # noqa: BLE001  # a tool is the caller's code: whatever it raises, the model is told and goes on
        return ToolOutcome(f"{type(error).__name__}: {error}", failed=True)
