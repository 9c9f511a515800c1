"""Cassettes as a live endpoint: any client, in any language, pointed at a base URL gets what was
recorded, byte for byte and read by read.

`serve` runs it beside a test, ``harness serve`` in a shell.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.pipeline.replay import Cuts
from harness.stream.exchange import Cassette

from .server import LOOPBACK, Server

__all__ = ["LOOPBACK", "Server", "serve"]


def serve(
    cassettes: Sequence[Cassette | str | Path] | Cassette | str | Path,
    *,
    port: int = 0,
    host: str = LOOPBACK,
    pace: str | float = "recorded",
    cuts: Cuts = "recorded",
    fault: str | None = None,
    match: str = "request",
    provider: str | None = None,
    dialect: str | None = None,
) -> Server:
    """A `Server`, to be used in ``with``: it listens while the block runs, and ``.base_url`` is
    what a client is pointed at.

    ``cassettes``: cassettes or paths of recordings, one or several. ``port`` 0 picks a free one.
    ``pace``: ``recorded``, ``step`` (at once, still read by read), ``instant``, or a number (2:
    twice as fast as recorded). ``cuts``: where the body is cut into reads, as in `harness.replay`;
    each has the time at which its last byte was recorded. ``fault``: ``cut:N``, ``reset:N`` or
    ``stall:N`` after N reads, ``status:CODE``, ``slow``. ``match``: ``request``, or ``path`` for
    clients whose requests differ from run to run. ``provider``: what exchanges without a request
    are answers of. ``dialect``: ``anthropic`` answers ``POST /v1/messages`` as well.

    Raises `CassetteError` for a recording that can't be read, `ReplayError` for unknown words,
    OSError if the address can't be had.
    """
    several = [cassettes] if isinstance(cassettes, (Cassette, str, Path)) else cassettes
    return Server(
        several,
        port=port,
        host=host,
        pace=pace,
        cuts=cuts,
        fault=fault,
        match=match,
        provider=provider,
        dialect=dialect,
    )
