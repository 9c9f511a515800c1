"""Equality of two JSON values: true is not 1, 1 equals 1.0, key order never matters.

Two values with the same canonical encoding are equal, and encoding is fast. Values with different
encodings may be equal too (1 and 1.0), and a lone surrogate has no encoding. For these, Python's
``==`` decides, and a walk makes sure that no True stands beside a 1, which ``==`` calls equal.
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
    """As `equal`, fast for equal values: each is encoded once. None if ``expected`` may hold an
    operator.
    """
    try:
        encoded = _ENCODER.encode(expected)
        if _OPERATOR in encoded:
            return None
        return encoded == _ENCODER.encode(actual) or equal(expected, actual)
    except UnicodeEncodeError:
        return None if may_hold(expected, _OPERATOR) else equal(expected, actual)


def is_plain(expected: Json) -> bool:
    """Whether the value holds no operator: no mapping in it begins with a ``$`` key."""
    return not may_hold(expected, _OPERATOR)


def may_hold(value: Json, mark: bytes) -> bool:
    """Whether the JSON of a mapping in ``value`` begins with ``mark``, such as ``{"$``; also True
    if that is not known.

    The canonical encoding is searched, not the value. It escapes quotes inside strings, so a match
    is never part of a string.
    """
    if not isinstance(value, dict | list):
        return False
    try:
        return mark in _ENCODER.encode(value)
    except UnicodeEncodeError:
        return True  # a lone surrogate: the slow comparison is right for every value


def _agree_on_booleans(expected: Json, actual: Json) -> bool:
    """For two values that ``==`` calls equal: no True stands beside a 1."""
    if isinstance(expected, dict):
        return all(_agree_on_booleans(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list):
        return all(map(_agree_on_booleans, expected, actual))
    return (expected is True or expected is False) == (actual is True or actual is False)
