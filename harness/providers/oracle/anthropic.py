"""Reads the counts and the tools of Anthropic's Messages in the wire's own shape."""

from __future__ import annotations

from typing import Final

from harness.facts import Facts
from harness.stream.json_codec import Json

from .values import camel, strings

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_CODE: Final = ("code_execution", "bash_code_execution")
_WORDS: Final = ("type", "status", "error_code", "name", "server_name", "caller", "tool_use_id")
"""Fields of server tools whose values are words of an enumeration, or are noted elsewhere."""


def gather_block(block: dict[str, Json]) -> Facts:
    """Return the code and server tools of one block that is passed on unchanged."""
    facts, kind = Facts(), str(block.get("type"))
    if kind in (*_SERVER_CALLS, "mcp_tool_listing") or kind.endswith("_tool_result"):
        read_server_tool(facts, block)
    return facts


def read_server_tool(facts: Facts, block: dict[str, Json]) -> None:
    """Note the code or the server tool of one whole block."""
    kind, name = str(block.get("type")), block.get("name")
    given, content = block.get("input"), block.get("content")
    if name in _CODE and kind == "server_tool_use":
        facts.code += 1
        field = "code" if name == "code_execution" else "command"
        facts.add_opaque("code", given.get(field) if isinstance(given, dict) else None)
    elif kind.removesuffix("_tool_result") in _CODE:
        facts.code += 1
        result = content if isinstance(content, dict) else {}
        facts.add_opaque("code", result.get("stdout"), result.get("stderr"))
    else:
        facts.server_tools += 1
        values = [*strings(given, _WORDS), *strings(content, _WORDS)]
        facts.add_opaque("server_tools", block.get("id") or block.get("tool_use_id"), *values)


def count_messages(facts: Facts, usage: dict[str, Json]) -> None:
    """Note every whole number of ``usage``. The prompt is what was read from the cache, what was
    written to it, and the rest. The output has the tokens of the thoughts too.
    """
    given = dict(_whole_numbers(usage))
    for holder in usage.values():
        given |= _whole_numbers(holder)
    thoughts = given.pop("thinking_tokens", None)
    prompt, output = given.pop("input_tokens", None), given.pop("output_tokens", None)
    cached = given.pop("cache_read_input_tokens", None)
    written = given.pop("cache_creation_input_tokens", None)
    counts = {
        "promptTokenCount": None if prompt is None else prompt + (cached or 0) + (written or 0),
        "candidatesTokenCount": None if output is None else output - (thoughts or 0),
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached,
        "cacheWriteTokenCount": written,
    }
    facts.usage |= {name: count for name, count in counts.items() if count is not None}
    facts.usage |= {camel(name): count for name, count in given.items()}


def _whole_numbers(holder: Json) -> dict[str, int]:
    fields = holder.items() if isinstance(holder, dict) else ()
    return {name: value for name, value in fields if type(value) is int}
