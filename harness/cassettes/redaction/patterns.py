"""Defines the shapes of Google's credentials, and of tokens after `Bearer`.

The patterns are strict about length and alphabet, so that a thought signature, which is a long
base64 text, does not match. Each pattern begins with literal bytes, because `re` finds these fast;
a look-behind is after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

SHAPES: Final = {
    "a Google API key": re.compile(
        rb"AIza(?:[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])|(?<![0-9A-Za-z+/_-]AIza)[0-9A-Za-z_-]{30})"
    ),
    "a Google API key of the new form": re.compile(
        rb"AQ\.(?<![0-9A-Za-z_.-]AQ\.)[0-9A-Za-z_-]{20}"
    ),
    "an OAuth access token": re.compile(rb"ya29\.(?<![0-9A-Za-z_.-]ya29\.)[0-9A-Za-z_-]{20}"),
    "an OAuth refresh token": re.compile(rb"1//0(?<![0-9A-Za-z+_-]1//0)[0-9A-Za-z_-]{40}"),
    "an OAuth client secret": re.compile(rb"GOCSPX-(?<![0-9A-Za-z_-]GOCSPX-)[0-9A-Za-z_-]{20}"),
    "a bearer token": re.compile(
        rb"earer[ +](?<=[Bb]earer.)((?=[A-Za-z._~+/-]*+[0-9])[0-9A-Za-z._~+/-]{20})"
    ),
    "a private key": re.compile(
        rb"-----BEGIN[ +](?:[A-Z]{2,12}[ +])?PRIVATE[ +]KEY-----"
        rb"(?:\s|\\n|\\r){0,20}[0-9A-Za-z+/]{20}"
    ),
}


_CUT_REST: Final = (
    rb"[0-9A-Za-z_-]{6,}"
    rb"(?: ?(?:\xe2\x80\xa6|\.\.\.)(?: \([0-9,]+ characters\)(?: \xe2\x80\xa6 )?)?[0-9A-Za-z_-]*"
    rb"|(?=\n?\0|\Z))"
)
CUT: Final = {
    beginning: re.compile(re.escape(beginning) + behind + _CUT_REST)
    for beginning, behind in (
        (b"AIza", b""),
        (b"AQ.", rb"(?<![0-9A-Za-z_.-]AQ\.)"),
        (b"ya29.", rb"(?<![0-9A-Za-z_.-]ya29\.)"),
        (b"1//0", rb"(?<![0-9A-Za-z/+_-]1//0)"),
        (b"GOCSPX-", b""),
        (b"Bearer ", rb"(?=[A-Za-z._~+/-]*+[0-9])"),
        (b"bearer ", rb"(?=[A-Za-z._~+/-]*+[0-9])"),
    )
}
"""The beginning of a credential in an excerpt, then the mark of a gap and the end of the
credential.
"""
BEGINNINGS: Final = (*CUT, b"earer+", b"-----BEGIN")
"""Every match of a pattern in this module has one of these. A search for each takes less time than
the pattern.
"""
LONG: Final = 1 << 16
"""The maximum length of a text that is not first searched for all words together."""
_REST: Final = re.compile(rb"[0-9A-Za-z+/=_.-]*")
_PRIVATE_REST: Final = re.compile(
    rb"[^-\0]{0,20000}-----END[ +](?:[A-Z]{2,12}[ +])?PRIVATE[ +]KEY-----|[0-9A-Za-z+/=\s\\]*"
)


@lru_cache(16)
def finder(patterns: tuple[bytes, ...], *, any_case: bool = False) -> Any:
    """A pattern that finds any of these. RE2 searches for all alternatives in one pass."""
    import re2  # start-up time: most texts are short

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = not any_case
    return re2.compile(b"|".join(patterns), options)


def find_shapes(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each credential in ``data``. A pattern matches only the beginning of a
    credential; `rest` returns its end.
    """
    for name, pattern in SHAPES.items():
        for match in pattern.finditer(data):
            yield match.start(match.lastindex or 0), match.end(), name


def rest(data: bytes, start: int, stop: int) -> int:
    """The end of the credential that begins with these bytes: it has all following bytes of its
    alphabet.
    """
    pattern = _PRIVATE_REST if data.startswith(b"-----BEGIN", start) else _REST
    match = pattern.match(data, stop)
    return match.end() if match else stop
