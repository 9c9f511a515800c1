"""Cassettes: recorded exchanges, and the text that holds them byte for byte.

A cassette is vcrpy's (``interactions`` of request and response) with what vcrpy cannot say: the
network reads, how the exchange ended, where the recording is from. The text is made for reading and
reviewing: a body is one literal block with JSON unescaped and one line of the stream on one line.
We write that text ourselves, `strict_yaml` reads it, and `dumps` reads back what it wrote and
compares before it returns.

`body_text` says how a body stands in its block; one that is not UTF-8 is base64 under a comment
that shows it decoded.
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
