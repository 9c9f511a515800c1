"""Reads the facts of the Responses API from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.facts import Facts
from harness.stream.events import (
    Annotation,
    BlockEnd,
    BlockStart,
    CallInvalid,
    CallPiece,
    CallStart,
    Code,
    CodeResult,
    Error,
    Event,
    Mark,
    Media,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    Unknown,
)
from harness.stream.json_codec import Json, objects_in

from ..event_facts import EventFacts, note_counts
from ..provider import Answer
from ..wire_values import list_of, present, strings, text_of
from .items import BESIDE, SERVER_CALLS, SERVER_RESULTS
from .responses import read_usage

_OF_THE_CLIENT: Final = frozenset(
    {"local_shell_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call"}
)
"""The calls that the client runs, if the answer does not have their outputs."""
_CODE: Final = ("code_interpreter_call", "logs")
_PARTIAL_IMAGE: Final = "response.image_generation_call.partial_image"
_UNSHOWN: Final = ("type", "status", "role", "id", "call_id", "encrypted_content")
"""Fields of built-in tools that are ids, words of an enumeration or signatures."""


class ResponsesFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._part = 0
        self._block = ""
        """The type of the open block; "" if none is open."""
        self._before = 0
        """The number of pieces of arguments before the open call."""
        self._items: list[dict[str, Json]] = []
        """The latest boundary of each item."""
        self._places: dict[int | None, int] = {}
        """The index of an item → its place in the list."""
        self._secrets: dict[int | None, str] = {}
        """The first signature of each item, by its index."""
        self._secret = ""
        """The signature since the last boundary of an item."""
        self._reads |= {
            BlockEnd: self._block_end,
            BlockStart: self._block_start,
            CallPiece: self._call_piece,
            Mark: self._mark,
            Media: self._media,
        }

    def close(self, events: Iterable[Event]) -> Facts:
        facts = super().close(events)
        self._note_client_tools()
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    # ---------------------------------------------------------------- items

    def _block_start(self, event: BlockStart) -> None:
        self._block, self._secret = event.type, ""
        self._part = len(self.facts.thoughts)
        self._places[event.index] = len(self._items)
        self._items.append(event.raw["item"])
        if event.type == "reasoning":
            self.facts.ends_in_thought = True

    def _block_end(self, event: BlockEnd) -> None:
        self._block = ""
        if (place := self._places.get(event.index)) is not None:
            self._items[place] = event.raw["item"]
        if self._secret:
            self._secrets[event.index] = self._secret
            self._secret = ""

    def _note_client_tools(self) -> None:
        named = [
            (str(item.get("type")), call_id)
            for item in self._items
            if (call_id := text_of(item.get("call_id")))
        ]
        run = {call_id for kind, call_id in named if kind.endswith("_output")}
        asked = {call_id for kind, call_id in named if kind in _OF_THE_CLIENT}
        self.facts.client_tools = asked - run

    def _mark(self, event: Mark) -> None:
        if event.name == "signature":
            again = event.raw["item"]["encrypted_content"]
            first = self._secrets.get(event.raw["output_index"])
            if first is not None:
                self.facts.repeated_signatures[again] = first

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.text:
            self.facts.refused = self.facts.refused or event.refusal
            self.facts.ends_in_thought = False

    def _reasoning(self, event: Reasoning) -> None:
        if event.begins:
            self._part = len(self.facts.thoughts)
        super()._reasoning(event)
        if self._block != "message":  # perhaps the beginning of its item is missing
            self.facts.ends_in_thought = True
        if event.signature is not None:
            self._secret = event.signature
            self.facts.signed_places.append(len(self.facts.text))

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self._before = len(self.facts.pieces)
        self.facts.signed_before.append(len(self.facts.signatures))
        self.facts.ends_in_thought = False

    def _call_piece(self, event: CallPiece) -> None:
        self._arguments.append(str(event.value))
        self.facts.pieces.append(str(event.value))

    def _call_invalid(self, event: CallInvalid) -> None:
        super()._call_invalid(event)
        self.facts.signed_before.pop()
        del self.facts.pieces[self._before :]

    def _show_call(self) -> None:
        if self._open and self._block == "custom_tool_call":
            name, _ = self.facts.calls[-1]
            self.facts.calls[-1] = (name, {"input": "".join(self._arguments)})
        else:
            super()._show_call()

    def _media(self, event: Media) -> None:
        self.facts.media += 1
        self.facts.add_opaque("media", event.data, event.uri)

    def _code(self, event: Code | CodeResult) -> None:
        self.facts.code += 1
        self.facts.add_opaque("code", event.raw.get("code" if isinstance(event, Code) else "logs"))

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        note_tool(self.facts, event.raw)
        self._secret = event.signature or ""

    # ---------------------------------------------------------------- beside the items

    def _metadata(self, event: Metadata) -> None:
        if event.name in ("model", "id"):
            super()._metadata(event)
        elif event.name != "snapshot":
            self.facts.others |= present(event.raw, set())
        self.facts.add_billing("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        self.facts.others |= present(event.raw, {*BESIDE})
        if event.name == "citations":
            for citation in objects_in(event.raw["annotations"]):
                named = (citation.get(name) for name in ("url", "filename", "file_id"))
                source = next(filter(None, named), None)
                if source not in self.facts.opaque.get("citations", []):
                    self.facts.add_opaque("citations", source)
        elif event.name == "logprobs":
            self._note_logprobs(list_of(event.raw["logprobs"]))

    def _error(self, event: Error) -> None:
        self._note_client_tools()
        super()._error(event)

    def _unknown(self, event: Unknown) -> None:
        if not event.where.startswith("piece of "):  # it repeats the whole item
            super()._unknown(event)


def count_responses(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of one ``usage``."""
    note_counts(facts, read_usage(usage))


def is_item(raw: dict[str, Json]) -> bool:
    """Return whether an object is an item or a part of one that this wire passes on unchanged."""
    return raw.get("type") in (*SERVER_CALLS, *SERVER_RESULTS, *_CODE, _PARTIAL_IMAGE)


def read_item(raw: dict[str, Json]) -> Facts:
    """Return the media, code, server tools and signatures of one item that is passed on
    unchanged.
    """
    facts, kind = Facts(), raw["type"]
    if kind in _CODE:
        facts.code += 1  # its outputs are passed on by themselves
    elif kind == _PARTIAL_IMAGE or (
        kind == "image_generation_call" and text_of(raw.get("result")) is not None
    ):
        facts.media += 1
    else:
        note_tool(facts, raw)
    return facts


def note_tool(facts: Facts, item: dict[str, Json]) -> None:
    """Note an item of a built-in tool."""
    facts.server_tools += 1
    if item["type"] in SERVER_RESULTS:
        facts.add_signature("other", text_of(item.get("encrypted_content")))
    facts.add_opaque(
        "server_tools", item.get("call_id") or item.get("id"), *strings(item, _UNSHOWN)
    )
