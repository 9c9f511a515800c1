"""Reads the facts of the Responses API from its events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.facts import Fact
from harness.facts.detail import (
    CallPiece,
    ClientTools,
    Content,
    EndsInThought,
    Refusal,
    RepeatedSignature,
    signatures_of,
)
from harness.stream import events
from harness.stream.events import (
    Annotation,
    BlockEnd,
    BlockStart,
    CallEnd,
    CallInvalid,
    CallStart,
    CallText,
    Code,
    CodeResult,
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

from ..event_facts import EventFacts, billing_fact, counts_in, opaque_values
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

    signed_calls = placed_signatures = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._part_begins = True
        self._block = ""
        """The type of the open block; "" if none is open."""
        self._pieces: list[CallPiece] = []
        """The pieces of the open call that are not noted."""
        self._ends_in_thought = False
        self._sources: list[Json] = []
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
            events.CallPiece: self._call_text,
            Mark: self._mark,
            Media: self._media,
        }

    def _note_end(self) -> None:
        tools = self._client_tools()
        self.facts += [ClientTools(tools)] if tools else []
        self.facts += [EndsInThought()] if self._ends_in_thought else []

    def _ended_well(self) -> bool:
        return super()._ended_well() and self._ends != "failed"

    # ---------------------------------------------------------------- items

    def _block_start(self, event: BlockStart) -> None:
        self._block, self._secret = event.type, ""
        self._part_begins = True
        self._places[event.index] = len(self._items)
        self._items.append(event.raw["item"])
        if event.type == "reasoning":
            self._ends_in_thought = True

    def _block_end(self, event: BlockEnd) -> None:
        self._block = ""
        if (place := self._places.get(event.index)) is not None:
            self._items[place] = event.raw["item"]
        if self._secret:
            self._secrets[event.index] = self._secret
            self._secret = ""

    def _client_tools(self) -> frozenset[str]:
        named = [
            (str(item.get("type")), call_id)
            for item in self._items
            if (call_id := text_of(item.get("call_id")))
        ]
        run = {call_id for kind, call_id in named if kind.endswith("_output")}
        asked = {call_id for kind, call_id in named if kind in _OF_THE_CLIENT}
        return frozenset(asked - run)

    def _mark(self, event: Mark) -> None:
        if event.name == "signature":
            again = event.raw["item"]["encrypted_content"]
            first = self._secrets.get(event.raw["output_index"])
            if first is not None:
                self.facts.append(RepeatedSignature(again, first))

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.text:
            self.facts += [Refusal()] if event.refusal else []
            self._ends_in_thought = False

    def _reasoning(self, event: Reasoning) -> None:
        self._part_begins |= event.begins
        super()._reasoning(event)
        if self._block != "message":  # perhaps the beginning of its item is missing
            self._ends_in_thought = True
        if event.signature is not None:
            self._secret = event.signature

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self._pieces.clear()
        self._ends_in_thought = False

    def _call_text(self, event: CallText | events.CallPiece) -> None:
        text = event.text if isinstance(event, CallText) else str(event.value)
        self._arguments.append(text)
        self._pieces.append(CallPiece(text))

    def _note_pieces(self) -> None:
        """Note the pieces of a call that is not invalid."""
        self.facts += self._pieces
        self._pieces.clear()

    def _call_end(self, event: CallEnd) -> None:
        self._note_pieces()
        super()._call_end(event)

    def _call_invalid(self, event: CallInvalid) -> None:
        self._pieces.clear()
        super()._call_invalid(event)

    def _note_open(self) -> None:
        self._note_pieces()
        super()._note_open()

    def _arguments_so_far(self) -> Json:
        if self._block == "custom_tool_call":
            return {"input": "".join(self._arguments)}
        return super()._arguments_so_far()

    def _media(self, event: Media) -> None:
        self.facts += (Content("media"), *opaque_values("media", event.data, event.uri))

    def _code(self, event: Code | CodeResult) -> None:
        code = event.raw.get("code" if isinstance(event, Code) else "logs")
        self.facts += (Content("code"), *opaque_values("code", code))

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self.facts += tool_facts(event.raw)
        self._secret = event.signature or ""

    # ---------------------------------------------------------------- beside the items

    def _metadata(self, event: Metadata) -> None:
        if event.name in ("model", "id"):
            super()._metadata(event)
        elif event.name != "snapshot":
            self._note_names(present(event.raw, set()))
        self.facts += billing_fact("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        self._note_names(present(event.raw, {*BESIDE}))
        if event.name == "citations":
            for citation in objects_in(event.raw["annotations"]):
                named = (citation.get(name) for name in ("url", "filename", "file_id"))
                source = next(filter(None, named), None)
                if source not in self._sources:
                    self._sources.append(source)
                    self.facts += opaque_values("citations", source)
        elif event.name == "logprobs":
            self._note_logprobs(list_of(event.raw["logprobs"]))

    def _unknown(self, event: Unknown) -> None:
        if not event.where.startswith("piece of "):  # it repeats the whole item
            super()._unknown(event)


def count_responses(usage: dict[str, Json]) -> dict[str, int]:
    """Return the counts of one ``usage``."""
    return counts_in(read_usage(usage))


def is_item(raw: dict[str, Json]) -> bool:
    """Return whether an object is an item or a part of one that this wire passes on unchanged."""
    return raw.get("type") in (*SERVER_CALLS, *SERVER_RESULTS, *_CODE, _PARTIAL_IMAGE)


def item_facts(raw: dict[str, Json]) -> Iterator[Fact]:
    """Yield the media, code, server tools and signatures of one item that is passed on
    unchanged.
    """
    kind = raw["type"]
    if kind in _CODE:
        yield Content("code")  # its outputs are passed on by themselves
    elif kind == _PARTIAL_IMAGE or (
        kind == "image_generation_call" and text_of(raw.get("result")) is not None
    ):
        yield Content("media")
    else:
        yield from tool_facts(raw)


def tool_facts(item: dict[str, Json]) -> Iterator[Fact]:
    """Yield the facts of an item of a built-in tool."""
    yield Content("server_tools")
    if item["type"] in SERVER_RESULTS:
        yield from signatures_of("other", text_of(item.get("encrypted_content")))
    tool = item.get("call_id") or item.get("id")
    yield from opaque_values("server_tools", tool, *strings(item, _UNSHOWN))
