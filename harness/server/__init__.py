"""Serves cassettes as a live HTTP endpoint: clients in any language get the recorded answers, byte
for byte and read by read.

`serve` runs a server for a test, ``harness serve`` runs one in a shell. `Server.offer` serves
single exchanges to adapters under test.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from harness.pipeline.replay import Cuts
from harness.stream.exchange import Cassette

from .listener import LOOPBACK
from .offer import Offer
from .request_log import ServedRequest
from .server import Server

__all__ = ["LOOPBACK", "Offer", "ServedRequest", "Server", "serve"]


def serve(
    cassettes: Sequence[Cassette | str | Path] | Cassette | str | Path = (),
    *,
    port: int = 0,
    host: str = LOOPBACK,
    allowed_hosts: Collection[str] = (),
    pace: str | float = "recorded",
    cuts: Cuts = "recorded",
    fault: str | None = None,
    match: str = "request",
    provider: str | None = None,
    dialect: str | None = None,
    strictness: str = "api",
    tls: bool = False,
) -> Server:
    """Return a `Server` that listens while its ``with`` block runs; ``.base_url`` is the address
    for clients.

    ``cassettes``: one or several cassettes or paths of recordings; none are needed for
    `Server.offer`. ``port``: 0 picks a free port. ``allowed_hosts``: names of this machine that
    clients may use, besides the loopback names. ``pace``: ``recorded``, ``step`` (no waiting, but
    each read is sent separately), ``instant``, or a number (2: twice as fast as recorded).
    ``cuts``: where the body is cut into reads, as in `harness.replay`; each piece is sent at the
    recorded time of its last byte. ``fault``: ``cut:N``, ``reset:N`` or ``stall:N`` after N reads,
    ``close:N:CODE`` (of a session, after N messages), ``status:CODE``, ``slow``. ``match``:
    ``request``, or ``path`` for clients that send different requests in each run. ``provider``: the
    provider of exchanges without a request. ``dialect``: with ``anthropic``, ``POST /v1/messages``
    is answered too, with ``unified-llm`` ``POST /v1/responses`` and ``POST /v1/chat/completions``.
    ``strictness``: ``api`` refuses requests that the API refuses, ``strict`` refuses more,
    ``lenient`` refuses nothing. ``tls``: with a certificate of its own, which the file
    ``certificate`` of the server lets clients trust; it needs the extra ``live``.

    Raises `CassetteError` for a recording that can't be read, `ReplayError` for an unknown option,
    OSError if the address is not available.
    """
    return Server(
        [cassettes] if isinstance(cassettes, (Cassette, str, Path)) else cassettes,
        port=port,
        host=host,
        allowed_hosts=allowed_hosts,
        pace=pace,
        cuts=cuts,
        fault=fault,
        match=match,
        provider=provider,
        dialect=dialect,
        strictness=strictness,
        tls=tls,
    )
