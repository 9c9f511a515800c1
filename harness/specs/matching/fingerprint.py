"""Fingerprints of list items: hashable values that show which items are equal but for counted
numbers, and which are pieces of one text.

One walk turns an item into a flat tuple of tokens with the counted numbers masked, so that items
after a lost block have the same tokens as their partners. With one string masked as well, the
pieces of one text have the same *frame*. `join` makes one `Unit` of them, so an alignment does not
depend on how the text was cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from harness.stream.json_codec import Json

COUNTERS: Final = frozenset({"index", "call"})
"""Keys of numbers that count blocks or calls along the stream."""

TAGS: Final = frozenset({"type", "kind"})
"""Keys that name the type of an item; their values are never pieces of a text."""

MAX_TEXTS: Final = 12
MAX_TOKENS: Final = 100
"""Items with more strings or more tokens are not treated as pieces of a text."""

Tokens = tuple[Any, ...]
Number = tuple[str, int]

_COUNTED_ID: Final = re.compile(r"([a-z]+_)(0|[1-9][0-9]{0,8})")
_MAPPING, _LIST, _END, _TEXT = (object() for _ in range(4))


def counted(key: str | None, value: Json) -> Number | None:
    """The name and number of a value that counts: ``("index", 4)`` for 4 at a key of `COUNTERS`,
    ``("call_ ids", 3)`` for ``call_3``.
    """
    if isinstance(value, str):
        match = _COUNTED_ID.fullmatch(value)
        return (f"{match[1]} ids", int(match[2])) if match else None
    if key in COUNTERS and isinstance(value, int) and not isinstance(value, bool):
        return str(key), value
    return None


class Fingerprint(Struct, frozen=True, gc=False):
    """``tokens`` of an item, with counted numbers masked; None for an item with operators.

    ``numbers`` are the counted numbers in token order, ``texts`` the other strings, each with its
    index among the tokens.
    """

    tokens: Tokens | None
    numbers: tuple[Number, ...]
    texts: tuple[tuple[int, str], ...] = ()

    @property
    def exact(self) -> tuple[Tokens | None, tuple[Number, ...]]:
        """Two plain items with the same value are equal."""
        return self.tokens, self.numbers


def fingerprint(item: Json, *, is_open: bool = False) -> Fingerprint:
    """The fingerprint of a list item; ``is_open`` if it has operators."""
    tokens: list[Any] = []
    numbers: list[Number] = []
    texts: list[tuple[int, str]] = []
    _flatten(item, None, tokens, numbers, texts)
    if is_open:
        return Fingerprint(None, tuple(numbers))
    is_piece = isinstance(item, dict) and len(texts) <= MAX_TEXTS and len(tokens) <= MAX_TOKENS
    return Fingerprint(tuple(tokens), tuple(numbers), tuple(texts) if is_piece else ())


def _flatten(
    value: Json,
    key: str | None,
    tokens: list[Any],
    numbers: list[Number],
    texts: list[tuple[int, str]],
) -> None:
    if isinstance(value, dict):
        tokens.append(_MAPPING)
        for name in sorted(value):
            tokens.append(name)
            _flatten(value[name], name, tokens, numbers, texts)
        tokens.append(_END)
    elif isinstance(value, list):
        tokens.append(_LIST)
        for item in value:
            _flatten(item, None, tokens, numbers, texts)
        tokens.append(_END)
    elif value is True or value is False:
        tokens.append((value,))  # as itself it would equal 1 or 0
    else:
        number = counted(key, value)
        if number is not None:
            numbers.append(number)
            tokens.append(number[0])
            return
        if isinstance(value, str) and key not in TAGS:
            texts.append((len(tokens), value))
        tokens.append(value)


class Unit(Struct, frozen=True):
    """One item of a list, or consecutive pieces of a text; the first has index ``start``.

    ``key`` is what an alignment compares, None for an item with operators. ``frame`` identifies the
    common part of the pieces, ``texts`` are their texts.
    """

    start: int
    items: Sequence[Fingerprint]
    key: Any
    frame: int | None = None
    texts: Sequence[str] = ("",)

    @property
    def stop(self) -> int:
        return self.start + len(self.items)

    @property
    def numbers(self) -> set[Number]:
        """The counted numbers of all items."""
        return {number for item in self.items for number in item.numbers}

    def singles(self) -> list[Unit]:
        """The pieces, each a unit of its own."""
        return [
            single(self.start + place, item, text)
            for place, (item, text) in enumerate(zip(self.items, self.texts, strict=True))
        ]


def single(place: int, item: Fingerprint, text: str = "") -> Unit:
    """The unit of one item."""
    return Unit(place, (item,), item.tokens, None, (text,))


def join(*sides: tuple[int, Sequence[Fingerprint]]) -> list[list[Unit]]:
    """The units of each side, in order; they cover the side. A side is the index of its first item,
    and its items.

    Every string of an item may be the text of a piece. A frame is used if the sides together have
    at least two different texts for it.
    """
    names: dict[Tokens, int] = {}
    texts: dict[int, set[str]] = {}
    frames = [[_frames(item, names) for item in items] for _, items in sides]
    for side in frames:
        for item in side:
            for frame, text in item.items():
                texts.setdefault(frame, set()).add(text)
    variety = {frame: len(different) for frame, different in texts.items() if len(different) > 1}
    return [
        _join_side(offset, items, side, variety)
        for (offset, items), side in zip(sides, frames, strict=True)
    ]


def _frames(item: Fingerprint, names: dict[Tokens, int]) -> dict[int, str]:
    """The strings of an item by frame: the tokens without that string, numbered in ``names``."""
    tokens = item.tokens or ()
    return {
        names.setdefault((*tokens[:place], _TEXT, *tokens[place + 1 :]), len(names)): text
        for place, text in item.texts
    }


def _join_side(
    offset: int,
    items: Sequence[Fingerprint],
    frames: list[dict[int, str]],
    variety: dict[int, int],
) -> list[Unit]:
    units: list[Unit] = []
    start = 0
    while start < len(items):
        first, stop, growth = items[start], start + 1, None
        shared = frames[start].keys() & variety.keys()
        while stop < len(items) and (narrowed := shared & frames[stop].keys()):
            step = _growth(items[stop - 1].numbers, items[stop].numbers)
            if step is None or growth not in (None, step):
                break
            shared, growth, stop = narrowed, step, stop + 1
        if shared:
            frame = max(shared, key=lambda frame: (variety[frame], -frame))
            texts = tuple(item[frame] for item in frames[start:stop])
            key = (frame, "".join(texts))
            units.append(Unit(offset + start, items[start:stop], key, frame, texts))
        else:
            units.append(single(offset + start, first))
        start = stop
    return units


def _growth(before: tuple[Number, ...], after: tuple[Number, ...]) -> tuple[int, ...] | None:
    """By how much each number grows between two pieces of one text; None if they are not one text.

    An id may count the pieces, an index must stay.
    """
    if [name for name, _ in before] != [name for name, _ in after]:
        return None
    growth = tuple(later - earlier for (_, earlier), (_, later) in zip(before, after, strict=True))
    allowed = all(
        by == 0 or (by == 1 and name not in COUNTERS)
        for (name, _), by in zip(before, growth, strict=True)
    )
    return growth if allowed else None
