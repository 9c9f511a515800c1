"""Units of a list: what an alignment compares, so that items are partners though their counted
numbers differ, and texts though they were cut differently.

One walk turns an item into a flat tuple of tokens with the counted numbers masked, so that items
after a lost block have the same tokens as their partners. With one string masked as well, the
pieces of one text have the same *frame*; `join` makes one unit of them.
"""

from __future__ import annotations

import re
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

Number = tuple[str, int]
Frame = tuple[Any, ...]

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


class Unit(Struct, frozen=True, gc=False):
    """One item of a list, or consecutive pieces of one text; the first has index ``start``.

    ``key`` is what an alignment compares: the tokens of an item, None for an item with operators.
    ``numbers`` are the counted numbers in token order, ``strings`` the other strings, each with its
    index among the tokens. A text has its ``pieces``, their ``texts``, and the ``frame`` that they
    share.
    """

    start: int
    key: Any
    numbers: tuple[Number, ...]
    strings: tuple[tuple[int, str], ...] = ()
    frame: Frame | None = None
    texts: tuple[str, ...] = ("",)
    pieces: tuple[Unit, ...] = ()


def item_unit(item: Json, place: int = 0, *, is_open: bool = False) -> Unit:
    """The unit of the item at an index; ``is_open`` if it has operators. Two plain items with the
    same key and the same numbers are equal.
    """
    tokens: list[Any] = []
    numbers: list[Number] = []
    strings: list[tuple[int, str]] = []

    def flatten(value: Json, key: str | None) -> None:
        if isinstance(value, dict):
            tokens.append(_MAPPING)
            for name in sorted(value):
                tokens.append(name)
                flatten(value[name], name)
            tokens.append(_END)
        elif isinstance(value, list):
            tokens.append(_LIST)
            for inner in value:
                flatten(inner, None)
            tokens.append(_END)
        elif isinstance(value, bool):
            tokens.append((value,))  # as itself it would equal 1 or 0
        elif number := counted(key, value):
            numbers.append(number)
            tokens.append(number[0])
        else:
            if isinstance(value, str) and key not in TAGS:
                strings.append((len(tokens), value))
            tokens.append(value)

    flatten(item, None)
    if is_open:
        return Unit(place, None, tuple(numbers))
    is_piece = isinstance(item, dict) and len(strings) <= MAX_TEXTS and len(tokens) <= MAX_TOKENS
    return Unit(place, tuple(tokens), tuple(numbers), tuple(strings) if is_piece else ())


def join(*sides: list[Unit]) -> list[list[Unit]]:
    """The units of each side, with consecutive pieces of a text joined into one.

    Every string of an item may be the text of a piece. A frame is used if the sides together have
    at least two different texts for it.
    """
    texts: dict[Frame, set[str]] = {}
    frames = [[_frames(unit) for unit in units] for units in sides]
    for by_frame in (by_frame for side in frames for by_frame in side):
        for frame, text in by_frame.items():
            texts.setdefault(frame, set()).add(text)
    variety = {frame: len(different) for frame, different in texts.items() if len(different) > 1}
    return [_join_side(*side, variety) for side in zip(sides, frames, strict=True)]


def _frames(unit: Unit) -> dict[Frame, str]:
    """The strings of an item by frame: the tokens without that string."""
    return {
        (*unit.key[:place], _TEXT, *unit.key[place + 1 :]): text for place, text in unit.strings
    }


def _join_side(
    units: list[Unit], frames: list[dict[Frame, str]], variety: dict[Frame, int]
) -> list[Unit]:
    joined: list[Unit] = []
    start = 0
    while start < len(units):
        stop, growth = start + 1, None
        shared = frames[start].keys() & variety.keys()
        while stop < len(units) and (narrowed := shared & frames[stop].keys()):
            step = _growth(units[stop - 1].numbers, units[stop].numbers)
            if step is None or growth not in (None, step):
                break
            shared, growth, stop = narrowed, step, stop + 1
        pieces = tuple(units[start:stop])
        if not shared:
            joined += pieces
        else:
            frame = max(
                (frame for frame in frames[start] if frame in shared), key=variety.__getitem__
            )
            texts = tuple(by_frame[frame] for by_frame in frames[start:stop])
            numbers = tuple(number for piece in pieces for number in piece.numbers)
            key = (frame, "".join(texts))
            joined.append(Unit(pieces[0].start, key, numbers, (), frame, texts, pieces))
        start = stop
    return joined


def _growth(before: tuple[Number, ...], after: tuple[Number, ...]) -> list[Number] | None:
    """By how much each number grows between two pieces of one frame; None if they are not pieces of
    one text.

    An id may count the pieces, an index must stay.
    """
    pairs = zip(before, after, strict=True)
    growth = [(name, later - earlier) for (name, earlier), (_, later) in pairs]
    stays = all(by == 0 or (by == 1 and name not in COUNTERS) for name, by in growth)
    return growth if stays else None
