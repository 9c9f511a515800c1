"""Helpers of all oracles: the names and the strings in pieces of wire data."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from harness.stream.json_codec import Json

NOTHING: Final[tuple[Json, ...]] = (None, {}, [], "")
"""The values of a field that count as no value."""
_SMALL: Final = re.compile("_([a-z0-9])")


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
