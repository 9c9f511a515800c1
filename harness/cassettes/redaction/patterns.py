"""The shapes of Google's credentials, and of tokens after `Bearer`.

The patterns are strict about length and alphabet, so that a thought signature, which is a long
base64 text, does not match. Each pattern begins with literal bytes, because `re` finds these fast;
a look-behind comes after them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

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


_REST: Final = re.compile(rb"[0-9A-Za-z+/=_.-]*")
_PRIVATE_REST: Final = re.compile(
    rb"[^-]{0,20000}-----END[ +](?:[A-Z]{2,12}[ +])?PRIVATE[ +]KEY-----|[0-9A-Za-z+/=\s\\]*"
)


def find_shapes(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Start, end and name of each credential in ``data``. A pattern matches only its beginning, so
    the rest of its alphabet belongs to it.
    """
    for name, pattern in SHAPES.items():
        rest = _PRIVATE_REST if name == "a private key" else _REST
        stop = 0
        while match := pattern.search(data, stop):
            end = rest.match(data, match.end())
            stop = end.end() if end else match.end()
            yield match.start(match.lastindex or 0), stop, name
