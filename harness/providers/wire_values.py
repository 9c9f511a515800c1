"""Reads values of wires whose types are not certain, the fields that nobody has read, and the names
and strings in pieces of wire data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator
from functools import lru_cache
from typing import Final

from harness.stream.events import Event, Unknown
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

NOTHING: Final[tuple[Json, ...]] = (None, {}, [], "")
"""The values of a field that count as no value."""
_SMALL: Final = re.compile("_([a-z0-9])")


def is_empty(value: Json) -> bool:
    """Return whether a field is empty: null, or an empty text, list or object."""
    return value is None or value == "" or value == [] or value == {}


def give_others(
    place: str, holder: dict[str, Json], known: Container[str], out: list[Event]
) -> None:
    """Emit every other field that has a value; ``place`` ends in a dot, or is empty."""
    out += [
        Unknown(f"field {place}{name}", {name: value})
        for name, value in holder.items()
        if name not in known and not is_empty(value)
    ]


def check_objects(place: str, value: Json, oddities: Oddities) -> None:
    """Note a list of objects that is something else; it may be missing."""
    if value is not None and not (
        type(value) is list and all(type(item) is dict for item in value)
    ):
        oddities.note(place, value)


def list_of(value: Json) -> list[Json]:
    """Return a list, or the one value instead of a list."""
    return value if type(value) is list else [] if value is None else [value]


def text_of(value: Json) -> str | None:
    """Return a text that is not empty, else None."""
    return value if type(value) is str and value else None


def word_of(value: Json) -> str:
    """Return a name as text, from a value of any type."""
    return value if type(value) is str else "" if value is None else str(value)


@lru_cache(maxsize=4096)
def camel(name: str) -> str:
    """Return the camelCase name of a field."""
    return _SMALL.sub(lambda match: match[1].upper(), name)


def present(holder: dict[str, Json], known: set[str]) -> set[str]:
    """Return the names of the other fields that have a value."""
    if holder.keys() <= known:
        return set()
    return {
        camel(name)
        for name, value in holder.items()
        if name not in known and (value or value not in NOTHING)
    } - known


def values_in(value: Json, without: Collection[str] = ()) -> Iterator[Json]:
    """Yield a value and every value inside it, in order, except in the fields ``without``."""
    pending = [value]
    while pending:
        item = pending.pop()
        yield item
        if isinstance(item, dict):
            pending += [item[name] for name in reversed(item) if name not in without]
        elif isinstance(item, list):
            pending += reversed(item)


def strings(value: Json, without: Collection[str] = ()) -> Iterator[str]:
    """Yield every string inside a value, in order, except in the fields ``without``."""
    return (item for item in values_in(value, without) if isinstance(item, str))


def names_in(raw: Json) -> set[str]:
    """Return the camelCase names of every field inside a piece of wire data, however deep."""
    return {camel(name) for item in values_in(raw) if isinstance(item, dict) for name in item}
