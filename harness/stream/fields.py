"""Reads the objects of a prompt field by field. It checks the type of each value and keeps its
place, so every error and warning names the place.

An invalid field raises a `TranslationError`. At the end, fields that were not read are refused
(`refuse_rest`) or kept as unread (`leave_rest`), so that every loss is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from .generation import TranslationError
from .printable import shorten

_TYPES: Final = {
    str: "a string",
    dict: "an object",
    list: "a list",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    bytes: "bytes",
}


class Fields:
    """Reads the fields of one object. A field that is null is treated as absent."""

    def __init__(
        self,
        value: Any,
        place: str,
        warnings: list[str] | None = None,
        unread: list[str] | None = None,
    ) -> None:
        if not isinstance(value, Mapping):
            raise TranslationError(place, f"must be an object, not {shown(value)}")
        self.place = place
        """The path of the object (``messages[2].content[0]``); "" for the prompt itself."""
        self.warnings = [] if warnings is None else warnings
        """The warnings so far."""
        self.unread = [] if unread is None else unread
        """The places of fields that have no meaning."""
        self._values = {str(key): inner for key, inner in value.items() if inner is not None}
        self._read: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def at(self, key: str) -> str:
        """Return the place of a field."""
        return f"{self.place}.{key}" if self.place else key

    def fail(self, key: str, reason: str) -> NoReturn:
        """Refuse the object because of one of its fields, or as a whole if ``key`` is empty."""
        raise TranslationError(self.at(key) if key else self.place, reason)

    def get(self, key: str, *types: type) -> Any:
        """Return a field, None if it is absent; raises `TranslationError` unless it is of one of
        ``types``, if any are given. ``true`` is not a number; 1 is a number, whole or not.
        """
        self._read[key] = None
        value = self._values.get(key)
        if value is None or not types:
            return value
        if isinstance(value, float) and not math.isfinite(value):
            self.fail(key, f"{value} is not a number of JSON")
        if not _is_of(value, types):
            names = " or ".join(_TYPES[kind] for kind in types)
            self.fail(key, f"must be {names}, not {shown(value)}")
        return value

    def need(self, key: str, *types: type) -> Any:
        """Return a field as `get` does, for a field that must be present."""
        value = self.get(key, *types)
        if value is None:
            names = " or ".join(_TYPES[kind] for kind in types)
            self.fail(key, f"is missing; it must be {names}" if types else "is missing")
        return value

    def either(self, *keys: str) -> str:
        """Return the spelling of a field that is present; the first spelling if none is."""
        self._read.update(dict.fromkeys(keys))
        there = [key for key in keys if key in self._values]
        if len(there) > 1:
            self.fail(there[1], f"means the same as {there[0]}; give only one of them")
        return there[0] if there else keys[0]

    def choose(self, key: str, known: Iterable[str]) -> str:
        """Return a required word, which must be one of ``known``."""
        self.need(key, str)
        return self.may_choose(key, known) or ""

    def may_choose(self, key: str, known: Iterable[str]) -> str | None:
        """Return a word that is one of ``known``, None if it is absent."""
        word: str | None = self.get(key, str)
        if word is not None and word not in known:
            self.fail(key, f"unknown {key} {shown(word)}; expected one of {', '.join(known)}")
        return word

    def inner(self, key: str) -> Fields | None:
        """Return the object in a field, None if there is none."""
        value = self.get(key, dict)
        return None if value is None else Fields(value, self.at(key), self.warnings, self.unread)

    def items(self, key: str) -> list[Fields]:
        """Return the objects of a list, none if it is absent."""
        return [
            Fields(item, f"{self.at(key)}[{index}]", self.warnings, self.unread)
            for index, item in enumerate(self.get(key, list) or ())
        ]

    def rest(self) -> dict[str, Any]:
        """Return the fields that were not read yet. This marks them as read."""
        rest = {key: value for key, value in self._values.items() if key not in self._read}
        self._read.update(dict.fromkeys(rest))
        return rest

    def has_only(self, *keys: str) -> bool:
        """Return whether every field was read already or is one of ``keys``."""
        return self._values.keys() <= {*self._read, *keys}

    def leave(self, key: str, why: str) -> None:
        """Warn that a field is left out."""
        self.warnings.append(f"{self.at(key)}: left out; {why}")

    def leave_rest(self) -> None:
        """Add the place of every field that was not read to ``unread``, except those that are false
        or empty.
        """
        self.unread += [
            self.at(key) for key, value in self.rest().items() if value not in (False, "", [], {})
        ]

    def refuse_rest(self) -> None:
        """Refuse every field that was not read: it may be a typing error."""
        known = ", ".join(self._read)
        for key in self.rest():
            self.fail(key, f"unknown key; expected one of {known}")


def _is_of(value: Any, types: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in types
    if isinstance(value, int) and float in types:
        return True
    return isinstance(value, tuple(types)) or (isinstance(value, tuple) and list in types)


def shown(value: Any) -> str:
    """Return a value for an error message: the value itself if it is short, else its kind."""
    text = repr(value)
    if len(text) > 40 and isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    return shorten(text, 40)
