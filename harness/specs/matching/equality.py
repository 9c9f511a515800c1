"""Equality of an expectation without operators and a value, by their encoding.

Two values with the same canonical encoding are equal, and encoding a large value is faster than a
walk.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import msgspec

from harness.stream.json_codec import Json, same_json

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_OPERATOR: Final = b'{"$'


def equal_if_plain(expected: Json, actual: Json) -> bool | None:
    """Compare as `same_json`, fast for large values that are equal. Returns None if an operator may
    be in it.
    """
    encoded = _encode(expected)
    if encoded is None or (b"$" in encoded and _OPERATOR in encoded):
        return None  # a search for one byte is much faster
    return encoded == _encode(actual) or same_json(expected, actual)


def is_plain(expected: Json) -> bool:
    """Return whether the value holds no operator: no mapping in it begins with a ``$`` key."""
    return not may_hold(expected, _OPERATOR)


def hashable(value: Json) -> Hashable:
    """Return a key that is equal for equal values only."""
    if isinstance(value, dict):
        return frozenset((name, hashable(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(hashable, value))
    return (bool, value) if isinstance(value, bool) else value


def may_hold(value: Json, mark: bytes) -> bool:
    """Return whether the JSON of a mapping in ``value`` begins with ``mark``, such as ``{"$``; also
    True if that is not known.

    The canonical encoding is searched, not the value. It escapes quotes inside strings, so a match
    is never part of a string.
    """
    if not isinstance(value, dict | list):
        return False
    encoded = _encode(value)
    return encoded is None or mark in encoded


def _encode(value: Json) -> bytes | None:
    """Return the canonical JSON; None for a value with a lone surrogate, which is legal JSON, but
    not Unicode.
    """
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return None
