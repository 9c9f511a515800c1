"""Cassettes as a live endpoint on a loopback address.

The endpoint can be replaced while the server runs; it is replaced as a whole, between two requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.cassettes.load import load
from harness.providers import with_provider
from harness.stream.exchange import Cassette

from .connection import Connection, HttpRequest
from .endpoint import Endpoint
from .listener import LOOPBACK, Listener
from .lookup import PlacedExchange
from .options import Options, read_options
from .response import Answer


class Server(Listener):
    """Serves cassettes within ``with``; ``base_url`` is the address for clients.

    ``misses`` holds a message for each request that no exchange answers: the most similar recorded
    request and the differences. With ``on_miss``, that function is called instead. ``read`` makes a
    cassette of a path. The other arguments are those of `harness.server.serve`.
    """

    def __init__(
        self,
        cassettes: Sequence[Cassette | str | Path] = (),
        *,
        port: int = 0,
        host: str = LOOPBACK,
        on_miss: Callable[[str], None] | None = None,
        read: Callable[[str | Path], Cassette] = load,
        **options: Any,
    ) -> None:
        super().__init__(host, port)
        self._options = options
        self._read = read
        self.misses: list[str] = []
        self._on_miss = on_miss or self.misses.append
        self._endpoint = Endpoint([], read_options(**options), self._on_miss)
        self.add(*cassettes)

    def add(self, *cassettes: Cassette | str | Path) -> None:
        """Serve these cassettes too; all exchanges count as unused again. Raises `CassetteError`
        for one that can't be read.
        """
        added: list[PlacedExchange] = []
        for source in cassettes:
            if isinstance(source, Cassette):
                cassette, name = source, "the cassette"
            else:
                cassette, name = self._read(source), str(source)
            for number, exchange in enumerate(cassette.exchanges, 1):
                known = exchange if exchange.generates else with_provider(exchange)
                added.append(PlacedExchange(known, name, number))
        self._endpoint = Endpoint(
            [*self._endpoint.placed, *added], self._endpoint.options, self._on_miss
        )

    def behave(self, **options: Any) -> None:
        """Change ``pace``, ``cuts``, ``fault``, ``match``, ``provider`` or ``dialect`` from the
        next request on; the others stay.
        """
        self._options = {**self._options, **options}
        self._endpoint = Endpoint(
            self._endpoint.placed, read_options(**self._options), self._on_miss
        )

    def clear(self, **options: Any) -> None:
        """Remove all cassettes and misses, and use these options."""
        self._options = options
        self.misses.clear()
        self._endpoint = Endpoint([], read_options(**options), self._on_miss)

    @property
    def unused(self) -> list[str]:
        """The exchanges that no request has used, by cassette and number."""
        return [str(placed) for placed in self._endpoint.finder.unused()]

    async def serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await Connection(reader, writer, self._respond).run()

    def _respond(self, request: HttpRequest) -> tuple[Answer, Options]:
        endpoint = self._endpoint
        return endpoint.answer(request), endpoint.options
