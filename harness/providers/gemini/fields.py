"""Reads the objects of the wire whichever way they are spelled, and loses no field of them.

Protocol buffers have two JSON spellings, ``finishReason`` and ``finish_reason``, and Google's
libraries write both (https://protobuf.dev/programming-guides/json/). `Fields` knows a field by its
camelCase name and keeps the wire's own spelling for what is passed on raw. A field that is null is
absent. What nobody took is left over, with its name: a new field can't get lost, only be unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from harness.stream.json_codec import Json

_CAPITAL: Final = re.compile("[A-Z]")


def spellings(names: str) -> dict[str, str]:
    """Every spelling of some camelCase names, separated by blanks → the name."""
    return {
        spelling: name
        for name in names.split()
        for spelling in (_CAPITAL.sub(lambda found: f"_{found[0].lower()}", name), name)
    }


class Fields:
    """The fields of one object that are still to be read, by camelCase name."""

    __slots__ = ("_keys", "_left", "values")

    def __init__(self, wire: Mapping[str, Json], known: Mapping[str, str]) -> None:
        self.values: dict[str, Json] = {}
        self._keys: dict[str, str] = {}
        self._left: list[tuple[str, Json]] = []
        for key, value in wire.items():
            if value is not None:
                self._put(known.get(key), key, value)

    def _put(self, name: str | None, key: str, value: Json) -> None:
        """Where both spellings are there, camelCase counts; the other one is left over if it says
        something else.
        """
        if name is None:
            self._left.append((key, value))
        elif name not in self.values:
            self.values[name] = value
            self._keys[name] = key
        elif self.values[name] != value:
            older = self._keys[name], self.values[name]
            if key == name:
                self._keys[name], self.values[name] = key, value
                key, value = older
            self._left.append((key, value))

    def take(self, name: str, *types: type) -> Json:
        """The value of a field, None if it is absent or of none of these types; then it is left
        over. No types: any.
        """
        value = self.values.pop(name, None)
        if value is None or not types or type(value) in types:
            return value
        self._left.append((self._keys[name], value))
        return None

    def take_raw(self, name: str, *types: type) -> dict[str, Json] | None:
        """The object with just this field as the wire spells it; None as in `take`."""
        value = self.take(name, *types)
        return None if value is None else {self._keys[name]: value}

    def merge(self, inner: Fields) -> None:
        """Read the fields of another object as if they stood here; those of this one are left over
        where both have them.
        """
        for name, value in inner.values.items():
            if name in self.values and self.values[name] != value:
                self._left.append((self._keys[name], self.values[name]))
            self.values[name] = value
            self._keys[name] = inner._keys[name]
        self._left += inner._left

    def left(self) -> Iterator[tuple[str, Json]]:
        """What was not taken, by the wire's own names."""
        yield from self._left
        for name, value in self.values.items():
            yield self._keys[name], value
