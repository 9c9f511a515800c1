"""Loads a recording in our cassette format or in any format of `importers.FORMATS`."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from harness.providers import with_provider
from harness.stream.exchange import Cassette, CassetteError, UnknownFormat

from .journal import is_journal, read_journal
from .reader import is_cassette, loads
from .yaml import MAX_BYTES

_EVENTS: Final = (b'data: {"candidates"', b'data: {"response"')
"""The beginnings of Gemini's SSE text. The search for a format is skipped for them."""


def load(path: str | Path, provider: str | None = None) -> Cassette:
    """Load the recording at ``path``; its format is detected from its content. With ``provider``,
    content of no known format is a bare body of that provider.

    Returns a `Cassette` with the exchanges in start order, each with its provider. Raises
    `CassetteError` for a file that can't be read, with the place and the reason.
    """
    path = path if isinstance(path, Path) else Path(path)  # the construction of a path takes 3 µs
    try:
        status = path.stat()
        if S_ISDIR(status.st_mode):
            raise CassetteError(f"{path}: a folder; name a file in it")
        if not S_ISREG(status.st_mode):
            raise CassetteError(f"{path}: not a regular file")  # a pipe or a device may never end
        if status.st_size > MAX_BYTES:
            raise CassetteError(f"{path}: the file is larger than {MAX_BYTES} bytes")
        with path.open("rb", buffering=0) as file:
            data = file.read()
    except OSError as error:
        raise CassetteError(f"{path}: {error.strerror or error}") from None
    return read_recording(data, str(path), provider)


def read_recording(data: bytes, name: str, provider: str | None = None) -> Cassette:
    """Read the recording in ``data``: a cassette, a crash journal, or another format. ``name`` is
    the file's name in errors; ``provider``: see `load`.

    Raises `CassetteError` for content that is damaged or of no known format.
    """
    if is_journal(data):
        cassette = read_journal(data, name)
    elif data.startswith(_EVENTS):
        from . import importers  # start-up time: most runs read no other format

        cassette = importers.read_events(data, name)
    elif is_cassette(data):
        cassette = loads(data, name)
    else:
        from . import importers

        try:
            cassette = importers.read(data, name)
        except UnknownFormat:
            if provider is None:
                raise
            cassette = importers.read_body(data, name, provider)
    exchanges = (
        exchange if exchange.provider else with_provider(exchange)
        for exchange in cassette.exchanges
    )
    return Cassette(tuple(exchanges), cassette.origin)
