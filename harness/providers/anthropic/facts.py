"""Reads the facts of the Messages API from its events."""

from __future__ import annotations

from typing import Final

from harness.facts import Facts
from harness.stream.events import (
    Annotation,
    BlockStart,
    CallInvalid,
    CallStart,
    Code,
    CodeResult,
    Reasoning,
    ServerCall,
    ServerResult,
    Usage,
)
from harness.stream.json_codec import Json, objects_in

from ..event_facts import EventFacts
from ..provider import Answer
from ..wire_values import camel, list_of, strings

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_CODE: Final = ("code_execution", "bash_code_execution")
_WORDS: Final = ("type", "status", "error_code", "name", "server_name", "caller", "tool_use_id")
"""Fields of server tools whose values are words of an enumeration, or are noted elsewhere."""


class MessagesFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._counts: dict[str, Json] = {}
        self._part = 0
        self._reads[BlockStart] = self._block_start

    def _block_start(self, event: BlockStart) -> None:
        self._part = len(self.facts.thoughts)

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self.facts.signed_before.append(len(self.facts.signatures))

    def _call_invalid(self, event: CallInvalid) -> None:
        super()._call_invalid(event)
        self.facts.signed_before.pop()

    def _reasoning(self, event: Reasoning) -> None:
        super()._reasoning(event)
        if event.signature is not None:
            self.facts.signed_places.append(len(self.facts.text))
            self.facts.signed_thoughts.append(self.facts.thoughts[self._part :])

    def _code(self, event: Code | CodeResult) -> None:
        read_server_tool(self.facts, event.raw)

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        read_server_tool(self.facts, event.raw)

    def _annotation(self, event: Annotation) -> None:
        """Note the address of each citation; one without an address has the cited text instead."""
        super()._annotation(event)
        if event.name == "citations":
            for citation in objects_in([i for v in event.raw.values() for i in list_of(v)]):
                address = citation.get("url") or citation.get("source")
                self.facts.add_opaque("citations", address or citation.get("cited_text"))

    def _usage(self, event: Usage) -> None:
        self._counts |= {name: value for name, value in event.raw.items() if value is not None}
        count_messages(self.facts, self._counts)
        self.facts.add_billing("service_tier", event.raw.get("service_tier"))


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
