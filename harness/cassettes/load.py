"""A recording's bytes into a `Cassette` whose exchanges know their provider: ours or anybody's
format, told by content.
"""

from __future__ import annotations

from dataclasses import replace

from harness.providers import with_provider

from . import Cassette, is_cassette, loads
from .journal import is_unfinished, read_unfinished


def read_recording(data: bytes, name: str) -> Cassette:
    """A cassette of ours, finished or not, or a recording in one of `importers.FORMATS`; ``name``
    stands in errors.

    Raises `CassetteError` for content that is damaged or of no known format.
    """
    if is_unfinished(data):
        cassette = read_unfinished(data, name)
    elif is_cassette(data):
        cassette = loads(data, name)
    else:
        from . import importers  # all the formats there are: most runs need none of them

        cassette = importers.read(data, name)
    return replace(
        cassette, exchanges=tuple(with_provider(exchange) for exchange in cassette.exchanges)
    )
