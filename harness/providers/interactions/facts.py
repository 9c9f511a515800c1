"""Reads the facts of an interaction from its events."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from harness.facts import Facts
from harness.stream.events import (
    Annotation,
    BlockStart,
    CallInvalid,
    CallStart,
    Code,
    CodeResult,
    Event,
    Media,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.json_codec import Json

from ..event_facts import EventFacts
from ..provider import Answer
from ..wire_values import camel, list_of, names_in, present, strings
from .steps import MEDIA, SERVER_STEPS

COUNTS: Final = {
    "total_input_tokens": "promptTokenCount",
    "total_output_tokens": "candidatesTokenCount",
    "total_thought_tokens": "thoughtsTokenCount",
    "total_cached_tokens": "cachedContentTokenCount",
    "total_tool_use_tokens": "toolUsePromptTokenCount",
    "total_tokens": "totalTokenCount",
}
"""A count of the wire, and the name of the fact."""
_CITATIONS: Final = {
    "url_citation": "url",
    "file_citation": "document_uri",
    "place_citation": "url",
}
"""A type of citation, and its field for the source."""
_WORDS: Final = ("type", "status", "search_type", "retrieval_type", "language")
"""Fields of server tools whose values are words of an enumeration."""
_NAMED: Final = ("model", "id")
"""The metadata that are facts with names of their own."""
_CODE_FIELDS: Final = {"type", "signature", "id", "call_id", "arguments", "result", "is_error"}
_ERROR_FIELDS: Final = {
    *("event_type", "error", "interaction_id", "metadata", "usage", "index", "step", "delta"),
}
_MEDIA_FIELDS: Final = {"type", "data", "uri"}


class InteractionsFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._part = 0
        self._parts = 0
        """The number of texts that are still to come of the summary with which a thought began."""
        self._reads |= {
            BlockStart: self._block_start,
            Media: self._media,
            ToolResult: self._tool_result,
        }

    def close(self, events: Iterable[Event]) -> Facts:
        facts = super().close(events)
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    # ---------------------------------------------------------------- content

    def _block_start(self, event: BlockStart) -> None:
        self._part = len(self.facts.thoughts)
        if "event_type" in event.raw:
            self._parts = len(list_of(event.raw["step"].get("summary")))
        else:  # a step of a whole interaction has no deltas
            self._parts = sys.maxsize

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.signature is not None:
            self.facts.signatures.append(("text", event.signature))

    def _reasoning(self, event: Reasoning) -> None:
        if self._parts and event.text:
            self._part = len(self.facts.thoughts)
            self._parts -= 1
        super()._reasoning(event)

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self.facts.signed_before.append(len(self.facts.signatures))
        if event.signature is not None:
            self.facts.signatures.append(("call", event.signature))

    def _call_invalid(self, event: CallInvalid) -> None:
        super()._call_invalid(event)
        self.facts.signed_before.pop()

    def _media(self, event: Media) -> None:
        _read_medium(self.facts, event.raw, thought=event.thought)

    def _code(self, event: Code | CodeResult) -> None:
        _read_server_tool(self.facts, event.raw)

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        _read_server_tool(self.facts, event.raw)

    def _tool_result(self, event: ToolResult) -> None:
        self.facts.others.add("functionResponse")
        self.facts.add_result(event.error is not None, event.response)

    # ---------------------------------------------------------------- beside the content

    def _metadata(self, event: Metadata) -> None:
        facts = self.facts
        if event.name in _NAMED:
            super()._metadata(event)
        elif event.name == "echo" and "user_input" in event.raw:
            facts.others |= names_in(event.raw["user_input"])
        elif event.name != "agent":
            facts.others |= present(event.raw, set())
        facts.add_billing("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        """Note the address of each citation."""
        super()._annotation(event)
        annotations = list_of(event.raw.get("annotations"))
        if event.name == "citations":
            for citation in annotations:
                if isinstance(citation, dict):
                    address = citation.get(_CITATIONS[str(citation["type"])])
                    self.facts.add_opaque("citations", address)
        else:
            self.facts.others |= names_in(annotations)

    def _usage(self, event: Usage) -> None:
        count_interactions(self.facts, event.raw)

    def _error_in(self, message: dict[str, Json]) -> Json:
        if "event_type" in message:
            self.facts.others |= present(message, _ERROR_FIELDS)
        return super()._error_in(message)

    def _unknown(self, event: Unknown) -> None:
        if event.where.startswith(("content", "item of events")):
            self.facts.others |= names_in(event.raw)
        else:
            super()._unknown(event)


def count_interactions(facts: Facts, usage: dict[str, Json]) -> None:
    """Note every whole number of ``usage``."""
    facts.usage |= {
        COUNTS.get(name, camel(name)): value for name, value in usage.items() if type(value) is int
    }


def gather_step(step: dict[str, Json]) -> Facts:
    """Return the media, code, server tools and signatures of one part that is passed on
    unchanged.
    """
    facts = Facts()
    if step["type"] in MEDIA:
        _read_medium(facts, step)
    elif step["type"] in SERVER_STEPS:
        _read_server_tool(facts, step)
    return facts


def _read_medium(facts: Facts, content: dict[str, Json], *, thought: bool = False) -> None:
    """Note a medium of the answer, or of a thought."""
    facts.media += 1
    aspect = "thoughts" if thought else "media"
    facts.add_opaque(aspect, content.get("data"), content.get("uri"))
    facts.others |= present(content, _MEDIA_FIELDS)


def _read_server_tool(facts: Facts, step: dict[str, Json]) -> None:
    """Note the code or the server tool of a whole step."""
    facts.add_signature("other", step.get("signature") or None)
    arguments, result = step.get("arguments"), step.get("result")
    if str(step["type"]).startswith("code_execution"):
        facts.code += 1
        code = arguments.get("code") if isinstance(arguments, dict) else None
        facts.add_opaque("code", code, result)
        facts.others |= present(step, _CODE_FIELDS)
    else:
        facts.server_tools += 1
        values = [*strings(arguments, _WORDS), *strings(result, _WORDS)]
        facts.add_opaque("server_tools", step.get("id") or step.get("call_id"), *values)
        facts.others |= present(step, {"type", "signature"})
