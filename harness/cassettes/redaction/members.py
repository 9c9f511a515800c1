"""Finds the values of named members in JSON text, and in JSON inside its strings at any depth.

The text may be invalid: a stream of frames, or a text that was cut. The depth of a quote after *n*
backslashes is the number of ones at the end of *n* in binary: ``"`` is of depth 0, ``\\"`` of depth
1, ``\\\\\\"`` of depth 2. A string ends at the next quote of its depth or of a lower one. Thus
members are found at every depth, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

from .readings import Span

MAX_SCHEMAS: Final = 8
"""The depth to which schemas inside schemas are unchanged."""
_SCHEMA: Final = frozenset(
    b"$ref additionalProperties allOf anyOf any_of description enum exclusiveMaximum"
    b" exclusiveMinimum format items maxItems maxLength max_items maximum minItems minLength"
    b" min_items minimum nullable oneOf pattern properties propertyOrdering required title"
    b" type uniqueItems".split()
)
_BLANK: Final = rb"(?:\s|(?<=[\r\n])data:|\\++[nrt])*+"
"""The bytes that may surround a colon; they include the beginning of the next line of an event."""
_QUOTE: Final = re.compile(rb'"|\\(?<!\\\\)\\*+(?:"|u0022)')
_TOKEN: Final = re.compile(_QUOTE.pattern + rb"|[\[\]{}]")
_COLON: Final = re.compile(_BLANK + rb":")
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*+")


class Found(NamedTuple):
    """The values of the members that were looked for."""

    strings: list[Span]
    """The spans of strings without their quotes, in order."""
    numbers: list[Span]
    """The spans of numbers, in order."""
    open_at: int
    """The beginning of the last member if its value may continue after the text, else the length of
    the text.
    """


class Members:
    """Finds the members with these names, in any letter case, also if they are spelled with
    escapes.

    A value is a string, or all strings in a list or an object; empty strings are ignored. In a JSON
    schema, the object of such a name describes the member, so it is not a value.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: Final = tuple(sorted(names))

    @cached_property
    def _key(self) -> re.Pattern[bytes]:
        """The pattern of a name, its quotes and its colon; slow to make, and most texts have no
        name.
        """
        spelled = b"|".join(map(_spelled, self._names))
        return re.compile(
            rb'(?:"|\\u0022)(?:%b)(\\*+(?:"|(?<=\\)u0022))%b:%b' % (spelled, _BLANK, _BLANK)
        )

    def find(self, text: bytes) -> Found:
        """Return all values of the members in ``text``."""
        strings: list[Span] = []
        numbers: list[Span] = []
        schemas: list[int] = []
        position, open_at = 0, len(text)
        lowered = text.lower()
        while key := self._key.search(lowered, position):
            position = key.end()
            while schemas and schemas[-1] <= position:
                schemas.pop()
            if text[position : position + 1] in (b"{", b"["):
                value = _container(text, position, _depth_of(key[1])[0])
                if value.is_schema and len(schemas) < MAX_SCHEMAS:
                    schemas.append(value.end)
                    continue
                strings += value.strings
                numbers += value.numbers
                position = value.end
            elif quote := _QUOTE.match(text, position):
                stop, position = _string(text, quote)
                strings.append((quote.end(), stop))
            elif number := _NUMBER.match(text, position):
                numbers.append(number.span())
                position = number.end()
            if position >= len(text):
                open_at = key.start()
        return Found([span for span in strings if span[0] < span[1]], numbers, open_at)


class _Container(NamedTuple):
    strings: list[Span]
    numbers: list[Span]
    is_schema: bool
    end: int


def _container(text: bytes, start: int, depth: int) -> _Container:
    """Return the list or object that begins at ``start``; its quotes have this depth. It ends with
    its bracket or with the string around it.
    """
    strings: list[Span] = []
    numbers: list[Span] = []
    keys: set[bytes] = set()
    level, position = 0, start
    while token := _TOKEN.search(text, position):
        numbers += [number.span() for number in _NUMBER.finditer(text, position, token.start())]
        position = token.end()
        if token[0] in b"[{":
            level += 1
        elif token[0] in b"]}":
            level -= 1
            if not level:
                return _Container(strings, numbers, bool(keys) and keys <= _SCHEMA, position)
        elif _depth_of(token[0])[0] < depth:
            return _Container(strings, numbers, False, token.start())
        else:
            stop, position = _string(text, token)
            if not _COLON.match(text, position):
                strings.append((token.end(), stop))
            elif level == 1:
                keys.add(text[token.end() : stop])
    return _Container(strings, numbers, False, len(text))


def _string(text: bytes, quote: re.Match[bytes]) -> tuple[int, int]:
    """Return the end of the content of a string, and the end of the string."""
    depth, _ = _depth_of(quote[0])
    for end in _QUOTE.finditer(text, quote.end()):
        end_depth, own = _depth_of(end[0])
        if end_depth <= depth:  # further backslashes before the quote are content
            content_end = end.start() + end[0].count(b"\\") - own
            return content_end, end.end() if end_depth == depth else end.start()
    return len(text.rstrip(b"\\")), len(text)


def _depth_of(quote: bytes) -> tuple[int, int]:
    """Return the depth of a quote, and the number of backslashes before it that belong to it.

    ``\\u0022`` is a quote. It is one level deeper for each time that the number of backslashes can
    be halved.
    """
    backslashes, halved = quote.count(b"\\"), 0
    while quote.endswith(b"2") and not backslashes & 1:
        backslashes >>= 1
        halved += 1
    ones = (~backslashes & (backslashes + 1)).bit_length() - 1
    return halved + ones, 2**halved * (2**ones - 1)


def _spelled(name: str) -> bytes:
    """Return a pattern for a name in lower case; each character may be a JSON escape."""
    return b"".join(
        rb"(?:%b|\\++u00(?:%02x|%02x))"
        % (re.escape(character).encode(), ord(character), ord(character.upper()))
        for character in name
    )
