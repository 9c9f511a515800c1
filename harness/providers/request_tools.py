"""The functions that a request declares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from harness.stream.prompt import Function, Prompt
from harness.stream.session import Tool

from .provider import Provider


def declared_tools(prompt: Prompt) -> list[Tool]:
    """Return the functions of a prompt, in its order."""
    return [
        Tool(
            tool.name,
            dict(tool.schema.value) if tool.schema else {},
            tool.description or "",
        )
        for tool in prompt.tools
        if isinstance(tool, Function)
    ]


class DeclaredTools(Sequence[Tool]):
    """The functions that a request of a provider declares. The body is read on demand; only a call
    without a name needs it.
    """

    def __init__(self, provider: Provider, request_body: bytes) -> None:
        self._provider = provider
        self._body = request_body

    @cached_property
    def _tools(self) -> list[Tool]:
        return declared_tools(self._provider.read_request(self._body))

    @overload
    def __getitem__(self, index: int) -> Tool: ...

    @overload
    def __getitem__(self, index: slice) -> list[Tool]: ...

    def __getitem__(self, index: int | slice) -> Tool | list[Tool]:
        return self._tools[index]

    def __len__(self) -> int:
        return len(self._tools)
