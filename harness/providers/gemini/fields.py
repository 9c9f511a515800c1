"""Reads objects of the wire in either spelling without losing a field.

Protocol buffers have two JSON spellings, ``finishReason`` and ``finish_reason``, and Google's
libraries write both (https://protobuf.dev/programming-guides/json/). `SpelledFields` names a field
in camelCase and keeps the wire's spelling for values that are passed on raw. A field that is null
is absent. Fields that nobody reads are left over with their names, so that a new field becomes an
unknown event. The spelling in snake_case is an oddity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

SNAKE: Final = "snake_case"
"""The oddity of a field in this spelling."""
_CAPITAL: Final = re.compile("[A-Z]")


def spellings(names: str) -> dict[str, str]:
    """Return every spelling of some camelCase names, which are separated by blanks → the name."""
    return {
        spelling: name
        for name in names.split()
        for spelling in (_CAPITAL.sub(lambda match: f"_{match[0].lower()}", name), name)
    }


def note_spelling(names: Iterable[str], oddities: Oddities) -> None:
    """Note a name in snake_case."""
    for name in names:
        if "_" in name:
            oddities.note(SNAKE, name)


class SpelledFields:
    """The fields of one object that have not been read, by camelCase name. ``oddities``: where the
    spelling of a name is noted.
    """

    __slots__ = ("_keys", "_left", "_oddities", "values")

    def __init__(
        self, wire: Mapping[str, Json], known: Mapping[str, str], oddities: Oddities | None = None
    ) -> None:
        self.values: dict[str, Json] = {}
        self._keys: dict[str, str] = {}
        self._left: list[tuple[str, Json]] = []
        self._oddities = oddities
        values, keys = self.values, self._keys
        for key, value in wire.items():
            if value is not None:
                name = known.get(key)
                if name != key or name in values:  # unknown, in snake_case, or a second spelling
                    self._put(name, key, value)
                else:
                    values[name], keys[name] = value, key

    def _put(self, name: str | None, key: str, value: Json) -> None:
        """Note an unknown field, or a field in snake_case or with two spellings. camelCase has
        priority; the other spelling is left over if its value differs.
        """
        if self._oddities is not None:
            note_spelling((key,), self._oddities)
        if name is None:
            self._left.append((key, value))
        elif name not in self.values:
            self._keys[name], self.values[name] = key, value
        elif self.values[name] != value:
            older = self._keys[name], self.values[name]
            if key == name:
                self._keys[name], self.values[name] = key, value
                key, value = older
            self._left.append((key, value))

    def take(self, name: str, *types: type) -> Json:
        """Remove a field and return its value; None if it is absent. A value of another type than
        ``types`` is left over; without ``types`` any type is accepted.
        """
        value = self.values.pop(name, None)
        if value is None or not types or type(value) in types:
            return value
        self._left.append((self._keys[name], value))
        return None

    def take_raw(self, name: str, *types: type) -> dict[str, Json] | None:
        """Return an object with only this field, in the wire's spelling; None as in `take`."""
        value = self.take(name, *types)
        return None if value is None else {self._keys[name]: value}

    def merge(self, inner: SpelledFields) -> None:
        """Add the fields of another object. A field of this object is left over if the other object
        has it with another value.
        """
        for name, value in inner.values.items():
            if name in self.values and self.values[name] != value:
                self._left.append((self._keys[name], self.values[name]))
            self.values[name] = value
            self._keys[name] = inner._keys[name]
        self._left += inner._left

    def left(self) -> Sequence[tuple[str, Json]]:
        """Return the fields that were not taken, with the wire's names."""
        if not self.values:
            return self._left
        return [*self._left, *((self._keys[name], value) for name, value in self.values.items())]
