"""A recording's bytes into a `Cassette` whose exchanges know their provider: ours or anybody's format, told by content."""

from __future__ import annotations

from dataclasses import replace

from . import importing
from .cassette import Cassette, Exchange, is_cassette, loads
from .providers import identify


def read_recording(data: bytes, name: str) -> Cassette:
    """A cassette of ours, or a recording in one of `importing.FORMATS`; ``name`` stands in errors.

    Raises `CassetteError` for content that is damaged or of no known format.
    """
    cassette = loads(data, name) if is_cassette(data) else importing.read(data, name)
    return replace(cassette, exchanges=tuple(identified(exchange) for exchange in cassette.exchanges))


def identified(exchange: Exchange) -> Exchange:
    """The exchange with ``provider`` and ``generates`` told from its URL and bodies."""
    request = exchange.request
    method, url, body = (request.method, request.url, request.body) if request else ("", "", b"")
    told = identify(method, url, body, b"")  # mostly the URL tells, and a long body need not be joined
    if not told.generates:
        told = identify(method, url, body, exchange.body)
    return replace(exchange, provider=told.provider, generates=told.generates)
