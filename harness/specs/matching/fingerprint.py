"""Fingerprints of list items: what two items have in common, as values that can be hashed.

One walk turns an item into a flat tuple of tokens. Equal items have equal tokens. With its counted
numbers masked (`counted`), an item of a list in which one block was lost still has the fingerprint
of its partner; with one text masked as well, the pieces of one text have the same `Frame`, so that
they can be joined and compared however they were cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from harness.stream.json_codec import Json

COUNTERS: Final = frozenset({"index", "call"})
"""Keys whose number counts what came before it in the stream."""

MAX_TEXTS: Final = 12
MAX_TOKENS: Final = 100
"""Items with more strings or more tokens are not pieces of a text."""

Tokens = tuple[Any, ...]
Number = tuple[str, int]

_COUNTED_ID: Final = re.compile(r"([a-z]+_)(0|[1-9][0-9]{0,8})")
_MAPPING, _LIST, _END, _TEXT = (object() for _ in range(4))


def counted(key: str | None, value: Json) -> Number | None:
    """The name and number of a value that counts: ``("index", 4)`` for 4 at a key of `COUNTERS`,
    ``("call_ ids", 3)`` for ``call_3``.
    """
    if isinstance(value, str):
        found = _COUNTED_ID.fullmatch(value)
        return (f"{found[1]} ids", int(found[2])) if found else None
    if key in COUNTERS and isinstance(value, int) and not isinstance(value, bool):
        return str(key), value
    return None


def canonical(value: Json) -> Tokens:
    """A value that can be hashed, the same for equal JSON values and for no others."""
    tokens: list[Any] = []
    _flatten(value, None, tokens, None)
    return tuple(tokens)


class Fingerprint(Struct, frozen=True, gc=False):
    """``exact`` tells equal items; ``masked`` items that are equal but for counted numbers;
    ``numbers`` are those, in token order.

    ``texts``: the other strings, each with its place among the tokens.
    """

    exact: Tokens
    masked: Tokens
    numbers: tuple[Number, ...]
    texts: tuple[tuple[int, str], ...]


class Found(Struct):
    """What a walk finds beside tokens: places of counted values and of strings."""

    numbers: list[tuple[int, Number]]
    texts: list[tuple[int, str]]


def fingerprint(item: Json) -> Fingerprint:
    """The fingerprint of a list item."""
    tokens: list[Any] = []
    found = Found([], [])
    _flatten(item, None, tokens, found)
    exact = tuple(tokens)
    for place, (name, _) in found.numbers:
        tokens[place] = name
    is_piece = (
        isinstance(item, dict) and len(found.texts) <= MAX_TEXTS and len(tokens) <= MAX_TOKENS
    )
    texts = tuple(found.texts) if is_piece else ()
    return Fingerprint(exact, tuple(tokens), tuple(number for _, number in found.numbers), texts)


def frames(item: Fingerprint) -> Iterator[tuple[Tokens, str]]:
    """Each way to see an item as a piece of text: the tokens without one of its strings, and that
    string.
    """
    for place, text in item.texts:
        yield (*item.masked[:place], _TEXT, *item.masked[place + 1 :]), text


def _flatten(value: Json, key: str | None, tokens: list[Any], found: Found | None) -> None:
    if isinstance(value, dict):
        tokens.append(_MAPPING)
        for name in sorted(value):
            tokens.append(name)
            _flatten(value[name], name, tokens, found)
        tokens.append(_END)
    elif isinstance(value, list):
        tokens.append(_LIST)
        for item in value:
            _flatten(item, None, tokens, found)
        tokens.append(_END)
    elif value is True or value is False:
        tokens.append((value,))  # as itself it would be 1 or 0
    else:
        if found is not None:
            number = counted(key, value)
            if number is not None:
                found.numbers.append((len(tokens), number))
            elif isinstance(value, str):
                found.texts.append((len(tokens), value))
        tokens.append(value)
