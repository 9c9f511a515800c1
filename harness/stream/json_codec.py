"""Decodes JSON without loss, compares values, finds the end of a document in pieces of text.

msgspec decodes; ``json`` decodes the text that msgspec refuses and JSON allows (a lone surrogate).
The nesting is checked before either recurses.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn, cast

import msgspec

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

# RFC 8259, section 9: "An implementation may set limits on the maximum depth of nesting."
MAX_NESTING: Final = 200

_decode = msgspec.json.Decoder().decode


def decode_json(data: bytes | memoryview) -> Any:
    """Decode one JSON document, numbers at full precision. Raises ValueError for anything else,
    also for NaN and for nesting deeper than `MAX_NESTING`.
    """
    if nests_deeply(data):
        raise ValueError(f"nested deeper than {MAX_NESTING} levels")
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return finite_json(bytes(data).decode("utf-8"))


def finite_json(text: str) -> Any:
    """Decode a JSON text, which may have lone surrogates. Raises ValueError also for NaN and for
    numbers that do not fit a double, and RecursionError.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def decode_object(data: bytes | str) -> dict[str, Json] | None:
    """Return the value of a JSON document, bytes or text, if it is an object; else None."""
    try:
        value = decode_json(data.encode() if isinstance(data, str) else data)
    except ValueError:
        return None
    return value if type(value) is dict else None


def objects_in(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a list; none for any other value."""
    return [item for item in value if type(item) is dict] if type(value) is list else []


def same_json(left: Json, right: Json) -> bool:
    """Return whether two JSON values are equal: true is not 1, 1 equals 1.0, key order never
    matters.
    """
    return bool(left == right) and _agree_on_booleans(left, right)


def _agree_on_booleans(left: Json, right: Json) -> bool:
    """Return, for two values that are equal by ``==``, whether no True is compared with a 1."""
    if isinstance(left, dict):
        return all(map(_agree_on_booleans, left.values(), map(right.__getitem__, left)))
    if isinstance(left, list):
        return all(map(_agree_on_booleans, left, right))
    # In Python, True == 1 and False == 0.
    return isinstance(left, bool) == isinstance(right, bool)


# A bracket in a string doesn't nest. The possessive repetition makes an open string cost linear
# time.
_STRING_OR_BRACKET: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def nests_deeply(data: bytes | memoryview) -> bool:
    """Return whether the brackets of a JSON text nest deeper than `MAX_NESTING`. Counts them first,
    because most texts have few.
    """
    if len(data) <= 2 * MAX_NESTING:
        return False
    whole = cast(bytes, data.obj) if isinstance(data, memoryview) else data  # for count()
    if whole.count(b"[") + whole.count(b"{") <= MAX_NESTING:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        mark = match[0][0]
        if mark in b"[{":
            depth += 1
            if depth > MAX_NESTING:
                return True
        elif mark in b"]}":
            depth -= 1
    return False


def without_deep_values(data: bytes, most: int) -> bytes:
    """Return a JSON text in which each value below ``most`` levels is a short text."""
    pieces, depth, kept = [], 0, 0
    for match in _STRING_OR_BRACKET.finditer(data):
        mark = match[0][0]
        if mark in b"[{":
            depth += 1
            if depth == most + 1:
                pieces.append(data[kept : match.start()])
        elif mark in b"]}":
            if depth == most + 1:
                pieces.append(b'"... (nests too deeply)"')
                kept = match.end()
            depth -= 1
    return b"".join((*pieces, data[kept:]))


def _refuse(word: str) -> NoReturn:
    # RFC 8259, section 6: "Numeric values that cannot be represented in the grammar below (such as
    # Infinity and NaN) are not permitted."
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{word} does not fit a double")
    return number


_OUTSIDE: Final = re.compile(rb'["\[{\]}]')
_INSIDE: Final = re.compile(rb'["\\]')


class Brackets:
    """Follows the brackets of a JSON document across pieces, to find its end."""

    def __init__(self) -> None:
        self.depth = 0
        self.in_string = False
        self.after_backslash = False

    def find_end(self, data: bytes, position: int) -> int:
        """Return the index after the bracket that closes the document, or -1 if it is not in
        ``data``.
        """
        if self.after_backslash and position < len(data):
            self.after_backslash = False
            position += 1
        while match := (_INSIDE if self.in_string else _OUTSIDE).search(data, position):
            position = match.end()
            mark = data[position - 1]
            if mark == 0x5C:  # backslash
                self.after_backslash = position == len(data)
                position += 1
            elif mark == 0x22:  # quote
                self.in_string = not self.in_string
            elif mark in b"[{":
                self.depth += 1
            else:
                self.depth -= 1
                if self.depth <= 0:
                    self.depth = 0
                    return position
        return -1
