"""When two JSON values are the same: true is not 1, 1 equals 1.0, key order never matters.

Two values with the same canonical encoding are the same, and encoding runs in C. What encodes
differently may still be equal (1 beside 1.0), or can't be encoded (a lone surrogate): then Python's
own ``==`` decides all but one thing, that it takes True for 1, and what it calls equal is walked by
hand.
"""

from __future__ import annotations

from typing import Final

import msgspec

from harness.stream.json_codec import Json

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_OPERATOR: Final = b'{"$'


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


def equal_if_plain(expected: Json, actual: Json) -> bool | None:
    """As `equal`, for what mostly is: one encoding of each is all that takes. None where an
    operator may stand in ``expected``.
    """
    try:
        encoded = _ENCODER.encode(expected)
        if _OPERATOR in encoded:
            return None
        return encoded == _ENCODER.encode(actual) or equal(expected, actual)
    except UnicodeEncodeError:
        return None if may_hold(expected, _OPERATOR) else equal(expected, actual)


def is_plain(expected: Json) -> bool:
    """True if no operator can stand in this value: no mapping in it begins with a ``$`` key."""
    return not may_hold(expected, _OPERATOR)


def may_hold(value: Json, mark: bytes) -> bool:
    """Whether a mapping in ``value`` begins with these bytes, a brace and a quote first; True also
    where that is not known.

    The canonical encoding is searched instead of the value: quotes inside a string are escaped
    there, so it cannot be a string's.
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
