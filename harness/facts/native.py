"""Looks for opaque values of the wire anywhere in native events.

A value is looked for in string leaves; a string that is JSON is opened. Pieces at one key path are
joined over consecutive events. Signatures and media are compared as bytes, in either alphabet of
base64. Other values are whole leaves, or stand inside a leaf from 12 characters on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.stream.json_codec import Json, decode_json

INSIDE: Final = 12
"""Characters from which on a value may be a part of a leaf."""

INSIDE_BYTES: Final = 16
"""Bytes from which on a signature or medium may be a part of a leaf."""

MAX_LEAVES: Final = 200_000
MAX_JOINED: Final = 4 * 1024 * 1024
"""Characters of all joined leaves; more is not searched."""

_RAW_KEY: Final = re.compile(r"raw|response|http|_hidden|sdk_http", re.IGNORECASE)
_SPACE_AND_PADDING: Final = re.compile(r"[\s=]+")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A string in native events; ``in_raw``: below a key that holds the wire's own object. Numbers
    are leaves with their JSON text.
    """

    text: str
    in_raw: bool
    event: int


class NativeSearch:
    """The string leaves of native events, ready to be searched."""

    def __init__(self, events: Sequence[Json]) -> None:
        self.leaves: list[Leaf] = []
        runs: dict[tuple[str | int, ...], tuple[list[str], bool, int]] = {}
        joined: list[Leaf] = []
        for number, event in enumerate(events):
            if len(self.leaves) > MAX_LEAVES:
                break
            here: dict[tuple[str | int, ...], Leaf] = {}
            for path, text, in_raw in _leaves(event):
                leaf = Leaf(text, in_raw, number)
                self.leaves.append(leaf)
                here.setdefault(path, leaf)
                if len(self.leaves) > MAX_LEAVES:
                    break
            for path, leaf in here.items():
                pieces, in_raw, last = runs.get(path, ([], leaf.in_raw, number - 1))
                if last != number - 1:
                    joined += _joined(pieces, in_raw, last)
                    pieces, in_raw = [], leaf.in_raw
                pieces.append(leaf.text)
                runs[path] = (pieces, in_raw and leaf.in_raw, number)
        for pieces, in_raw, last in runs.values():
            joined += _joined(pieces, in_raw, last)
        room = MAX_JOINED
        self._joined: list[Leaf] = []
        for leaf in joined:
            room -= len(leaf.text)
            if room < 0:
                break
            self._joined.append(leaf)
        self._words = {leaf.text for leaf in self.leaves}
        self._plain: list[tuple[str, Leaf]] | None = None

    def has_leaf(self, text: str) -> bool:
        """Whether a whole leaf is this text."""
        return text in self._words

    def has_word(self, text: str) -> bool:
        """Whether the text stands in a leaf between characters that are no letters or digits."""
        pattern = word_pattern(text)
        return self.has_leaf(text) or any(
            text in leaf.text and pattern.search(leaf.text) for leaf in self.leaves
        )

    def count(self, value: str, *, binary: bool = False) -> tuple[int, bool]:
        """How often a value is there, and whether it is only below keys of raw data.

        ``binary``: the value is base64, and is compared as bytes.
        """
        hits = list(self._binary(value) if binary else self._text(value))
        return len(hits), bool(hits) and all(leaf.in_raw for leaf in hits)

    def _text(self, value: str) -> Iterator[Leaf]:
        inside = len(value) >= INSIDE
        for leaf in (*self.leaves, *self._joined):
            if leaf.text == value:
                yield leaf
            elif inside:
                yield from [leaf] * leaf.text.count(value)

    def _binary(self, value: str) -> Iterator[Leaf]:
        wanted = plain_base64(value)
        if self._plain is None:
            self._plain = [
                (plain_base64(leaf.text), leaf) for leaf in (*self.leaves, *self._joined)
            ]
        inside = len(wanted) * 3 // 4 >= INSIDE_BYTES
        for text, leaf in self._plain:
            if text == wanted:
                yield leaf
            elif inside:
                yield from [leaf] * text.count(wanted)


def _joined(pieces: list[str], in_raw: bool, last: int) -> list[Leaf]:
    return [Leaf("".join(pieces), in_raw, last)] if len(pieces) > 1 else []


def plain_base64(text: str) -> str:
    """Base64 in the standard alphabet, without padding and white space."""
    return _SPACE_AND_PADDING.sub("", text).replace("-", "+").replace("_", "/")


def word_pattern(text: str) -> re.Pattern[str]:
    """Matches the text between characters that are no letters or digits."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])")


def _leaves(event: Json) -> Iterator[tuple[tuple[str | int, ...], str, bool]]:
    """(path, text, whether it is raw data) of every string and number, in order."""
    stack: list[tuple[tuple[str | int, ...], Json, bool]] = [((), event, False)]
    while stack:
        path, value, in_raw = stack.pop()
        match value:
            case dict():
                stack += [
                    ((*path, str(key)), item, in_raw or bool(_RAW_KEY.match(str(key))))
                    for key, item in reversed(value.items())
                ]
            case list():
                stack += [
                    ((*path, index), item, in_raw)
                    for index, item in reversed(list(enumerate(value)))
                ]
            case str():
                yield path, value, in_raw
                opened = _json_in(value)
                if opened is not None:
                    stack.append(((*path, "json"), opened, in_raw))
            case bool() | None:
                pass
            case _:
                yield path, str(value), in_raw


def _json_in(text: str) -> Json:
    """The object or list that a string holds as JSON text; None for other text."""
    stripped = text.strip()
    if len(stripped) < 2 or stripped[0] not in "{[":
        return None
    try:
        return decode_json(stripped.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
