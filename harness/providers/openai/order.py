"""The order of the events of a response, and the ways in which a body differs from the documented
wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from harness.stream.exchange import Request
from harness.stream.framing import Frame
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from ..openai_compat.variants import of_chat
from ..openai_compat.whole import fault_of as fault_of_chat
from .items import CALLS
from .messages import is_response

PIECES: Final[dict[str, tuple[str, str]]] = {
    "response.output_text": ("output_text", "message"),
    "response.refusal": ("refusal", "message"),
    "response.reasoning_summary_text": ("summary_text", "reasoning"),
    "response.reasoning_text": ("reasoning_text", "reasoning"),
    "response.function_call_arguments": ("function_call", "function_call"),
    "response.custom_tool_call_input": ("custom_tool_call", "custom_tool_call"),
}
"""The name of an event, without its last word → the part that it has a piece of, and its item."""
BEGINNINGS: Final = ("response.created", "response.queued", "response.in_progress")
ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
DONE: Final = "[DONE] after the events of a response"
_ADDED: Final = "response.output_item.added"
_DONE: Final = "response.output_item.done"
_PART: Final = "response.content_part.added"
_TEXT_DONE: Final = "response.output_text.done"
IN_ITEM: Final = frozenset(
    {
        *(f"{name}.{step}" for name in PIECES for step in ("delta", "done")),
        *(_PART, "response.content_part.done", "response.output_text.annotation.added"),
        *(f"response.reasoning_summary_part.{step}" for step in ("added", "done")),
    }
)
"""The events that belong to an item that has begun."""

_VARIANTS: Final = {
    **dict.fromkeys(
        (
            *("an event after the end", "a second response.created"),
            *("an item that ends before it begins", "an item that ends twice"),
            *(f"{kind} of no open item" for kind in IN_ITEM),
            *(f"output_index of {kind}" for kind in (_ADDED, _DONE, *IN_ITEM)),
        ),
        "events out of order",
    ),
    **dict.fromkeys(
        (f"content_index of response.{part}.delta" for part in ("output_text", "refusal")),
        "text without content_part.added",
    ),
    **{
        name: name
        for name in (
            *("an item whose id changes", "a text without its pieces"),
            *("a response that ends without its items", DONE),
        )
    },
}
"""The name of an oddity → the variant that it is."""


@dataclass(slots=True)
class _Item:
    """An item that has begun: its type, its first form, the types of its parts, and the numbers of
    the parts that came in pieces.
    """

    kind: Json
    first: dict[str, Json]
    parts: list[str] = field(default_factory=list)
    pieced: set[str] = field(default_factory=set)
    ended: bool = False


class Order:
    """The order of the events of one stream, and their items, in which it notes oddities."""

    def __init__(self, oddities: Oddities) -> None:
        self._note = oddities.note
        self._begun = self._over = False
        self._id: Json = None
        self._items: dict[int, _Item] = {}
        self._ended: set[str] = set()
        """The identities of the items that have ended."""

    def read(self, kind: str, event: dict[str, Json]) -> None:
        """Note the oddities of an event. A resumed stream begins anywhere."""
        if kind == "error":
            return
        if self._over:
            self._note(f"{'keepalive' if kind == 'keepalive' else 'an event'} after the end", kind)
        elif not self._begun and kind != "response.created":
            self._note("an event before response.created", kind)
        if kind in BEGINNINGS or kind in ENDS:
            self._read_response(kind, event)
        elif kind in IN_ITEM or kind in (_ADDED, _DONE):
            index = event.get("output_index")
            if type(index) is not int:
                self._note(f"output_index of {kind}", index)
            elif kind == _ADDED:
                self._begin(index, event.get("item"))
            elif self._begun and kind == _DONE:
                self._end(index, event.get("item"))
            elif self._begun:
                self._read_in_item(index, kind, event)

    def read_whole(self) -> None:
        """Note a whole response that is not alone."""
        if self._begun:
            self._note("a second response")
        self._begun = True

    def _read_response(self, kind: str, event: dict[str, Json]) -> None:
        response = event.get("response")
        self._over |= kind in ENDS
        if type(response) is not dict:
            self._note("response", response)
            return
        given, output = response.get("id"), response.get("output")
        if self._begun and given != self._id:
            self._note("another id of the response", given)
        self._id = given
        if kind == "response.created":
            if self._begun:
                self._note("a second response.created")
            self._begun = True
        if not (output is None or _are_objects(output)):
            self._note("response.output", output)
        elif kind in BEGINNINGS:
            if output:
                self._note("items before they begin", output)
        elif output is not None and not response.get("error"):
            self._compare(output)
        if kind == "response.completed" and self._items and not output:
            self._note("a response that ends without its items")

    def _compare(self, output: list[dict[str, Json]]) -> None:
        """Note the items that the last response does not have."""
        ids = {_identity(wire): wire.get("id") for wire in output}
        for index, item in self._items.items():
            own, identity = item.first.get("id"), _identity(item.first)
            if ids.get(identity, own) != own:
                self._note("another id in the last response", index)
            if not item.ended and identity not in ids:
                self._note("an item that never ends", index)

    def _begin(self, index: int, wire: Json) -> None:
        if type(wire) is not dict:
            self._note("item", wire)
            return
        if index in self._items:
            self._note("an item that begins twice", index)
        kind = wire.get("type")
        self._items[index] = _Item(kind, wire)
        content = wire.get("content")
        if kind == "message" and content != []:
            self._note("content at the beginning of an item", content)
        elif type(kind) is str and kind in CALLS and type(wire.get(CALLS[kind])) is not str:
            self._note("arguments at the beginning of an item", wire.get(CALLS[kind]))

    def _end(self, index: int, wire: Json) -> None:
        item = self._items.get(index)
        if type(wire) is not dict:
            self._note("item", wire)
        elif item is None:
            self._note("an item that ends before it begins", index)
        elif item.ended:
            self._note("an item that ends twice", index)
        else:
            item.ended = True
            own, first = wire.get("id"), item.first
            if own is not None and own != first.get("id"):
                self._note("an item whose id changes", own)
            identity = _identity(wire)
            named = ("id", "name") if str(item.kind) in CALLS else ("id",)
            if identity != _identity(first) or any(wire.get(n) != first.get(n) for n in named):
                self._note("an item that ends as another", wire)
            elif identity in self._ended:
                self._note("an item with the id of another", wire)
            self._ended.add(identity)

    def _read_in_item(self, index: int, kind: str, event: dict[str, Json]) -> None:
        item = self._items.get(index)
        if item is None or item.ended:
            self._note(f"{kind} of no open item", index)
            item = item or _Item("message", {})
        elif (own := event.get("item_id")) is not None and own != item.first.get("id"):
            self._note("an item whose id changes", own)
        name, _, step = kind.rpartition(".")
        if kind == _PART:
            self._begin_part(item, event.get("part"))
        elif name in PIECES and (step == "delta" or kind == _TEXT_DONE):
            self._read_piece(item, kind, event)

    def _begin_part(self, item: _Item, part: Json) -> None:
        kind = part.get("type") if type(part) is dict else None
        if item.kind == "message":
            item.parts.append(str(kind))
        if type(part) is not dict:
            self._note("part", part)
        elif item.kind == "message" and type(kind) is not str:
            self._note("part.type", kind)
        elif kind == "output_text" and type(part.get("text")) is not str:
            self._note("part.text", part.get("text"))

    def _read_piece(self, item: _Item, kind: str, event: dict[str, Json]) -> None:
        name, _, step = kind.rpartition(".")
        part, owner = PIECES[name]
        text = event.get("delta" if step == "delta" else "text")
        if type(text) is not str:
            self._note(f"text of {kind}", text)
        if item.kind != owner:
            self._note(f"{kind} of another item", item.kind)
        elif owner == "message":
            number = event.get("content_index")
            if type(number) is not int or not 0 <= number < len(item.parts):
                self._note(f"content_index of {kind}", number)
            elif item.parts[number] != part:
                self._note(f"{kind} of another part", item.parts[number])
            if step == "delta":
                item.pieced.add(str(number))
            elif text and str(number) not in item.pieced:
                self._note("a text without its pieces")


def _are_objects(value: Json) -> bool:
    return type(value) is list and all(type(item) is dict for item in value)


def _identity(item: dict[str, Json]) -> str:
    """Return the values that OpenAI's client takes for the identity of an item."""
    kind = item.get("type")
    by_call = kind in (*CALLS, "shell_call", "shell_call_output")
    return repr((kind, None if by_call else item.get("id"), item.get("call_id")))


def variants_in(frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    return sorted({*oddities.named(_VARIANTS), *of_chat(oddities)})


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one whole answer of the API that their request is for, or ""."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    path = urlsplit(request.url).path if request else ""
    is_of_responses = any(map(is_response, messages))
    if "/responses" in path and not is_of_responses and any("choices" in item for item in messages):
        return "is an answer of Chat Completions to a request of the Responses API"
    if path.endswith("/chat/completions") and is_of_responses:
        return "is an answer of the Responses API to a request of Chat Completions"
    if sum(item.get("type") == "response.created" for item in messages) > 1:
        return "has two answers"
    return fault_of_chat(request, frames)
