"""Units of a list, which an alignment compares. Items with different counted numbers can be
partners. So can texts that were cut differently.

The key of an item is the tuple of its leaves with the counted numbers masked, so that items after a
lost block have the same keys as their partners. With one string masked as well, the pieces of one
text have the same *frame*; `join` makes one unit of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from msgspec import Struct

from harness.stream.json_codec import Json

from .equality import is_plain

COUNTERS: Final = frozenset({"index", "call"})
"""Keys of numbers that count blocks or calls along the stream."""

TAGS: Final = frozenset({"type", "kind"})
"""Keys that name the type of an item; their values are never pieces of a text."""

MAX_TEXTS: Final = 12
MAX_LEAVES: Final = 50
"""The maximum number of strings and of leaves of an item that is treated as a piece of a text."""

Number = tuple[str, int]
Surroundings = tuple[Any, ...]

_COUNTED_ID: Final = re.compile(r"([a-z]+_)(0|[1-9][0-9]{0,8})")
_MAPPING, _LIST, _TEXT = (object() for _ in range(3))


def counted(key: str | int | None, value: Json) -> Number | None:
    """Return the name and number of a counted value: ``("index", 4)`` for 4 at a key of `COUNTERS`,
    ``("call_ ids", 3)`` for ``call_3``.
    """
    if isinstance(value, str):
        match = _COUNTED_ID.fullmatch(value)
        return (f"{match[1]} ids", int(match[2])) if match else None
    if key in COUNTERS and isinstance(value, int) and not isinstance(value, bool):
        return str(key), value
    return None


class Unit(Struct, frozen=True, gc=False):
    """One item of a list, or consecutive pieces of one text."""

    start: int
    """The index of the item or the first piece."""
    item: Json
    key: Any
    """Compared by an alignment; None for an item with operators."""
    numbers: tuple[Number, ...]
    """The counted numbers in order."""
    frame: Surroundings | None = None
    """The part of an item that all pieces of a text share."""
    text: str = ""
    """The text of a piece."""
    pieces: tuple[Unit, ...] = ()
    """The pieces of a text."""

    @property
    def parts(self) -> tuple[Unit, ...]:
        """The units of the single items."""
        return self.pieces or (self,)


def names(items: list[Json]) -> set[str]:
    """Return the names of the counted numbers in these items."""
    return {name for item in items for name, _ in _read(item)[1]}


def units(expected: list[Json], actual: list[Json], start: int) -> list[list[Unit]]:
    """Return the units of both sides, from the index ``start`` on. A text is one unit if both sides
    have the whole of it; else each piece is a unit.

    Every string of an item may be the text of a piece; the one whose frame has the most different
    texts is taken.
    """
    sides = [[(item, *_read(item)) for item in side] for side in (expected, actual)]
    texts: dict[Surroundings, set[str]] = {}
    for _, _, _, frames in chain(*sides):
        for frame, text in frames.items():
            texts.setdefault(frame, set()).add(text)

    def unit(
        place: int, item: Json, key: Any, numbers: Any, frames: dict[Surroundings, str]
    ) -> Unit:
        frame = max(frames, key=lambda frame: len(texts[frame]), default=None)
        if frame is None or len(texts[frame]) == 1:
            return Unit(place, item, key, numbers)
        return Unit(place, item, (frame, frames[frame]), numbers, frame, frames[frame])

    left, right = (
        join([unit(place, *read) for place, read in enumerate(side, start)]) for side in sides
    )
    common = {unit.key for unit in left} & {unit.key for unit in right}
    return [
        [part for unit in side for part in ([unit] if unit.key in common else unit.parts)]
        for side in (left, right)
    ]


def join(pieces: list[Unit]) -> list[Unit]:
    """Return these units, with consecutive pieces of a text joined into one."""
    texts: list[list[Unit]] = []
    for piece in pieces:
        if texts and _continues(texts[-1], piece):
            texts[-1].append(piece)
        else:
            texts.append([piece])
    return [_whole(text) for text in texts]


_Read = tuple[Any, tuple[Number, ...], dict[Surroundings, str]]


def _read(item: Json) -> _Read:
    """Return the key of an item, None if it has operators; its counted numbers; its strings by
    frame.
    """
    key: list[Any] = []
    numbers: list[Number] = []
    strings: list[tuple[int, str]] = []
    for path, leaf in _leaves(item, ()):
        last = path[-1] if path else None
        number = counted(last, leaf)
        if number is not None:
            numbers.append(number)
        elif isinstance(leaf, str) and last not in TAGS:
            strings.append((len(key), leaf))
        # True equals 1 in Python, so each leaf has a flag: whether it is a boolean.
        key.append((path, isinstance(leaf, bool), leaf if number is None else number[0]))
    if not is_plain(item):
        return None, tuple(numbers), {}
    if not isinstance(item, dict) or len(strings) > MAX_TEXTS or len(key) > MAX_LEAVES:
        strings = []
    frames = {(*key[:at], (key[at][0], _TEXT), *key[at + 1 :]): text for at, text in strings}
    return tuple(key), tuple(numbers), frames


def _leaves(
    value: Json, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the leaves of a value with their paths, and a mark for each mapping and list."""
    if isinstance(value, dict):
        yield path, _MAPPING
        for key in sorted(value):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list):
        yield path, _LIST
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path, value


def _whole(pieces: list[Unit]) -> Unit:
    if len(pieces) == 1:
        return pieces[0]
    start, frame = pieces[0].start, pieces[0].frame
    text = "".join(piece.text for piece in pieces)
    numbers = tuple(number for piece in pieces for number in piece.numbers)
    return Unit(start, None, (frame, text), numbers, frame, text, tuple(pieces))


def _continues(text: list[Unit], piece: Unit) -> bool:
    """Return whether a piece continues a text: its numbers grow as they did before. An id may count
    the pieces; an index must stay the same.
    """
    if piece.frame is None or piece.frame != text[-1].frame:
        return False
    growth = _growth(text[-1], piece)
    stays = all(by == 0 or (by == 1 and name not in COUNTERS) for name, by in growth)
    return stays and (len(text) == 1 or growth == _growth(text[-2], text[-1]))


def _growth(before: Unit, after: Unit) -> list[Number]:
    pairs = zip(before.numbers, after.numbers, strict=True)
    return [(name, later - earlier) for (name, earlier), (_, later) in pairs]
