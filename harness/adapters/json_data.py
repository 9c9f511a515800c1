"""Turns a native event of any type into JSON data, with limits for depth and size."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Iterable, Mapping, Set
from enum import Enum
from typing import Any, Final

from harness.stream.json_codec import Json
from harness.stream.printable import shorten

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 200_000
"""The maximum number of values in one native event. A client's objects may refer to a large part of
the program.
"""

_PLAIN: Final = (str, int, float, bool, type(None))
_LISTS: Final = (list, tuple, Set, range)


def json_of_native(native: Any) -> Json:
    """Return the JSON data of a native event.

    Bytes become base64. Models of pydantic, dataclasses, structs of msgspec and all other objects
    become their fields. A value is replaced by a text if it contains itself, is nested deeper than
    `MAX_DEPTH`, or comes after `MAX_VALUES` other values. Never raises an exception.
    """
    return _Converter().convert(native)


class _Converter:
    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._around: set[int] = set()

    def convert(self, value: Any) -> Json:
        kind = type(value)
        if kind in _PLAIN:
            return value if kind is not float or math.isfinite(value) else repr(value)
        self._left -= 1
        if self._left < 0:
            return self._full()
        if id(value) in self._around:
            return "… (a value that contains itself)"
        if len(self._around) >= MAX_DEPTH:
            return f"… (nested deeper than {MAX_DEPTH} levels)"
        self._around.add(id(value))
        try:
            return self._convert(value)
        except Exception as error:  # noqa: BLE001  # a foreign property may raise any exception
            return f"… ({type(value).__name__} can't be read: {type(error).__name__})"
        finally:
            self._around.discard(id(value))

    def _convert(self, value: Any) -> Json:
        if isinstance(value, bytes | bytearray | memoryview):
            return base64.b64encode(value).decode()
        if isinstance(value, Enum):
            return self.convert(value.value)
        for kind in (str, int, float):  # their subclasses
            if isinstance(value, kind):
                return self.convert(kind(value))
        if isinstance(value, Mapping):
            return self._object(value.items())
        if isinstance(value, _LISTS):
            return self._list(value)
        if isinstance(value, BaseException):
            fields = {"type": type(value).__name__, "message": str(value), **vars(value)}
            return self._object(fields.items())
        if isinstance(value, type) or callable(value):
            return shorten(repr(value), 200)
        members = _fields(value)
        return shorten(repr(value), 200) if members is None else self._object(members)

    def _full(self) -> str:
        return f"… (more than {MAX_VALUES:,} values)"

    def _object(self, members: Iterable[tuple[Any, Any]]) -> Json:
        converted: dict[str, Json] = {}
        for key, member in members:
            if self._left < 0:
                converted["…"] = self._full()
                break
            self._left -= 1
            name = key if type(key) is str else str(key.value if isinstance(key, Enum) else key)
            converted[name] = self.convert(member)
        return converted

    def _list(self, items: Iterable[Any]) -> Json:
        converted: list[Json] = []
        for item in items:
            if self._left < 0:
                converted.append(self._full())
                break
            self._left -= 1
            converted.append(self.convert(item))
        return converted


def _fields(value: Any) -> list[tuple[Any, Any]] | None:
    """Return the fields of an object; None if it has no visible fields."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = list(getattr(value, "__struct_fields__", ()))  # of msgspec
        names += [] if names else [name for kind in type(value).__mro__ for name in _slots(kind)]
    own = [(name, getattr(value, name)) for name in names if hasattr(value, name)]
    known = {name for name, _ in own}
    own += [item for item in getattr(value, "__dict__", {}).items() if item[0] not in known]
    own += (getattr(value, "__pydantic_extra__", None) or {}).items()
    return own if own or hasattr(value, "__dict__") else None


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    return [name for name in names if not name.startswith("__")]
