"""The functions and the provider's tools that a request declares, and what else it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, overload

from harness.stream.json_codec import Json, decode_object, objects_in
from harness.stream.prompt import Function, Prompt
from harness.stream.session import Tool

from .provider import Provider


def declared_tools(prompt: Prompt) -> list[Tool]:
    """Return the functions of a prompt that have a name, in its order."""
    return [
        Tool(
            tool.name,
            dict(tool.schema.value) if tool.schema else {},
            tool.description or "",
        )
        for tool in prompt.tools
        if isinstance(tool, Function) and tool.name
    ]


_FEATURES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("n", "candidateCount", "candidate_count"), "candidates"),
    **dict.fromkeys(("logprobs", "responseLogprobs", "response_logprobs"), "logprobs"),
    "top_logprobs": "logprobs",
    "background": "background",
    "partial_images": "partial_images",
    "mcp_servers": "server_tools",
    "context_management": "context_management",
    "audio": "audio",
    "functions": "functions",
}
"""The fields of requests that make an answer have more than one text and calls of functions."""
_DECLARED: Final = ("functionDeclarations", "function_declarations", "function", "custom")
_FUNCTIONS: Final = (None, "function", "custom")
_OF_THE_CLIENT: Final = ("bash", "text_editor", "computer", "memory", "local_shell", "apply_patch")
"""The beginnings of the types of tools that the provider knows and the client runs."""


def server_tools(request_body: bytes) -> tuple[dict[str, Json], ...]:
    """Return the tools of a request that the provider runs, as the request has them."""
    tools = objects_in(_asked(request_body).get("tools"))
    of_client = (str(tool.get("type")).startswith(_OF_THE_CLIENT) for tool in tools)
    return tuple(
        tool
        for tool, runs in zip(tools, of_client, strict=True)
        if not (runs or _is_function(tool))
    )


def declares_known_tools(request_body: bytes) -> bool:
    """Return whether a request declares a tool that is no function: the provider knows it."""
    asked = _asked(request_body)
    tools = objects_in(asked.get("tools"))
    return bool(asked.get("mcp_servers")) or not all(map(_is_function, tools))


def _is_function(tool: dict[str, Json]) -> bool:
    is_declared = any(name in tool for name in _DECLARED)
    return is_declared or ("name" in tool and tool.get("type") in _FUNCTIONS)


def asked_features(request_body: bytes) -> frozenset[str]:
    """Return what a request asks for beside one text and calls of functions: ``server_tools``, and
    the values of `_FEATURES`.
    """
    asked, tools = _asked(request_body), server_tools(request_body)
    settings = (asked.get(name) for name in ("generationConfig", "generation_config"))
    holders = [asked, *(held for held in settings if isinstance(held, dict)), *tools]
    features = {
        feature
        for holder in holders
        for name, feature in _FEATURES.items()
        if holder.get(name) and not (feature == "candidates" and holder[name] == 1)
    }
    includes = str(asked.get("include"))
    features |= {"logprobs"} if "logprobs" in includes else set()
    custom = [tool for tool in objects_in(asked.get("tools")) if tool.get("type") == "custom"]
    features |= {"custom_tools"} if any("input_schema" not in tool for tool in custom) else set()
    for message in objects_in(asked.get("messages")):
        features |= _features_of_content(message.get("content"))
    return frozenset(features | ({"server_tools"} if tools else set()))


def _features_of_content(content: Json) -> set[str]:
    """Return what the blocks of a message of Anthropic make the answer have: citations of documents
    or of search results. A result of a tool has blocks too.
    """
    features = set()
    for block in objects_in(content):
        if block.get("type") == "search_result":
            features.add("search_results")
        elif block.get("type") == "tool_result":
            features |= _features_of_content(block.get("content"))
        citations = block.get("citations")
        if isinstance(citations, dict) and citations.get("enabled"):
            features.add("citations")
    return features


def _asked(request_body: bytes) -> dict[str, Json]:
    """Return a request, without the envelope of Code Assist."""
    body = decode_object(request_body) or {}
    inner = body.get("request")
    return inner if isinstance(inner, dict) else body


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
