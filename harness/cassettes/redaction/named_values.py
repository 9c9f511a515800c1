"""Finds the values that are secret by their names: the members of JSON, and those in other
notations.

The text may be invalid: a stream of frames, or a text that was cut. So the members of JSON are
found without parsing it, also in JSON inside its strings at any depth: the depth of a quote after
*n* backslashes is the number of ones at the end of *n* in binary. ``"`` is of depth 0, ``\\"`` of
depth 1, ``\\\\\\"`` of depth 2. A string ends at the next quote of its depth or of a lower one.
Thus members are found at every depth, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Final, NamedTuple

from .credentials import may_match
from .names import SECRET_BESIDE, SECRET_KEYS, SECRET_PARAMETERS
from .placeholders import REDACTED
from .readings import WINDOW, Span, unescape

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
        spelled = b"|".join(map(_escaped, self._names))
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


def _escaped(name: str) -> bytes:
    """Return a pattern for a name in lower case; each character may be a JSON escape."""
    return b"".join(
        rb"(?:%b|\\++u00(?:%02x|%02x))"
        % (re.escape(character).encode(), ord(character), ord(character.upper()))
        for character in name
    )


OVERLAP: Final = 4096
"""The maximum length of a name, with its escapes, in a body that is read in windows."""
_ESCAPED_LETTER: Final = re.compile(rb"\\u00(?:2d|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f)")
_KELVIN: Final = "\u212a".encode()
"""The Kelvin sign: k is its lower case."""

_ESCAPED_EQUALS: Final = re.compile(rb"(?:%(?:25)*+|u00)3[dD]")
JSON: Final = re.compile(
    rb'[\s\xef\xbb\xbf,]*[\[{"]|[\s\xef\xbb\xbf]*(?::|data:|event:|id:|retry:)'
)
"""The beginning of JSON, or of an event."""
_PYTHON: Final = re.compile(rb"[\[({\s]*+'")
"""The beginning of a list or a dictionary in Python's notation."""


class Notation(NamedTuple):
    """A notation of named values, beside the members of JSON."""

    may_have: Callable[[bytes], object]
    """Whether a body may have such values; takes less time than the pattern."""
    pattern: bytes
    """A pattern for lower-case text. Its last group is the value. ``%(names)b`` stands for the
    names of members, ``%(all)b`` for these and the names of parameters.
    """


_PRINTED: Final = (
    rb"'(?:%%(names)b)' *+: *+[bru]*+('|%b)"
    rb"((?:(?!\1)(?:\\++[^\\\n\"]|(?:\\\\)*+\\\"|[^\\\n%b]))++)"
)
"""A member in Python's notation, with the double quote around a value, and the characters that are
in a value only after a backslash.
"""
GAP: Final = b"..."
"""The text with which pytest and `reprlib` replace the middle of a long text."""
PROSE: Final = (
    rb"(?:(['\"])(?:%(names)b)\1|\.\.\.(?:(?:%(ends)b)['\"]?|['\"]))\s*+[:=]\s*+[bru]?(['\"])"
    rb"((?:\\.|(?!\2\s*+(?:[,}\])\n]|\Z))[^\\\n])*+)"
)
"""A member in Python's notation in a text that is read by people, also if only the end of its name
is left (``%(ends)b``). A quote with text after it does not end the value.
"""
MULTIPART: Final = (
    rb"[; ]name=\"?(?:%(all)b)(?=[\s\";])[^\n]*+\n(?:[^\r\n]++\r?\n){0,10}+\r?\n"
    rb"((?:[^\r\n]++|\r?\n(?!--)|\r(?!\n))*+)"
)
NOTATIONS: Final = (
    Notation(  # parameters of URLs and forms inside a text, also with escaped separators
        lambda body: (
            b"=" in body or ((b"%" in body or b"u00" in body) and _ESCAPED_EQUALS.search(body))
        ),
        rb"(?:(?:[?&]|%%(?:25)*+(?:26|3f)|\\(?<!\\\\)\\*+u00(?:26|3f))(?:amp;)?(?:%(all)b)"
        rb"|\"(?:%(names)b))(?:=|%%(?:25)*+3d|\\++u003d)"
        rb"((?:[^&\s\"'<>\\%%]|%%(?!(?:25)*+26)|\\++u(?!00(?:26|22))[0-9a-f]{4}|\\++/)++)",
    ),
    Notation(lambda body: b"'" in body and not is_json(body), _PRINTED % (rb"\"", rb"")),
    Notation(lambda body: b"'" in body and is_json(body), _PRINTED % (rb"\\++\"", rb"\"")),
    Notation(  # pieces of streamed arguments with a name in their path
        lambda body: b"artial" in body,
        rb"\"json_?path\"\s*+:\s*+\"\$[^\"\\]*?[.'](?:%(names)b)(?=[.'\[\"])[^\"\\]*+\"\s*+,\s*+"
        rb"\"string_?value\"\s*+:\s*+\"((?:[^\"\\]++|\\.)*+)",
    ),
    Notation(lambda body: b"\n--" in body, MULTIPART),  # the named parts of a multipart body
)


def is_json(body: bytes) -> bool:
    """Return whether a body begins like JSON or like events with JSON, and not like Python's
    notation.
    """
    return JSON.match(body) is not None and not _PYTHON.match(body)


Replacement = tuple[int, int, bytes]
"""The start and the end of the replaced bytes, and the bytes in their place."""
Finder = Callable[[bytes], Sequence[Replacement]]
"""Returns the values in a body, in order, each with its replacement."""


class NamedValues:
    """Finds the values of the built-in names and of ``own`` names, in any letter case."""

    def __init__(self, own: Iterable[str]) -> None:
        own = {name.lower() for name in own}
        names = own.union(map(str.lower, SECRET_KEYS))
        self.parameters: Final = SECRET_PARAMETERS | own
        """The names of query parameters and form fields, in lower case."""
        self._names: Final = tuple(name.encode() for name in names)
        self._members: Final = Members(names)
        self._beside: Final = {
            word.encode(): Members(inner) for word, inner in SECRET_BESIDE.items()
        }
        self._words: Final = (*self._names, *self._beside)
        self._anything: Final = (*map(_spelled, self._words), _ESCAPED_LETTER.pattern)
        self._value: Final = partial(_pattern, names=frozenset(names), parameters=self.parameters)
        self.finders: Final[tuple[Finder, ...]] = (
            self.members,
            *(_finder(notation, self._value) for notation in NOTATIONS),
        )
        """Each finds the values in one notation. The values in the rest are found after these are
        replaced.
        """

    def members(self, body: bytes) -> list[Replacement]:
        """Return the values of members of JSON; a number is replaced by 0."""
        values: list[Replacement] = []
        for members in self._members_in(body):
            found = members.find(body)
            values += [(start, stop, REDACTED.encode()) for start, stop in found.strings]
            if members is self._members:
                values += [(start, stop, b"0") for start, stop in found.numbers]
        return _outer(values)

    def in_prose(self, text: bytes) -> list[Replacement]:
        """Return the values in a text that quotes Python's notation, also with cut names."""
        is_quoted = b"'" in text or b'"' in text
        if is_quoted and (GAP in text or any(self._members_in(text))):
            return _values(self._value(PROSE), text)
        return []

    def open_at(self, body: bytes) -> int:
        """Return the start of the last value in an incomplete body if the value may continue; else
        the length of the body.
        """
        open_at = [members.find(body).open_at for members in self._members_in(body)]
        parts = (
            self._value(MULTIPART).finditer(body.lower())
            if b"\n" in body and b"=" in body
            else iter(())
        )
        part = next((part for part in parts if part.end() == len(body)), None)
        return min([*open_at, part.start() if part else len(body)])

    def _members_in(self, body: bytes) -> Iterator[Members]:
        """Yield the members to search for in a body; most bodies have none of the names."""
        if not may_match(body, self._anything, any_case=True):
            return
        words = {word for part in _lowered(body) for word in self._words if word in part}
        if not words.isdisjoint(self._names):
            yield self._members
        for word, members in self._beside.items():
            if word in words:
                yield members


def _lowered(body: bytes) -> Iterator[bytes]:
    """Yield a body in lower case and without escapes, in windows that overlap."""
    for start in range(0, max(len(body) - OVERLAP, 1), WINDOW - OVERLAP):
        part = body[start : start + WINDOW]
        lowered = part.lower().replace(_KELVIN, b"k")
        yield unescape(part).lower() if _ESCAPED_LETTER.search(lowered) else lowered


@lru_cache(32)
def _pattern(
    pattern: bytes, *, names: frozenset[str], parameters: frozenset[str]
) -> re.Pattern[bytes]:
    """Return the pattern of a notation with these names; slow to make, and most texts need none."""
    ends = {name[start:] for name in names for start in range(len(name))}
    return re.compile(
        pattern
        % {
            b"names": _alternatives(names),
            b"all": _alternatives(parameters),
            b"ends": _alternatives(ends),
        }
    )


def _finder(notation: Notation, value: Callable[[bytes], re.Pattern[bytes]]) -> Finder:
    return lambda body: _values(value(notation.pattern), body) if notation.may_have(body) else ()


def _values(pattern: re.Pattern[bytes], body: bytes) -> list[Replacement]:
    return [
        (*match.span(pattern.groups), REDACTED.encode())
        for match in pattern.finditer(body.lower())
        if match[pattern.groups]
    ]


def _alternatives(names: Iterable[str]) -> bytes:
    return b"|".join(_spelled(name.encode()) for name in sorted(names))


def _spelled(word: bytes) -> bytes:
    return re.escape(word).replace(b"k", b"(?:k|%b)" % _KELVIN)


def _outer(values: list[Replacement]) -> list[Replacement]:
    """Return the values in order, without those inside others."""
    kept: list[Replacement] = []
    for value in sorted(values, key=lambda value: (value[0], -value[1])):
        if not kept or value[0] >= kept[-1][1]:
            kept.append(value)
    return kept
