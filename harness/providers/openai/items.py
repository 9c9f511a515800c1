"""Reads the output items of a response, whole or as events: an item begins, gets its content in
pieces, and is done.

The end of an item, of a part and of the response repeat the content. A repetition that equals the
pieces gives no event; content that did not come in pieces is read from the first repetition.

Items usually follow each other. If they overlap, the first one that is not done gives its content
at once, and the content of the others waits for its end: each item is whole in the events. An item
of a built-in tool has no pieces of its own; it is read when it is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.stream.events import (
    Annotation,
    BlockEnd,
    BlockStart,
    CallEnd,
    CallInvalid,
    CallPiece,
    CallStart,
    CallText,
    Code,
    CodeResult,
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
from harness.stream.json_codec import Json, decode_object, objects_in
from harness.stream.oddities import Oddities

from ..wire_values import give_others, is_empty, list_of, text_of, word_of

NAMES: Final = (
    *("type", "id", "status", "role", "phase", "call_id", "name", "namespace", "caller", "async"),
    *("server_label", "execution", "environment", "created_by", "agent"),
)
"""The fields of an item that its boundaries repeat."""
CALLS: Final[Mapping[str, str]] = {"function_call": "arguments", "custom_tool_call": "input"}
"""The items that are calls of the client's tools, and the field of their arguments."""
SERVER_CALLS: Final = frozenset(
    {
        *("web_search_call", "file_search_call", "computer_call", "mcp_call", "shell_call"),
        *("mcp_approval_request", "local_shell_call", "apply_patch_call", "tool_search_call"),
        *("program", "image_generation_call", "x_search_call"),
    }
)
SERVER_RESULTS: Final = frozenset(
    {
        *("shell_call_output", "local_shell_call_output", "apply_patch_call_output"),
        *("computer_call_output", "tool_search_output", "program_output", "mcp_list_tools"),
        *("mcp_approval_response", "compaction", "additional_tools"),
        *("function_call_output", "custom_tool_call_output"),
    }
)
_ARGUMENTS: Final = ("action", "operation", "queries", "arguments")
"""The fields of server tools that have the arguments of the call."""
_STREAMED: Final = frozenset({"message", "reasoning", *CALLS})
"""The items whose content comes in pieces that are read at once."""
_PARTS: Final = {
    "output_text": "text",
    "refusal": "refusal",
    "summary_text": "text",
    "reasoning_text": "text",
    "text": "text",
}
"""A part of an item, and its field with the text."""
_KNOWN_PARTS: Final = ("type", "text", "refusal", "annotations", "logprobs")
_THOUGHTS: Final = frozenset({"summary_text", "reasoning_text"})
BESIDE: Final = ("phase", "namespace", "caller", "async")
"""The fields of a message or of a call that say more than the boundary of an item."""
_VARIED: Final = ("id", "encrypted_content")
_VOLATILE: Final = frozenset({*_VARIED, "status", "logprobs", "created_by"})
"""Fields of an item that differ between its end and the end of the response."""


@dataclass(slots=True, eq=False)
class Item:
    """One item of an answer."""

    kind: str
    index: int
    id: str | None
    first: dict[str, Json]
    texts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    """The pieces of each part, by its kind and number."""
    annotations: list[Json] = field(default_factory=list)
    held: list[Event] = field(default_factory=list)
    """The events of the item that wait for the end of another item."""
    call: int | None = None
    """The number of the call; None if the item is none."""
    part: tuple[str, int] | None = None
    """The kind and the number of the part of the latest piece."""
    whole: dict[str, Json] | None = None
    """The item as it was when it was done; None until then."""
    snapshots: list[str] = field(default_factory=list)
    """The texts that differ from the pieces."""
    beside: dict[str, Json] = field(default_factory=dict)
    """The fields that were given as an annotation."""

    def text(self, kind: str, number: int = 0) -> str | None:
        """Return the text of a part so far; None if nothing of it came."""
        pieces = self.texts.get((kind, number))
        return None if pieces is None else "".join(pieces)

    def with_pieces(self) -> dict[str, Json]:
        """Return the item as it began, with the texts so far; a list if a kind has several."""
        texts: dict[str, list[Json]] = {}
        for (kind, _), pieces in self.texts.items():
            texts.setdefault(kind, []).append("".join(pieces))
        return self.first | {
            kind: given[0] if len(given) == 1 else given for kind, given in texts.items()
        }


class Items:
    """The items of one response, by their index."""

    def __init__(self, oddities: Oddities, *, wait: bool) -> None:
        self._note = oddities.note
        self._wait = wait
        self._items: dict[int, Item] = {}
        self._queue: list[Item] = []  # the item that gives its content, and those that wait
        self._calls = 0
        self._latest = -1

    def find(self, index: Json, item_id: Json) -> Item | None:
        """Return the item with an index, or else with an id, or else the latest."""
        if type(index) is int:
            # Some proxies change the id of an item from event to event, so the index decides.
            return self._items.get(index)
        return self._named(item_id) or self._items.get(self._latest)

    def _named(self, item_id: Json) -> Item | None:
        """Return the latest item with an id."""
        items = reversed(self._items.values())
        return next((item for item in items if item_id and item.id == item_id), None)

    def gives(self, item: Item) -> bool:
        """Return whether an item gives its content at once."""
        return not self._queue or self._queue[0] is item

    # ---------------------------------------------------------------- begin, pieces, done

    def begin(self, index: Json, wire: dict[str, Json], out: list[Event]) -> Item:
        """Begin an item, with the content that it already has."""
        number = index if type(index) is int else self._latest + 1
        if (older := self._items.get(number)) is not None and older.whole is None:
            self._leave(older, out)
        self._latest = number
        kind = word_of(wire.get("type"))
        for name in ("type", "name") if kind in CALLS else ("type",):
            if type(wire.get(name)) is not str:
                self._note(f"item.{name}", wire.get(name))
        item = self._items[number] = Item(kind, number, text_of(wire.get("id")), wire)
        sink = self._sink(item, out)
        sink.append(BlockStart(kind, _boundary(number, wire), number, item.id))
        if kind in CALLS:
            self._calls += 1
            item.call = self._calls
            sink.append(
                CallStart(item.call, word_of(wire.get("name")), text_of(wire.get("call_id")))
            )
        self._note_beside(item, wire, out)
        return item

    def implied(self, index: Json, kind: str, out: list[Event]) -> Item:
        """Return an item whose beginning is missing, because the stream was resumed."""
        number = index if type(index) is int else self._latest + 1
        self._latest = number
        item = self._items[number] = Item(kind, number, None, {}, part=("", 0))
        self._sink(item, out)
        return item

    def add(self, item: Item, kind: str, number: int, text: str, out: list[Event]) -> None:
        """Add a piece of a part."""
        item.texts.setdefault((kind, number), []).append(text)
        if item.whole is not None:
            out.append(Unknown(f"piece of {kind} after the end of its item", {kind: text}))
            return
        sink = self._sink(item, out)
        if kind in CALLS:
            assert item.call is not None
            sink.append(
                CallText(item.call, text)
                if kind == "function_call"
                else CallPiece(item.call, "$.input", text, True)
            )
        elif kind in _THOUGHTS:
            begins = item.part not in (None, (kind, number))
            sink.append(Reasoning(text, id=item.id, begins=begins))
        elif kind in _PARTS:
            sink.append(Text(text, refusal=kind == "refusal"))
        item.part = (kind, number)

    def repeat(self, item: Item, kind: str, number: int, text: str, out: list[Event]) -> None:
        """Read the text of a part that is whole: it repeats the pieces, or is new."""
        before = item.text(kind, number)
        if before is None:
            if text:
                self.add(item, kind, number, text, out)
        elif before != text and text not in item.snapshots:
            item.snapshots.append(text)
            self._sink(item, out).append(Metadata("snapshot", {kind: text}))

    def annotate(self, item: Item, annotations: Json, out: list[Event]) -> None:
        """Read the annotations of a text that are new."""
        given = annotations if type(annotations) is list else [annotations] if annotations else []
        fresh = [annotation for annotation in given if annotation not in item.annotations]
        if fresh:
            item.annotations += fresh
            self._sink(item, out).append(Annotation("citations", {"annotations": fresh}))

    def part(self, item: Item, number: int, part: Json, kinds: str, out: list[Event]) -> None:
        """Read a whole part of an item; ``kinds`` names the list that has it."""
        kind = part.get("type") if type(part) is dict else None
        text = part.get(_PARTS.get(word_of(kind), "")) if type(part) is dict else None
        if type(part) is not dict or type(text) is not str:
            self._sink(item, out).append(Unknown(f"{kinds} {word_of(kind)}".strip(), part))
            return
        self.repeat(item, word_of(kind), number, text, out)
        self.annotate(item, part.get("annotations"), out)
        sink = self._sink(item, out)
        if part.get("logprobs") and ("logprobs", number) not in item.texts:
            sink.append(Annotation("logprobs", {"logprobs": part["logprobs"]}))
        give_others(f"{word_of(kind)}.", part, _KNOWN_PARTS, sink)

    def give(self, item: Item, event: Event, out: list[Event]) -> None:
        """Emit an event about an item at its place."""
        self._sink(item, out).append(event)

    def note_logprobs(self, item: Item, number: int, logprobs: Json, out: list[Event]) -> None:
        """Emit the log probabilities of a piece."""
        item.texts.setdefault(("logprobs", number), []).append("")
        self._sink(item, out).append(Annotation("logprobs", {"logprobs": logprobs}))

    def done(self, index: Json, wire: dict[str, Json], out: list[Event]) -> None:
        """End an item with its whole content."""
        kind = word_of(wire.get("type"))
        item = self._items.get(index) if type(index) is int else self._named(wire.get("id"))
        if item is not None and item.whole is not None and _stable(item.whole) == _stable(wire):
            _note_other(item, wire, out)
            return
        if item is None or item.whole is not None or item.kind != kind:
            item = self.begin(index, wire, out)
        self._note_beside(item, wire, out)
        sink = self._sink(item, out)
        known = _READERS.get(kind, Items._read_unknown)(self, item, wire, out)
        give_others(f"{kind}.", wire, (*NAMES, *known), sink)
        if item.call is not None:
            self._end_call(item, sink)
        sink.append(BlockEnd(_boundary(item.index, wire), item.index))
        item.whole = wire
        self._advance(out)

    def read_all(self, output: list[Json], out: list[Event], *, streamed: bool) -> None:
        """Read the items of a whole response. After a stream they repeat the stream: an item that
        did not come is read, one that differs is a snapshot.
        """
        changed: list[Json] = []
        fresh = streamed or not self._items
        for index, wire in enumerate(output):
            if type(wire) is not dict:
                out.append(Unknown("item", wire))
                continue
            item = self._items.get(index)
            if item is None and fresh:
                self.begin(index, wire, out)
                self.done(index, wire, out)
            elif item is not None and item.whole is None and item.kind == wire.get("type"):
                self.done(index, wire, out)
            elif item is None or _stable(item.whole) != _stable(wire):
                changed.append(wire)
            if item is not None:
                _note_other(item, wire, out)
        if changed:
            out.append(Metadata("snapshot", {"output": changed}))

    # ---------------------------------------------------------------- the end

    def end_all(self, out: list[Event]) -> None:
        """End the items that are not done, because the answer has ended."""
        for item in self._items.values():
            if item.whole is None:
                self._leave(item, out)
        self._advance(out)

    def release(self, out: list[Event]) -> list[str]:
        """Emit the events that wait, up to the first call that is not whole; returns the other
        items that wait, and those that are not done and give no pieces, as JSON.
        """
        while self._queue:
            front = self._queue[0]
            out += front.held
            front.held = []
            if front.call is not None and front.whole is None:
                break
            self._queue.pop(0)
        rest = [item.whole or item.with_pieces() for item in self._queue[1:]]
        for item in self._items.values():
            if item.whole is None and item.kind not in _STREAMED and item not in self._queue:
                half = item.with_pieces()
                if not all(name in NAMES or is_empty(value) for name, value in half.items()):
                    rest.append(half)
        return [json.dumps(item) for item in rest]

    # ---------------------------------------------------------------- items by their kind

    def _note_beside(self, item: Item, wire: dict[str, Json], out: list[Event]) -> None:
        """Annotate an item with the fields of `BESIDE` that are new."""
        if item.kind not in _STREAMED:
            return  # it is given whole
        given = {name: wire[name] for name in BESIDE if not is_empty(wire.get(name))}
        fresh = {name: value for name, value in given.items() if item.beside.get(name) != value}
        if fresh:
            item.beside |= fresh
            self._sink(item, out).append(Annotation("part", fresh))

    def _read_message(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        if type(wire.get("content")) is not list:
            self._note("item.content", wire.get("content"))
        for number, part in enumerate(list_of(wire.get("content"))):
            self.part(item, number, part, "content part", out)
        return ("content",)

    def _read_reasoning(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        for name in ("summary", "content"):
            for number, part in enumerate(list_of(wire.get(name))):
                self.part(item, number, part, f"{name} part", out)
        if secret := text_of(wire.get("encrypted_content")):
            event = Reasoning("", secret, id=item.id or text_of(wire.get("id")))
            self._sink(item, out).append(event)
        return ("summary", "content", "encrypted_content")

    def _read_call(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        name = CALLS[item.kind]
        given = wire.get(name)
        if type(given) is str:
            self.repeat(item, item.kind, 0, given, out)
            return (name,)
        if type(given) is dict and item.text(item.kind) is None:
            item.first = {**item.first, name: given}
            return (name,)
        return ()

    def _read_code(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        sink = self._sink(item, out)
        sink.append(Code(word_of(wire.get("code")), wire))
        for output in objects_in(wire.get("outputs")):
            if output.get("type") == "image":
                sink.append(Media(None, output, uri=text_of(output.get("url")), family="image"))
            else:
                logs = output.get("logs")
                sink.append(CodeResult(word_of(wire.get("status")), word_of(logs), output))
        return tuple(wire)

    def _read_image(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        data = text_of(wire.get("result"))
        if data is None:
            return self._read_tool(item, wire, out)
        form = wire.get("output_format")
        self._sink(item, out).append(image(data, form, wire))
        return tuple(wire)

    def _read_tool(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        kind = item.kind
        own = text_of(wire.get("call_id")) or text_of(wire.get("id"))
        name = text_of(wire.get("name")) or kind.removesuffix("_call")
        event: Event
        if kind in SERVER_RESULTS:
            event = ServerResult(wire, text_of(wire.get("encrypted_content")), id=own, name=name)
        else:
            given = next((wire[key] for key in _ARGUMENTS if not is_empty(wire.get(key))), None)
            parsed = decode_object(given.encode()) if type(given) is str else given
            event = ServerCall(
                wire, id=own, name=name, arguments=given if parsed is None else parsed
            )
        self._sink(item, out).append(event)
        return tuple(wire)

    def _read_unknown(self, item: Item, wire: dict[str, Json], out: list[Event]) -> _Known:
        self._sink(item, out).append(Unknown(f"item {item.kind}", wire))
        return tuple(wire)

    # ---------------------------------------------------------------- places

    def _sink(self, item: Item, out: list[Event]) -> list[Event]:
        """Return the list for the events of an item: ``out``, or the one of events that wait."""
        if not self._queue:
            if self._wait and item.kind in _STREAMED and item.whole is None:
                self._queue.append(item)
            return out
        if self._queue[0] is item:
            return out
        if item not in self._queue:
            self._queue.append(item)
        return item.held

    def _advance(self, out: list[Event]) -> None:
        """Emit the events that wait for an item that is done."""
        while self._queue:
            front = self._queue[0]
            out += front.held
            front.held = []
            if front.whole is None and front.kind in _STREAMED:
                return
            self._queue.pop(0)

    def _leave(self, item: Item, out: list[Event]) -> None:
        """End an item that is not done, with its content so far."""
        sink = self._sink(item, out)
        if item.call is not None:
            self._end_call(item, sink)
        elif item.kind not in _STREAMED:
            _READERS.get(item.kind, Items._read_unknown)(self, item, item.with_pieces(), out)
        item.whole = item.first
        self._advance(out)

    def _end_call(self, item: Item, sink: list[Event]) -> None:
        assert item.call is not None
        text = item.text(item.kind)
        if item.kind == "custom_tool_call":
            sink.append(CallEnd(item.call, {"input": text or ""}))
            return
        given = item.first.get("arguments")
        arguments: dict[str, Json] | None = {}
        if text is None and type(given) is dict:
            arguments = given
        if text is not None and text.strip():
            arguments = decode_object(text.encode("utf-8", "surrogatepass"))
        sink.append(
            CallInvalid(item.call, text or "")
            if arguments is None
            else CallEnd(item.call, arguments)
        )


_Known = tuple[str, ...]
"""The names of the fields that a reader has read."""
_READERS: Final[dict[str, Callable[[Items, Item, dict[str, Any], list[Event]], _Known]]] = {
    "message": Items._read_message,
    "reasoning": Items._read_reasoning,
    "code_interpreter_call": Items._read_code,
    **dict.fromkeys(CALLS, Items._read_call),
    **dict.fromkeys((*SERVER_CALLS, *SERVER_RESULTS), Items._read_tool),
    "image_generation_call": Items._read_image,
}


def image(data: str, form: Json, raw: dict[str, Json]) -> Media:
    """Return an image; ``form`` is the second half of its media type, if the wire says it."""
    if type(form) is str and form:
        return Media(f"image/{form}", raw, data)
    return Media(None, raw, data, family="image")


def _boundary(index: int, wire: dict[str, Json]) -> dict[str, Json]:
    """Return the message of the beginning or the end of an item, without the content."""
    item = {name: wire[name] for name in NAMES if not is_empty(wire.get(name))}
    return {"output_index": index, "item": item}


def _note_other(item: Item, wire: dict[str, Json], out: list[Event]) -> None:
    """Mark the signature or the id of an item that is repeated with another value."""
    whole = item.whole or {}
    pairs = [(text_of(whole.get(name)), text_of(wire.get(name))) for name in _VARIED]
    others = [first and again and first != again for first, again in pairs]
    if item.kind == wire.get("type") and any(others):
        named = {name: wire[name] for name in ("type", *_VARIED) if name in wire}
        mark = {"output_index": item.index, "item": named}
        out.append(Mark("signature" if others[1] else "id", mark))


def _stable(wire: Json) -> Json:
    """Return an item without the fields that differ between two repetitions."""
    if type(wire) is dict:
        return {
            name: _stable(value)
            for name, value in wire.items()
            if name not in _VOLATILE and not is_empty(value)
        }
    return [_stable(item) for item in wire] if type(wire) is list else wire
