"""Reads one object of a prompt key by key, each with its type; what is wrong with it is a
`TranslationError` that names the place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from harness.stream.generation import TranslationError
from harness.stream.printable import shorten

_TYPES: Final = {
    str: "a string",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    bytes: "bytes",
}


class Form:
    """One object: ``take`` its keys, then ``close`` it. A key that is None is as good as absent."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, Mapping):
            raise TranslationError(place, f"{show(value)} stands where an object belongs")
        self.place = place
        self._left = {str(key): inner for key, inner in value.items() if inner is not None}
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def at(self, key: str) -> str:
        """The place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def fail(self, key: str, reason: str) -> NoReturn:
        """Refuse the object for what stands at ``key``, or, with ``""``, for all of it."""
        raise TranslationError(self.at(key) if key else self.place, reason)

    def take(self, key: str, *types: type) -> Any:
        """The value of a key, None if it is absent; of one of ``types``, where some are given.
        ``true`` is no number, 1 is one.
        """
        self._known[key] = None
        value = self._left.pop(key, None)
        if isinstance(value, float) and types and not math.isfinite(value):
            self.fail(key, f"{value} is no number of JSON")
        if (
            value is None
            or not types
            or (isinstance(value, types) and (not isinstance(value, bool) or bool in types))
        ):
            return value
        if float in types and isinstance(value, int) and not isinstance(value, bool):
            return value
        self.fail(key, f"{show(value)} is not {' or '.join(_TYPES[kind] for kind in types)}")

    def need(self, key: str, *types: type) -> Any:
        """As `take`, of a key that must be there."""
        value = self.take(key, *types)
        if value is None:
            self.fail(key, "is missing")
        return value

    def either(self, *keys: str) -> str:
        """Which of several spellings of one key is there: the first if none is."""
        self._known.update(dict.fromkeys(keys))
        there = [key for key in keys if key in self._left]
        if len(there) > 1:
            self.fail(there[1], f"says the same as {there[0]}; one of the two is enough")
        return there[0] if there else keys[0]

    def choose(self, key: str, choices: Mapping[str, Any] | tuple[str, ...]) -> str | None:
        """A word that is one of ``choices``; None if it is absent."""
        word: str | None = self.take(key, str)
        if word is not None and word not in choices:
            self.fail(key, f"{show(word)} is not known; known are {', '.join(choices)}")
        return word

    def has_only(self, *keys: str) -> bool:
        """Whether nothing but these is left to take."""
        return self._left.keys() <= set(keys)

    def rest(self) -> dict[str, Any]:
        """All that was not taken."""
        rest, self._left = self._left, {}
        return rest

    def close(self) -> None:
        """Refuse what was not taken: a typing error must not be lost in silence."""
        for key in self._left:
            self.fail(key, f"unknown key; known here are {', '.join(self._known)}")


def show(value: Any) -> str:
    """A value as it is put into a message, cut short."""
    if isinstance(value, str | int | float | bool | None):
        return shorten(repr(value), 60)
    return "a list" if isinstance(value, list) else "an object"
