"""The strict reader of the Responses API, as the client `openai` reads the events of a stream.

The client (`openai.lib.streaming.responses`) keeps the items by their index, and takes the whole
answer from the last event. An event of an item that has not begun, an item that begins twice or
changes its identity, and a last event whose items are not those of the stream are faults.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from harness.facts import Call, Facts, Finish, Text, Thought, arguments_of, facts_of_account
from harness.providers.openai.facts import count_responses
from harness.stream.json_codec import Json, same_json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader, object_in, objects_in, text_in

_BEGINNINGS: Final = ("response.created", "response.queued", "response.in_progress")
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_PIECES: Final = {
    "response.output_text.delta": ("message", "output_text"),
    "response.refusal.delta": ("message", "refusal"),
    "response.reasoning_summary_text.delta": ("reasoning", "thought"),
    "response.reasoning_text.delta": ("reasoning", "thought"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
}
"""The events with a piece: the type of their item, and the part that it is a piece of."""

_Calls = list[tuple[str | None, str, Json]]


@dataclass
class _Content:
    """The content of an answer, by which the last event is compared with the stream."""

    text: str = ""
    thoughts: str = ""
    calls: _Calls = field(default_factory=list)


@dataclass
class _Item:
    """One item: as it began, the kinds of its parts, and the pieces of the arguments."""

    first: dict[str, Json]
    parts: list[str] = field(default_factory=list)
    pieces: str = ""
    whole: dict[str, Json] | None = None


class OpenAIResponses(WireReader):
    """The state of one answer: its id, its items by index, and the content of the stream."""

    framing: ClassVar[Framing] = Framing(done="[DONE]")

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._id: Json = None
        self._begun = False
        self._ended = False
        self._items: dict[int, _Item] = {}
        self._said = _Content()

    def _read(self, message: dict[str, Json]) -> None:
        if message.get("error") and "object" not in message:
            self._add_error(message["error"])
            return
        kind = message.get("type")
        if not isinstance(kind, str):
            self._read_whole(message)
            return
        if kind == "error":
            self._add_error(message)
            return
        if self._ended:
            raise Unreadable(f"{kind} follows the last event")
        if not self._begun and kind != "response.created":
            raise Unreadable(f"{kind} comes before response.created")
        if kind in (*_BEGINNINGS, *_ENDS):
            self._read_lifecycle(kind, object_in(message, "response"))
        elif kind == "response.output_item.added":
            self._begin(message)
        elif kind == "response.output_item.done":
            self._end(message)
        elif kind == "response.content_part.added":
            item, part = self._item(message), object_in(message, "part")
            if item.first.get("type") == "message":
                item.parts.append(_word(part, "type", "part."))
                if part["type"] == "output_text":
                    _word(part, "text", "part.")
        elif kind in _PIECES:
            self._read_piece(kind, message)
        elif kind == "response.output_text.done":
            _check_part(self._item(message), message, "message", "output_text")
            _word(message, "text", "")

    def _read_whole(self, message: dict[str, Json]) -> None:
        if self._framed or message.get("object") != "response":
            raise Unreadable(f"{short_json(message)} is neither an event nor a response")
        if self._begun:
            raise Unreadable("the answer has other objects beside one response")
        self._begun = True
        self._read_end(message)

    def _read_lifecycle(self, kind: str, response: dict[str, Json]) -> None:
        given = response.get("id")
        if self._begun and given != self._id:
            raise Unreadable(f"the id of the response is {short_json(given)}; it was another")
        self._begun, self._id = True, given
        if kind in _BEGINNINGS:
            if objects_in(response, "output", "response."):
                raise Unreadable("the response has items before they begin")
            if response.get("error"):
                self._add_error(response["error"])
            return
        self._ended = True
        self._read_end(response)

    # ---------------------------------------------------------------- items

    def _begin(self, event: dict[str, Json]) -> None:
        index, wire = _index(event), object_in(event, "item")
        if index in self._items:
            raise Unreadable(f"the item {index} begins twice")
        item = self._items[index] = _Item(wire)
        kind = _word(wire, "type", "item.")
        if kind == "message":
            if content := _parts(wire, "content"):
                raise Unreadable(f"the item has the content {short_json(content)} at its beginning")
        elif kind in _CALLS:
            _word(wire, "name", "item.")
            item.pieces = _word(wire, _CALLS[kind], "item.")

    def _end(self, event: dict[str, Json]) -> None:
        index, wire = _index(event), object_in(event, "item")
        item = self._items.get(index)
        if item is None:
            raise Unreadable(f"the item {index} ends before it begins")
        if item.whole is not None:
            raise Unreadable(f"the item {index} ends twice")
        if _identity(item.first) != _identity(wire) or item.first.get("id") != wire.get("id"):
            raise Unreadable(f"the item {index} has another type or id at its end")
        twins = [other for other in self._items.values() if other.whole is not None]
        if any(_identity(other.first) == _identity(wire) for other in twins):
            raise Unreadable(f"the item {index} has the id of another item")
        content = _content([wire])
        if item.pieces and item.pieces != text_in(wire, _CALLS.get(_type(wire), ""), "item."):
            raise Unreadable(f"the end of the item {index} has other arguments than its pieces")
        item.whole = wire
        for call_id, name, arguments in content.calls:
            self._add(Call(call_id, name, arguments))
            self._said.calls.append((call_id, name, arguments))

    def _item(self, event: dict[str, Json]) -> _Item:
        index = _index(event)
        if index not in self._items:
            raise Unreadable(f"{event['type']} is for item {index}, which has not begun")
        if self._items[index].whole is not None:
            raise Unreadable(f"{event['type']} is for item {index}, which has ended")
        return self._items[index]

    def _read_piece(self, kind: str, event: dict[str, Json]) -> None:
        owner, part = _PIECES[kind]
        item, delta = self._item(event), _word(event, "delta", "")
        _check_part(item, event, owner, part)
        if owner == "message":
            self._said.text += delta
            self._add(Text(delta))
        elif owner == "reasoning":
            self._said.thoughts += delta
            self._add(Thought(delta))
        else:
            item.pieces += delta

    # ---------------------------------------------------------------- the end

    def _read_end(self, response: dict[str, Json]) -> None:
        """Read a whole response. In a stream it must have the items of the stream, or null."""
        if response.get("error"):
            self._add_error(response["error"])
            return
        given = response.get("output")
        output = objects_in(response, "output", "response.")
        if given is not None or not self._items:
            self._compare(output)
        if response.get("usage") is not None:
            counts = Facts()
            count_responses(counts, object_in(response, "usage", "response."))
            self._add(*facts_of_account(counts))
        status = text_in(response, "status", "response.")
        details = response.get("incomplete_details")
        reason = text_in(details, "reason", "details.") if isinstance(details, dict) else ""
        if status not in ("", "in_progress", "queued"):
            self._add(Finish(reason if status == "incomplete" and reason else status))

    def _compare(self, output: list[dict[str, Json]]) -> None:
        """Compare the items of the last response with those of the stream, or read them."""
        final, said = _content(output), self._said
        for index, item in self._items.items():
            twins = [wire for wire in output if _identity(wire) == _identity(item.first)]
            if item.whole is None and not twins:
                raise Unreadable(f"the item {index} never ends")
            if any(wire.get("id") != item.first.get("id") for wire in twins):
                raise Unreadable(f"the item {index} has another id in the last response")
        for name in ("text", "thoughts"):
            before, after = getattr(said, name), getattr(final, name)
            if before and before != after:
                raise Unreadable(
                    f"the last response has the {name} {short_json(after)}; its pieces are"
                    f" {short_json(before)}, and the official client takes the response"
                )
        if said.calls and not same_json(_plain(said.calls), _plain(final.calls)):
            raise Unreadable("the last response has other calls than the stream")
        self._add(*([Thought(final.thoughts)] if final.thoughts and not said.thoughts else []))
        self._add(*([Text(final.text)] if final.text and not said.text else []))
        for call_id, name, arguments in [] if said.calls else final.calls:
            self._add(Call(call_id, name, arguments))


def _check_part(item: _Item, event: dict[str, Json], owner: str, part: str) -> None:
    """Raise `Unreadable` for an event of another item or part."""
    if item.first.get("type") != owner:
        raise Unreadable(f"{event['type']} is for an item of the type {_type(item.first)!r}")
    number = event.get("content_index")
    if owner != "message":
        return
    if type(number) is not int or not 0 <= number < len(item.parts):
        raise Unreadable(
            f"content_index is {short_json(number)}; the item has {len(item.parts)} parts"
        )
    if item.parts[number] != part:
        raise Unreadable(f"{event['type']} is for a part of the type {item.parts[number]!r}")


def _content(output: list[dict[str, Json]]) -> _Content:
    """Return the content of whole items. Raises `Unreadable` for fields of other types."""
    content = _Content()
    for item in output:
        kind = _word(item, "type", "item.")
        for name in ("id", "call_id"):
            text_in(item, name, "item.")
        if kind == "message":
            for part in _parts(item, "content"):
                word = _word(part, "type", "content.")
                if word in ("output_text", "refusal"):
                    name = "text" if word == "output_text" else "refusal"
                    content.text += _word(part, name, "content.")
        elif kind == "reasoning":
            for name in ("summary", "content"):
                texts = (text_in(part, "text", f"{name}.") for part in _parts(item, name))
                content.thoughts += "".join(texts)
        elif kind in _CALLS:
            text = text_in(item, _CALLS[kind], "item.")
            arguments = {"input": text} if kind == "custom_tool_call" else arguments_of(text)
            call_id = text_in(item, "call_id", "item.") or None
            content.calls.append((call_id, _word(item, "name", "item."), arguments))
    return content


def _plain(calls: _Calls) -> Json:
    return [list(call) for call in calls]


def _parts(item: dict[str, Json], name: str) -> list[dict[str, Json]]:
    required = name == "content" and item.get("type") == "message"
    return objects_in(item, name, "item.", required=required)


def _identity(item: dict[str, Json]) -> tuple[Json, Json, Json]:
    """Return the values that the client takes for the identity of an item."""
    kind = item.get("type")
    by_call = kind in ("function_call", "custom_tool_call", "shell_call", "shell_call_output")
    return kind, None if by_call else item.get("id"), item.get("call_id")


def _type(item: dict[str, Json]) -> str:
    return str(item.get("type"))


def _index(event: dict[str, Json]) -> int:
    index = event.get("output_index")
    if type(index) is not int:
        raise Unreadable(
            f"output_index is {short_json(index)}; expected a number, by which the official client"
            " joins the events"
        )
    return index


def _word(holder: dict[str, Json], name: str, place: str) -> str:
    """Return a text that must be there."""
    value = holder.get(name)
    if not isinstance(value, str):
        raise Unreadable(f"{place}{name} is {short_json(value)}; expected a string")
    return value
