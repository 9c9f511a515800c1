"""Lists the values of an answer that stand in no event.

A generic walk over the JSON of the frames: it knows nothing of a wire but the names of the fields
whose values are only the shape of a message (`harness.providers.provider.Provider.shape`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import to_builtins

from harness.stream.json_codec import Json

from .provider import Provider, Step

MOST: Final = 20
"""The number of places that are listed."""
TWO_DIGITS: Final = 10


def unread_values(steps: Iterable[Step], provider: Provider) -> list[str]:
    """Return the first places of the values that stand in no event, in the order of the wire, each
    once. ``[]`` is any item of a list.
    """
    frames: list[Json] = []
    read = _Read()
    for frame, events in steps:
        if frame is not None and frame.raw is None:
            frames.append(frame.json)
        for event in events:
            read.add(to_builtins(event))
    tags = _pattern(provider.tags)
    places: dict[str, None] = {}
    for place, name, value in _leaves(frames, ""):
        if len(places) == MOST:
            break
        if name in provider.shape or place in places:
            continue
        parts = tags.split(value) if type(value) is str else [value]
        if not all(read.has(name, part) for part in parts):
            places[place] = None
    return [place.removeprefix("[].") for place in places]


class _Read:
    """The values of events, the names of their fields, and the pieces of each text of theirs."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._values: set[Json] = set()
        self._pieces: dict[str, list[str]] = {}
        self._joined: list[str] = []
        self._latest = 0, 0  # the text with the latest piece, and its place there
        self._events: list[dict[str, Json]] = []
        self._json: str | None = None

    def add(self, event: dict[str, Json]) -> None:
        self._events.append(event)
        for _, name, value in _leaves(event, ""):
            self._names.add(name)
            self._values.add(value)
        for name, value in event.items():
            if type(value) is str:
                self._pieces.setdefault(f"{event['kind']} {name}", []).append(value)

    def has(self, name: str, value: Json) -> bool:
        """Return whether a value stands in an event: itself, or a text in the pieces of a text
        together, or as a piece of JSON. ``true`` and ``false`` only need a field of their name.
        Nothing, and a number of one digit, stands everywhere. ``#17`` is number 17 of a list of
        words.
        """
        if type(value) is bool:
            return name in self._names
        if value in ("", None) or value in self._values:
            return True
        if type(value) is not str:
            return abs(value) < TWO_DIGITS or f"#{value}" in self._values
        if not self._joined:
            self._joined = ["".join(pieces) for pieces in self._pieces.values()]
        if self._is_piece(value):
            return True
        if self._json is None:
            self._json = _plain(json.dumps(self._events, ensure_ascii=False))
        return (
            _plain(value) in self._json
            or _plain(json.dumps(value, ensure_ascii=False)[1:-1]) in self._json
        )

    def _is_piece(self, value: str) -> bool:
        """Look behind the latest piece first, because pieces come in the order of the wire."""
        places = [self._latest, *((number, 0) for number in range(len(self._joined)))]
        for number, start in places if self._joined else ():
            if (found := self._joined[number].find(value, start)) >= 0:
                self._latest = number, found
                return True
        return False


def _plain(text: str) -> str:
    """Return JSON text, or a piece of it, without what its writers choose."""
    return "".join(text.replace("\\", "").split())


def _pattern(tags: tuple[str, ...]) -> re.Pattern[str]:
    """Match the tags, a tag of another name that a request chose, and the part of a tag at the
    start or at the end of a piece.
    """
    forms = ["</?[a-z_-]+>"] if tags else ["(?!)"]
    for tag in tags:
        for cut in range(1, len(tag)):
            forms += [f"^{re.escape(tag[cut:])}", f"{re.escape(tag[:cut])}$"]
            forms += [f"^{re.escape(tag[cut:end])}$" for end in range(cut + 1, len(tag))]
    return re.compile("|".join(forms))


def _leaves(value: Json, name: str) -> Iterator[tuple[str, str, Json]]:
    """Yield the place, the name and the value of each text, number and truth value inside a value,
    in order. Fields that have no value have none.
    """
    pending = [("", name, value)]
    while pending:
        place, name, value = pending.pop()
        if isinstance(value, dict):
            dot = place and f"{place}."
            pending += [(f"{dot}{key}", key, item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            pending += [(f"{place}[]", name, item) for item in reversed(value)]
        else:
            yield place, name, value
