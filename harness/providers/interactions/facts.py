"""Reads the facts of an interaction from its events."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from harness.facts import Fact
from harness.facts.detail import Content, Counts, Fields, Result, Signature, signatures_of
from harness.stream.events import (
    Annotation,
    BlockStart,
    CallStart,
    Code,
    CodeResult,
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

from ..event_facts import EventFacts, billing_fact, opaque_values
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

    signed_calls = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._part_begins = True
        self._parts = 0
        """The number of texts that are still to come of the summary with which a thought began."""
        self._reads |= {
            BlockStart: self._block_start,
            Media: self._media,
            ToolResult: self._tool_result,
        }

    def _ended_well(self) -> bool:
        return super()._ended_well() and self._ends != "failed"

    # ---------------------------------------------------------------- content

    def _block_start(self, event: BlockStart) -> None:
        self._part_begins = True
        if "event_type" in event.raw:
            self._parts = len(list_of(event.raw["step"].get("summary")))
        else:  # a step of a whole interaction has no deltas
            self._parts = sys.maxsize

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.signature is not None:
            self.facts.append(Signature("text", event.signature))

    def _reasoning(self, event: Reasoning) -> None:
        if self._parts and event.text:
            self._part_begins = True
            self._parts -= 1
        super()._reasoning(event)

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        if event.signature is not None:
            self.facts.append(Signature("call", event.signature))

    def _media(self, event: Media) -> None:
        self.facts += media_facts(event.raw, thought=event.thought)

    def _code(self, event: Code | CodeResult) -> None:
        self.facts += server_tool_facts(event.raw)

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self.facts += server_tool_facts(event.raw)

    def _tool_result(self, event: ToolResult) -> None:
        self._note_names(["functionResponse"])
        self.facts.append(Result.of(event.error is not None, event.response))

    # ---------------------------------------------------------------- beside the content

    def _metadata(self, event: Metadata) -> None:
        if event.name in _NAMED:
            super()._metadata(event)
        elif event.name == "echo" and "user_input" in event.raw:
            self._note_names(names_in(event.raw["user_input"]))
        elif event.name != "agent":
            self._note_names(present(event.raw, set()))
        self.facts += billing_fact("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        """Note the address of each citation."""
        super()._annotation(event)
        annotations = list_of(event.raw.get("annotations"))
        if event.name == "citations":
            for citation in annotations:
                if isinstance(citation, dict):
                    address = citation.get(_CITATIONS[str(citation["type"])])
                    self.facts += opaque_values("citations", address)
        else:
            self._note_names(names_in(annotations))

    def _usage(self, event: Usage) -> None:
        self.facts.append(Counts(count_interactions(event.raw)))

    def _error_in(self, message: dict[str, Json]) -> Json:
        if "event_type" in message:
            self._note_names(present(message, _ERROR_FIELDS))
        return super()._error_in(message)

    def _unknown(self, event: Unknown) -> None:
        if event.where.startswith(("content", "item of events")):
            self._note_names(names_in(event.raw))
        else:
            super()._unknown(event)


def count_interactions(usage: dict[str, Json]) -> dict[str, int]:
    """Return every whole number of ``usage``."""
    return {
        COUNTS.get(name, camel(name)): value for name, value in usage.items() if type(value) is int
    }


def step_facts(step: dict[str, Json]) -> Iterator[Fact]:
    """Yield the facts of one part that is passed on unchanged, if it is a medium or about a tool of
    the server.
    """
    if step["type"] in MEDIA:
        yield from media_facts(step)
    elif step["type"] in SERVER_STEPS:
        yield from server_tool_facts(step)


def media_facts(content: dict[str, Json], *, thought: bool = False) -> Iterator[Fact]:
    """Yield a medium of the answer, or of a thought."""
    yield Content("media")
    aspect = "thoughts" if thought else "media"
    yield from opaque_values(aspect, content.get("data"), content.get("uri"))
    yield Fields(frozenset(present(content, _MEDIA_FIELDS)))


def server_tool_facts(step: dict[str, Json]) -> Iterator[Fact]:
    """Yield the code or the server tool of a whole step."""
    yield from signatures_of("other", step.get("signature") or None)
    arguments, result = step.get("arguments"), step.get("result")
    if str(step["type"]).startswith("code_execution"):
        yield Content("code")
        code = arguments.get("code") if isinstance(arguments, dict) else None
        yield from opaque_values("code", code, result)
        yield Fields(frozenset(present(step, _CODE_FIELDS)))
    else:
        yield Content("server_tools")
        values = [*strings(arguments, _WORDS), *strings(result, _WORDS)]
        yield from opaque_values("server_tools", step.get("id") or step.get("call_id"), *values)
        yield Fields(frozenset(present(step, {"type", "signature"})))
