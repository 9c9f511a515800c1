"""Reads cassettes of Ruby's VCR, R's vcr and betamax: a list of ``http_interactions``.

Ruby writes ``status: {code, message}`` and a body of ``encoding`` and ``string`` (``!binary`` if it
is not text) or ``base64_string``. R writes the status as a number, headers as strings, and bytes as
``raw_gzip``. https://benoittgt.github.io/vcr https://docs.ropensci.org/vcr
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Final

from harness.stream.decompression import MAX_RATIO, UNSUSPICIOUS
from harness.stream.exchange import Cassette, CassetteError, Exchange

from ..yaml import MAX_BYTES
from .build import (
    Interaction,
    Received,
    SentRequest,
    Status,
    build_cassette,
    build_exchange,
    build_request,
    decode_base64,
    stored_bytes,
)
from .content import Content, Format, as_shape, each


class _Request(SentRequest, kw_only=True):
    uri: str


class _Response(Received, kw_only=True):
    status: Any


_Interaction = Interaction[_Request, _Response]


def _recognises(content: Content) -> bool:
    return "http_interactions" in content.mapping


def _read(content: Content) -> Cassette:
    date, note = None, "VCR cassette"
    match content.mapping:
        case {"http_interactions": [{"recorded_at": recorded_at}, *_]}:
            date = str(recorded_at)
    match content.mapping:
        case {"recorded_with": str(recorder)}:
            note += f", recorded with {recorder}"
    return build_cassette(_exchanges(content), date=date, note=note)


def _exchanges(content: Content) -> Iterator[Exchange]:
    recorded = content.mapping["http_interactions"]
    for where, interaction in each(recorded, _Interaction, "http interaction"):
        sent, answer = interaction.request, interaction.response
        status = as_shape(_status(answer.status), Status, f"{where}: response.status")
        request = build_request(sent.method, sent.uri, sent.headers, _body(sent.body, where))
        yield build_exchange(
            request,
            status.code,
            answer.headers,
            _body(answer.body, where),
            reason=status.message or "",
        )


def _status(status: Any) -> Any:
    """Return the status as a mapping. R writes a number, or ``status_code`` in old versions."""
    match status:
        case {"status_code": code, **others}:
            return {"code": code, "message": others.get("message")}
        case dict():
            return status
    return {"code": status}


def _body(body: Any, where: str) -> bytes:
    match body:
        case {"raw_gzip": text}:
            return _inflate(decode_base64(text, f"{where}: raw_gzip"), where)
    return stored_bytes(body, where)


def _inflate(data: bytes, where: str) -> bytes:
    """Return the bytes in ``raw_gzip``, at most `MAX_BYTES`. R's ``memCompress`` writes gzip or
    zlib.
    """
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    limit = min(MAX_BYTES, max(UNSUSPICIOUS, MAX_RATIO * len(data)))
    try:
        plain = inflater.decompress(data, limit)
    except zlib.error as error:
        raise CassetteError(f"{where}: raw_gzip: {error}") from None
    if not inflater.eof:
        raise CassetteError(f"{where}: raw_gzip: cut short, or more than {limit} bytes")
    return plain


VCR: Final = Format("vcr", "Ruby VCR, R vcr or betamax cassette", _recognises, _read)
