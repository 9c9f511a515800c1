"""Reads the objects of a Messages request: each value with its place, so that every error and
warning can name it.

What was read is known by the end; what is left over is told as a warning, unless it says nothing
(null, false, empty).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from harness.stream.generation import TranslationError
from harness.stream.printable import shorten

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "a string": (str,),
    "true or false": (bool,),
    "a whole number": (int,),
    "a number": (int, float),
    "a list": (list, tuple),
    "an object": (dict,),
    "a string or a list": (str, list, tuple),
    "anything": (object,),
}


class Fields:
    """One object: ``place`` is its path (``messages[2].content[0]``, "" for the request itself);
    ``warnings`` is where those go.
    """

    def __init__(self, value: Any, place: str, warnings: list[str]) -> None:
        if not isinstance(value, Mapping):
            raise TranslationError(place, f"must be an object, not {shown(value)}")
        self._value = value
        self._read: set[str] = set()
        self.place = place
        self.warnings = warnings

    def at(self, key: str) -> str:
        """The place of a field."""
        return f"{self.place}.{key}" if self.place else key

    def get(self, key: str, kind: str) -> Any:
        """A field, None if it is absent or null; raises `TranslationError` for one that is not
        ``kind``.
        """
        self._read.add(key)
        value = self._value.get(key)
        if value is not None and (
            not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and int in _KINDS[kind])
        ):
            raise TranslationError(self.at(key), f"must be {kind}, not {shown(value)}")
        return value

    def need(self, key: str, kind: str) -> Any:
        """A field that must be there."""
        value = self.get(key, kind)
        if value is None:
            raise TranslationError(self.at(key), f"is missing; it must be {kind}")
        return value

    def choose(self, key: str, known: Iterable[str]) -> str:
        """A word that must be there and one of ``known``."""
        word: str = self.need(key, "a string")
        if word not in known:
            raise TranslationError(
                self.at(key), f"unknown {key} {word!r}; known here are {', '.join(known)}"
            )
        return word

    def inner(self, key: str) -> Fields | None:
        """The object in a field, None if there is none."""
        value = self.get(key, "an object")
        return None if value is None else Fields(value, self.at(key), self.warnings)

    def items(self, key: str) -> list[Fields]:
        """The objects of a list, none if it is absent."""
        return [
            Fields(item, f"{self.at(key)}[{index}]", self.warnings)
            for index, item in enumerate(self.get(key, "a list") or ())
        ]

    def leave(self, key: str, why: str) -> None:
        """Tell that a field is left out."""
        self.warnings.append(f"{self.at(key)}: left out; {why}")

    def close(self) -> None:
        """Tell what nobody has read."""
        for key, value in self._value.items():
            if key not in self._read and value not in (None, False, "", [], {}):
                self.leave(key, "Gemini has no word for it")


def shown(value: Any) -> str:
    """A value in an error message: the value itself if it is short, else what it is."""
    text = repr(value)
    if len(text) > 40 and isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    return shorten(text, 40)
