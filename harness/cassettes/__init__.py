"""Cassettes: files of recorded exchanges, byte for byte.

A cassette has vcrpy's format (``interactions`` of request and response). It adds the network reads,
the end of each exchange, and the origin of the recording. The text is made for reviewing: a body is
one literal block with readable JSON, one line of the stream per line. A body that is not UTF-8 is
base64 under a comment that shows it decoded.
"""

from __future__ import annotations

from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, OriginKind, Request

from .reader import FORMAT, is_cassette, loads
from .writer import dumps
from .yaml import MAX_BYTES

__all__ = [
    "FORMAT",
    "MAX_BYTES",
    "Cassette",
    "CassetteError",
    "Exchange",
    "Origin",
    "OriginKind",
    "Request",
    "dumps",
    "is_cassette",
    "loads",
]
