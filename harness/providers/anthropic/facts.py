"""Reads the facts of the Messages API from its events."""

from __future__ import annotations

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
from ..oracle.anthropic import count_messages, read_server_tool
from ..provider import Answer
from ..wire_values import list_of


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
