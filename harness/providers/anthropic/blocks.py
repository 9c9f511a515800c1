"""Reads the content blocks of an answer, whole or as start, deltas and stop.

An event belongs to the block with its ``index``. On the recorded wire, blocks follow one another.
If another block goes on while a call is open, its events wait for the end of the call, because the
events of a call stand together.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

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
    Event,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    Unknown,
)
from harness.stream.json_codec import Json, decode_json
from harness.stream.oddities import Oddities

from ..wire_values import give_others, is_empty, text_of, word_of

START: Final = "content_block_start"
STOP: Final = "content_block_stop"

_RESULT: Final = "_tool_result"
_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_CODE_FIELDS: Final = {"code_execution": "code", "bash_code_execution": "command"}
"""A tool that runs code, and the field of its input with the code."""
_LISTING: Final = "mcp_tool_listing"
_CODE_RESULTS: Final = frozenset(name + _RESULT for name in _CODE_FIELDS)
_ABOUT_THE_ANSWER: Final = frozenset({"fallback", "container_upload"})
"""Blocks that are facts about the whole answer."""
_BESIDE_CALL: Final = ("caller", "toolset_name")
_CONTENT: Final = frozenset({"text", "citations", "thinking", "signature", "data", "input"})
"""The fields of a whole block that its boundary does not repeat."""
_OTHER: Final = (("block.type", "type", (str,)),)
_TYPES: Final = {
    "text": (("text.text", "text", (str,)),),
    "thinking": (("thinking.thinking", "thinking", (str,)),),
    "tool_use": (
        ("tool_use.id", "id", (str, NoneType)),
        ("tool_use.name", "name", (str, NoneType)),
        ("tool_use.input", "input", (dict,)),
    ),
}
"""The type of a block → the places and names of its fields, and the types of their values."""


@dataclass(slots=True, eq=False)
class _Block:
    """An open block: its fields at the start, and the pieces of its input. ``call``: the number of
    its call, 0 for another block.
    """

    type: str
    fields: dict[str, Json]
    call: int = 0
    pieces: list[str] = field(default_factory=list)

    def input(self) -> Json:
        """Return the whole input: the pieces, or else that of the start. A text if it is not
        JSON.
        """
        text = "".join(self.pieces)
        if not text.strip():
            given = self.fields.get("input")
            return {} if given is None else given
        try:
            return decode_json(text.encode("utf-8", "surrogatepass"))
        except ValueError:
            return text


class Blocks:
    """The content blocks of one answer."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._calls = 0
        self._open: dict[int, _Block] = {}
        self._latest = -1  # the index of the block that began last
        self._call: int | None = None  # the index of the block of the open call
        self._waiting: dict[int, list[dict[str, Json]]] = {}

    @property
    def in_call(self) -> bool:
        """Whether the block of a call is open."""
        return self._call is not None

    def is_text(self, index: int) -> bool:
        """Return whether the next event may be a piece of the text of this block."""
        return self._call is None and index in self._open and self._open[index].type == "text"

    def read(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read the start, a delta or the stop of a block."""
        index = self._index(event)
        if self._call not in (None, index):
            self._waiting.setdefault(index, []).append(event)
            return
        self._read(index, event, out)
        self._read_waiting(out)

    def read_all(self, content: Json, out: list[Event]) -> None:
        """Read the whole blocks of a message."""
        if type(content) is not list:
            self._oddities.note("message.content", content)
            if not is_empty(content):
                out.append(Unknown("field message.content", {"content": content}))
            return
        for index, block in enumerate(content):
            if type(block) is dict:
                named = {name: block[name] for name in block if name not in _CONTENT}
                if word_of(block.get("type")).endswith(_RESULT):
                    named.pop("content", None)
                self._start(index, block, {"index": index, "content_block": named}, out)
                self._stop(index, {"index": index}, out)
            else:
                self._oddities.note("message.content", content)
                out.append(Unknown("block", block))

    def end_all(self, out: list[Event]) -> None:
        """End the blocks that are still open when the answer has ended."""
        while self._call is not None:
            self._end_block(self._open.pop(self._call), out)
            self._read_waiting(out)
        for block in self._open.values():
            self._end_block(block, out)
        self._open.clear()

    def rest(self) -> list[dict[str, Json]]:
        """Return the parts of a broken answer that gave no events: open blocks of the provider's
        tools, and the events that wait.
        """
        half = [
            {**block.fields, "input": "".join(block.pieces) or block.fields.get("input")}
            for block in self._open.values()
            if block.type in _SERVER_CALLS
        ]
        return half + [event for events in self._waiting.values() for event in events]

    def _index(self, event: dict[str, Json]) -> int:
        index = event.get("index")
        if type(index) is int:
            return index
        # Without an index, a start begins the next block, and any other event is about the latest.
        return self._latest + (event.get("type") == START)

    def _read_waiting(self, out: list[Event]) -> None:
        while self._call is None and self._waiting:
            index = next(iter(self._waiting))
            for event in self._waiting.pop(index):
                self._read(index, event, out)

    def _read(self, index: int, event: dict[str, Json], out: list[Event]) -> None:
        kind = event["type"]
        if kind == STOP:
            if len(event) > 2 or "index" not in event:
                give_others("", event, ("type", "index"), out)
            self._stop(index, event, out)
            return
        name = "content_block" if kind == START else "delta"
        content = event.get(name)
        if type(content) is not dict:
            out.append(Unknown(f"event {kind}", event))
            return
        if len(event) > 3 or "index" not in event:
            give_others("", event, ("type", "index", name), out)
        if kind == START:
            self._start(index, content, event, out)
        else:
            self._delta(index, content, out)

    # ---------------------------------------------------------------- start, delta, stop

    def _start(
        self, index: int, fields: dict[str, Json], raw: dict[str, Json], out: list[Event]
    ) -> None:
        """Begin a block, with the content that it already has; ``raw`` is the message of that."""
        if before := self._open.pop(index, None):
            self._end_block(before, out)
        kind = word_of(fields.get("type"))
        for place, name, types in _TYPES.get(kind, _OTHER):
            if type(value := fields.get(name)) not in types:
                self._oddities.note(place, value)
        self._latest = index
        block = self._open[index] = _Block(kind, fields)
        block_id = text_of(fields.get("id")) or text_of(fields.get("tool_use_id"))
        out.append(BlockStart(kind, raw, index, block_id))
        if kind == "text":
            self._text(fields, out)
            give_others("text.", fields, ("type", "text", "citations"), out)
        elif kind == "thinking":
            self._thinking(fields, out)
            self._signature(fields, out)
            give_others("thinking.", fields, ("type", "thinking", "signature"), out)
        elif kind == "redacted_thinking":
            if data := text_of(fields.get("data")):
                out.append(Reasoning("", data, redacted=True))
            give_others("redacted_thinking.", fields, ("type", "data"), out)
        elif kind == "tool_use":
            self._calls += 1
            self._call, block.call = index, self._calls
            name = word_of(fields.get("name"))
            out.append(CallStart(self._calls, name, text_of(fields.get("id"))))
            beside = {key: fields[key] for key in _BESIDE_CALL if not is_empty(fields.get(key))}
            if beside:
                out.append(Annotation("part", beside))
            give_others("tool_use.", fields, ("type", "id", "name", "input", *_BESIDE_CALL), out)
        elif kind.endswith(_RESULT) or kind == _LISTING:
            out.append(_result(kind, fields))
        elif kind == "compaction":
            if not all(is_empty(value) for name, value in fields.items() if name != "type"):
                out.append(_about(kind, fields))
        elif kind in _ABOUT_THE_ANSWER:
            out.append(_about(kind, fields))
        elif kind not in _SERVER_CALLS:
            out.append(Unknown(f"block {kind}", fields))

    def _delta(self, index: int, delta: dict[str, Json], out: list[Event]) -> None:
        kind, block = word_of(delta.get("type")), self._open.get(index)
        types, read, known = _DELTAS.get(kind, _UNKNOWN_DELTA)
        if block is None or block.type not in types:
            out.append(Unknown(f"delta {kind}", delta))
            return
        if not read(self, block, delta, out):
            out.append(Unknown(f"delta {kind}", delta))
        elif len(delta) > 2:  # more than its type and its content
            give_others(f"{kind}.", delta, ("type", *known), out)

    def _stop(self, index: int, raw: dict[str, Json], out: list[Event]) -> None:
        if block := self._open.pop(index, None):
            self._end_block(block, out)
        out.append(BlockEnd(raw, index))

    def _end_block(self, block: _Block, out: list[Event]) -> None:
        """Emit the call in a block, which is now whole."""
        if block.call:
            self._call = None
            out.append(_end_of_call(block, out))
        elif block.type in _SERVER_CALLS:
            out.append(_server_call(block))

    # ---------------------------------------------------------------- content

    def _text(self, holder: dict[str, Json], out: list[Event]) -> None:
        text, citations = holder.get("text"), holder.get("citations")
        if type(text) is str and text:
            out.append(Text(text))
        elif not is_empty(text):
            out.append(Unknown("field text.text", {"text": text}))
        if not is_empty(citations):
            out.append(Annotation("citations", {"citations": citations}))

    def _thinking(self, holder: dict[str, Json], out: list[Event]) -> None:
        text = holder.get("thinking")
        if type(text) is str and text:
            out.append(Reasoning(text))
        elif not is_empty(text):
            out.append(Unknown("field thinking.thinking", {"thinking": text}))

    def _signature(self, holder: dict[str, Json], out: list[Event]) -> None:
        signature = holder.get("signature")
        if type(signature) is str and signature:
            out.append(Reasoning("", signature))
        elif not is_empty(signature):
            out.append(Unknown("field thinking.signature", {"signature": signature}))

    # ---------------------------------------------------------------- deltas

    def _text_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        if type(delta.get("text")) is not str:
            return False
        out.append(Text(delta["text"]))
        return True

    def _citations_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        out.append(Annotation("citations", {"citation": delta.get("citation")}))
        return True

    def _thinking_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        if type(delta.get("thinking")) is not str:
            return False
        out.append(Reasoning(delta["thinking"]))
        if not is_empty(tokens := delta.get("estimated_tokens")):
            out.append(Annotation("part", {"estimated_tokens": tokens}))
        return True

    def _signature_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        if type(delta.get("signature")) is not str:
            return False
        self._signature(delta, out)
        return True

    def _input_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        # Anthropic's documentation: "the deltas are partial JSON strings, whereas the final
        # `tool_use.input` is always an object".
        piece = delta.get("partial_json")
        if type(piece) is not str:
            return False
        if piece:
            if not block.pieces and piece.isspace():
                self._oddities.note("partial_json", piece)
            block.pieces.append(piece)
            if block.call:
                out.append(CallText(block.call, piece))
        return True

    def _compaction_delta(self, block: _Block, delta: dict[str, Json], out: list[Event]) -> bool:
        out.append(_about("compaction", delta))
        return True


_Read = Callable[[Blocks, _Block, dict[str, Any], list[Event]], bool]
_UNKNOWN_DELTA: Final[tuple[frozenset[str], _Read, tuple[str, ...]]] = (
    frozenset(),
    lambda *_: False,
    (),
)
_DELTAS: Final[dict[str, tuple[frozenset[str], _Read, tuple[str, ...]]]] = {
    "text_delta": (frozenset({"text"}), Blocks._text_delta, ("text",)),
    "citations_delta": (frozenset({"text"}), Blocks._citations_delta, ("citation",)),
    "thinking_delta": (
        frozenset({"thinking"}),
        Blocks._thinking_delta,
        ("thinking", "estimated_tokens"),
    ),
    "signature_delta": (frozenset({"thinking"}), Blocks._signature_delta, ("signature",)),
    "input_json_delta": (
        frozenset({"tool_use", *_SERVER_CALLS}),
        Blocks._input_delta,
        ("partial_json",),
    ),
    "compaction_delta": (
        frozenset({"compaction"}),
        Blocks._compaction_delta,
        ("content", "encrypted_content"),
    ),
}
"""The type of a delta → the types of its block, its reader and the fields that this reads."""


def _end_of_call(block: _Block, out: list[Event]) -> Event:
    arguments, given = block.input(), block.fields.get("input")
    if type(arguments) is not dict:
        text = "".join(block.pieces)
        text = text if text.strip() else json.dumps(given, ensure_ascii=False)
        return CallInvalid(block.call, text)
    if not is_empty(given) and given != arguments:
        out.append(Unknown("field tool_use.input", {"input": given}))
    return CallEnd(block.call, arguments)


def _server_call(block: _Block) -> Event:
    arguments, name = block.input(), text_of(block.fields.get("name"))
    raw = {**block.fields, "input": arguments}
    if field_of_code := _CODE_FIELDS.get(name or ""):
        code = arguments.get(field_of_code) if type(arguments) is dict else None
        return Code(word_of(code), raw)
    return ServerCall(raw, id=text_of(block.fields.get("id")), name=name, arguments=arguments)


def _result(kind: str, fields: dict[str, Json]) -> Event:
    if kind not in _CODE_RESULTS:
        call_id = text_of(fields.get("tool_use_id"))
        return ServerResult(fields, id=call_id, name=kind.removesuffix(_RESULT))
    content = fields.get("content")
    result = content if type(content) is dict else {}
    code = result.get("return_code")
    outcome = text_of(result.get("error_code")) or ("" if code is None else str(code))
    return CodeResult(outcome, word_of(result.get("stdout")), fields)


def _about(kind: str, holder: dict[str, Json]) -> Event:
    fields = {name: value for name, value in holder.items() if name != "type"}
    return Metadata(kind, {kind: fields})
