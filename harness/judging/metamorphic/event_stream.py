"""The spellings of a stream of named events, and changes of the pieces in it, for all wires that
have such streams.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from harness.facts import arguments_of

from .messages import Change, Edit, ReadMessages, edited, reversed_keys, rewritten

Events = list[Any]
"""The events of a stream as objects. An end mark is a text."""
Deltas = Callable[[Events], Iterable[tuple[int, dict[str, Any]]]]
"""Returns (place, delta) of the deltas of one type, from the last, so that they can be replaced."""
PIECE: Final = 3
"""The length of the pieces into which texts are divided."""


@dataclass(frozen=True, slots=True)
class EventStream:
    """A kind of stream."""

    read: ReadMessages
    """Returns the events of a whole stream that ended well; None for any other answer."""
    name_of: Callable[[Any], str]
    """Returns the name of an event."""

    def written(
        self,
        events: Events,
        line_end: str = "\n",
        *,
        named: bool = True,
        ascii_: bool = False,
        spaced: bool = False,
    ) -> bytes:
        """Return the events as server-sent events. ``named`` adds their names in ``event:``
        lines.
        """
        lines = []
        for event in events:
            lines += [f"event: {self.name_of(event)}"] if named else []
            text = event if isinstance(event, str) else json_text(event, ascii_, spaced=spaced)
            lines += [f"data: {text}", ""]
        return "".join(line + line_end for line in lines).encode("utf-8", "surrogatepass")

    def respelled(self, write: Callable[[Events], bytes]) -> Change:
        """Write the events of a whole stream again, in a single read."""
        return rewritten(self.read, write)

    def edited(self, edit: Edit) -> Change:
        """Return the change that an `Edit` makes to the events of a whole stream."""
        return edited(edit, self.read, self.written)

    def spellings(self) -> dict[str, Change]:
        """Return the spellings that every stream of named events may have."""
        writers: dict[str, Callable[[Events], bytes]] = {
            "crlf": partial(self.written, line_end="\r\n"),
            "cr": partial(self.written, line_end="\r"),
            "unnamed": partial(self.written, named=False),
            "json-lines": _json_lines,
            "escaped": partial(self.written, ascii_=True),
            "key-order": lambda events: self.written(reversed_keys(events)),
        }
        return {name: self.respelled(write) for name, write in writers.items()}

    def around(self, events: Events) -> bytes:
        """Return the events with comments, ids and retry times around them."""
        texts = (b": ping\n\nid: 7\nretry: 1000\n" + self.written([event]) for event in events)
        return b"".join(texts)


def json_text(value: Any, ascii_: bool, *, spaced: bool = False) -> str:
    """Return a value as JSON; with escapes if UTF-8 can't spell it."""
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_, separators=separators)
    lone = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(value, separators=separators) if lone else text


def _json_lines(events: Events) -> bytes:
    """Return one event on each line, without an end mark. Some projects store streams like this."""
    return b"".join(
        json_text(event, True).encode() + b"\n" for event in events if not isinstance(event, str)
    )


# -------------------------------------------------------------------- deltas with an index


def has_whole_arguments(events: Events, deltas: Deltas, field: str) -> bool:
    """Return whether the arguments of every call are a JSON object."""
    texts: dict[Any, str] = {}
    for place, delta in deltas(events):
        index = events[place].get("index")
        texts[index] = str(delta.get(field)) + texts.get(index, "")
    return all(isinstance(arguments_of(text), dict) for text in texts.values())


def split_deltas(deltas: Deltas, field: str) -> Edit:
    """Divide the text of each delta into short pieces."""

    def edit(events: Events) -> None:
        for place, delta in deltas(events):
            text = delta[field]
            pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
            if len(pieces) > 1:
                events[place : place + 1] = [
                    {**events[place], "delta": {**delta, field: piece}} for piece in pieces
                ]

    return edit


def with_first_argument(deltas: Deltas, field: str, value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""

    def edit(events: Events) -> None:
        found = list(deltas(events))
        if not found:
            return
        first, delta = found[-1]
        index = events[first]["index"]
        delta[field] = json.dumps({"n": value})
        for place, _ in found[:-1]:
            if events[place]["index"] == index:
                del events[place]

    return edit


def cut_arguments(deltas: Deltas, field: str) -> Edit:
    """Remove the last character of the arguments of a call."""

    def edit(events: Events) -> None:
        for _, delta in deltas(events):
            if delta[field]:
                delta[field] = delta[field][:-1]
                return

    return edit
