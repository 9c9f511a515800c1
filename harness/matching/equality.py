"""When two JSON values are the same: true is not 1, 1 equals 1.0, key order never matters.

Python's own ``==`` decides all of it but one thing: it takes True for 1. So it goes first, in C, and what it calls equal is looked at once
more: two values with the same canonical encoding cannot differ in that, and only the rest (1 beside 1.0, a lone surrogate that cannot be
encoded) is walked by hand.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def equal(expected: Json, actual: Json) -> bool:
    """Whether both are the same JSON value."""
    if expected != actual:
        return False
    if not isinstance(expected, dict | list):
        return (expected is True or expected is False) == (actual is True or actual is False)
    try:
        if _ENCODER.encode(expected) == _ENCODER.encode(actual):
            return True
    except UnicodeEncodeError:
        pass  # a lone surrogate: legal JSON, not encodable
    return _agree_on_booleans(expected, actual)


def is_plain(expected: Json) -> bool:
    """True if no operator can stand in this value: no mapping in it begins with a ``$`` key."""
    return not may_hold(expected, b'{"$')


def may_hold(value: Json, mark: bytes) -> bool:
    """Whether a mapping in ``value`` begins with these bytes, a brace and a quote first; True also where that is not known.

    The canonical encoding is searched instead of the value: quotes inside a string are escaped there, so it cannot be a string's.
    """
    if not isinstance(value, dict | list):
        return False
    try:
        return mark in _ENCODER.encode(value)
    except UnicodeEncodeError:
        return True  # a lone surrogate; the careful way is right for all


def _agree_on_booleans(expected: Json, actual: Json) -> bool:
    """For two values that ``==`` calls equal: no True stands beside a 1."""
    if isinstance(expected, dict):
        return all(_agree_on_booleans(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return all(map(_agree_on_booleans, expected, actual))
    return (expected is True or expected is False) == (actual is True or actual is False)
