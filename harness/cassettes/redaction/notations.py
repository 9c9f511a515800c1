"""The notations in which a body has named values, beside the members of JSON (`members`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

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
