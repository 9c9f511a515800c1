"""Reads the facts of the Messages API from its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.facts import Fact
from harness.facts.detail import Content, Counts
from harness.stream.events import (
    Annotation,
    BlockStart,
    Code,
    CodeResult,
    ServerCall,
    ServerResult,
    Usage,
)
from harness.stream.json_codec import Json, objects_in

from ..event_facts import EventFacts, billing_fact, opaque_values
from ..provider import Answer
from ..wire_values import camel, list_of, strings

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_CODE: Final = ("code_execution", "bash_code_execution")
_WORDS: Final = ("type", "status", "error_code", "name", "server_name", "caller", "tool_use_id")
"""Fields of server tools whose values are words of an enumeration, or are noted elsewhere."""


class MessagesFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`."""

    signed_calls = placed_signatures = covering_signatures = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._counts: dict[str, Json] = {}
        self._part_begins = True
        self._reads[BlockStart] = self._block_start

    def _block_start(self, event: BlockStart) -> None:
        self._part_begins = True

    def _code(self, event: Code | CodeResult) -> None:
        self.facts += server_tool_facts(event.raw)

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self.facts += server_tool_facts(event.raw)

    def _annotation(self, event: Annotation) -> None:
        """Note the address of each citation; one without an address has the cited text instead."""
        super()._annotation(event)
        if event.name == "citations":
            for citation in objects_in([i for v in event.raw.values() for i in list_of(v)]):
                address = citation.get("url") or citation.get("source")
                self.facts += opaque_values("citations", address or citation.get("cited_text"))

    def _usage(self, event: Usage) -> None:
        self._counts |= {name: value for name, value in event.raw.items() if value is not None}
        self.facts.append(Counts(count_messages(self._counts)))
        self.facts += billing_fact("service_tier", event.raw.get("service_tier"))


def block_facts(block: dict[str, Json]) -> Iterator[Fact]:
    """Yield the code and server tools of one block that is passed on unchanged."""
    kind = str(block.get("type"))
    if kind in (*_SERVER_CALLS, "mcp_tool_listing") or kind.endswith("_tool_result"):
        yield from server_tool_facts(block)


def server_tool_facts(block: dict[str, Json]) -> Iterator[Fact]:
    """Yield the code or the server tool of one whole block."""
    kind, name = str(block.get("type")), block.get("name")
    given, content = block.get("input"), block.get("content")
    if name in _CODE and kind == "server_tool_use":
        yield Content("code")
        field = "code" if name == "code_execution" else "command"
        yield from opaque_values("code", given.get(field) if isinstance(given, dict) else None)
    elif kind.removesuffix("_tool_result") in _CODE:
        yield Content("code")
        result = content if isinstance(content, dict) else {}
        yield from opaque_values("code", result.get("stdout"), result.get("stderr"))
    else:
        yield Content("server_tools")
        values = [*strings(given, _WORDS), *strings(content, _WORDS)]
        tool = block.get("id") or block.get("tool_use_id")
        yield from opaque_values("server_tools", tool, *values)


def count_messages(usage: dict[str, Json]) -> dict[str, int]:
    """Return every whole number of ``usage``. The prompt is what was read from the cache, what was
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
    named = {name: count for name, count in counts.items() if count is not None}
    return named | {camel(name): count for name, count in given.items()}


def _whole_numbers(holder: Json) -> dict[str, int]:
    fields = holder.items() if isinstance(holder, dict) else ()
    return {name: value for name, value in fields if type(value) is int}
