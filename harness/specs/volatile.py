"""Turns the output of a run into an expectation. Values that another run would not give become
``$any``.

A value is volatile if a second run gives another one; or if its key names an id, a time or a
version, and the recording does not contain it. The ids of the wire are in the recording, so they
stay exact.
"""

from __future__ import annotations

import re
from typing import Any, Final

_NAMES: Final = frozenset(
    [
        *("id", "ids", "uuid", "guid", "version"),
        *("at", "created", "date", "day", "ended", "started", "time", "timestamp", "updated"),
    ]
)
"""The last words of keys of ids, times and versions."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TYPES: Final = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))


def expectation_of(value: Any, again: Any, recorded: str | None) -> Any:
    """Return the expectation for ``value``, the output of a run. ``again`` is the output of a
    second run with the same recording, whose text is ``recorded``. None: the keys do not count,
    because every value comes from the recording.
    """
    match value:
        case dict() if any(str(key).startswith("$") for key in value):
            return as_read(value)
        case dict():
            others = again if isinstance(again, dict) else {}
            return {
                str(key): _any(item) or ANY
                if key in others and _is_volatile(str(key), item, others[key], recorded)
                else expectation_of(item, others.get(key, item), recorded)
                for key, item in value.items()
            }
        case list():
            if not isinstance(again, list) or len(again) != len(value):
                again = value
            return [
                expectation_of(item, other, recorded)
                for item, other in zip(value, again, strict=True)
            ]
        case _:
            return value if value == again else _any(value) or ANY


ANY: Final = {"$any": True}


def _is_volatile(key: str, value: Any, other: Any, recorded: str | None) -> bool:
    if isinstance(value, dict | list) or value is None:
        return False
    if value != other:
        return True
    words = _WORDS.findall(key) if recorded is not None else []
    return bool(words) and words[-1].lower() in _NAMES and str(value) not in (recorded or "")


def _any(value: Any) -> dict[str, str] | None:
    """Return an expectation of any value of the same type."""
    kind = next((name for type_, name in _TYPES if isinstance(value, type_)), None)
    return {"$any": kind} if kind else None


def as_read(value: Any) -> Any:
    """Return the value as an expectation: a mapping that would be read as an operator, or refused
    for its keys, becomes a ``$literal``.
    """
    match value:
        case dict():
            inner = {str(key): as_read(item) for key, item in value.items()}
            return {"$literal": value} if any(key.startswith("$") for key in inner) else inner
        case list():
            return [as_read(item) for item in value]
        case _:
            return value
