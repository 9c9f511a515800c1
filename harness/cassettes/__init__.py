"""Reads and writes cassettes: files of recorded exchanges, byte for byte.

A cassette has vcrpy's format (``interactions`` of request and response), with the network reads,
the end of each exchange, and the origin of the recording in addition. The text is easy to review: a
body is one literal block with readable JSON, one line of the stream per line. A body that is not
UTF-8 is base64, below a comment with the decoded body.
"""

from __future__ import annotations

from harness.stream.exchange import (
    Cassette,
    CassetteError,
    Exchange,
    Origin,
    OriginKind,
    Request,
    UnknownFormat,
)

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
    "UnknownFormat",
    "dumps",
    "is_cassette",
    "loads",
]
