"""A server on a loopback address: in a thread of its own for tests, or in the foreground for the
command line.

Everything of a connection happens in the one event loop. What is served and how can be changed
while it runs: the endpoint is replaced as a whole between two requests.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from harness.cassettes.load import load
from harness.providers import with_provider
from harness.stream.exchange import Cassette

from .connection import Connection, HttpRequest
from .endpoint import Endpoint
from .lookup import PlacedExchange
from .options import Manner, read_manner
from .response import Answer

LOOPBACK: Final = "127.0.0.1"
STARTS_S: Final = 10.0


class Server:
    """Cassettes as a live endpoint, within ``with``: ``base_url`` is what a client is pointed at.

    ``misses`` are the requests that nobody recorded, each with the nearest recorded one and the
    differences; or ``on_miss`` is told. ``read`` makes a cassette of what is no cassette yet. The
    rest is as in `harness.server.serve`.
    """

    def __init__(
        self,
        cassettes: Sequence[Cassette | str | Path] = (),
        *,
        port: int = 0,
        host: str = LOOPBACK,
        on_miss: Callable[[str], None] | None = None,
        read: Callable[[str | Path], Cassette] = load,
        **manner: Any,
    ) -> None:
        self._manner = manner
        self._read = read
        self._host = host
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._clients: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self.base_url = ""
        self.misses: list[str] = []
        self._on_miss = on_miss or self.misses.append
        self._endpoint = Endpoint([], read_manner(**manner), self._on_miss)
        self.add(*cassettes)

    def add(self, *cassettes: Cassette | str | Path) -> None:
        """Serve these too; raises `CassetteError` for one that can't be read. Exchanges count as
        unused again.
        """
        added: list[PlacedExchange] = []
        for one in cassettes:
            cassette, name = (
                (one, "the cassette") if isinstance(one, Cassette) else (self._read(one), str(one))
            )
            added += [
                PlacedExchange(
                    exchange if exchange.generates else with_provider(exchange), name, number
                )
                for number, exchange in enumerate(cassette.exchanges, 1)
            ]
        self._endpoint = Endpoint(
            [*self._endpoint.placed, *added], self._endpoint.manner, self._on_miss
        )

    def behave(self, **manner: Any) -> None:
        """Answer in this manner from now on: ``pace``, ``cuts``, ``fault``, ``match``,
        ``provider``, ``dialect``; the rest stays.
        """
        self._manner = {**self._manner, **manner}
        self._endpoint = Endpoint(self._endpoint.placed, read_manner(**self._manner), self._on_miss)

    def clear(self, **manner: Any) -> None:
        """Serve nothing, in this manner."""
        self._manner = manner
        self.misses.clear()
        self._endpoint = Endpoint([], read_manner(**manner), self._on_miss)

    @property
    def unused(self) -> list[str]:
        """The exchanges that no request has asked for, by cassette and number."""
        return [str(one) for one in self._endpoint.finder.unused()]

    def __enter__(self) -> Server:
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run_in_thread, args=(started.set,), name="harness serve", daemon=True
        )
        self._thread.start()
        started.wait(STARTS_S)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End all connections and the server; may be called from any thread or signal handler."""
        if self._loop is None:
            self._stopped.set()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    def _run_in_thread(self, started: Callable[[], None]) -> None:
        try:
            asyncio.run(self.run(started))
        except OSError as error:
            self._failure = error
        finally:
            started()

    async def run(self, started: Callable[[], None]) -> None:
        """Serve until `stop`; ``started`` is called when clients can connect. Raises OSError if the
        address can't be had.
        """
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve_client, self._host, self._port)
        host, port = server.sockets[0].getsockname()[:2]
        self.base_url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        started()
        await self._stopped.wait()
        server.close()
        for task in self._clients:
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _serve_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None  # start_server runs this as a task
        self._clients.add(task)
        try:
            await Connection(self._answer, reader, writer).run()
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops; a stream that is open ends where it is
        finally:
            self._clients.discard(task)

    def _answer(self, asked: HttpRequest) -> tuple[Answer, Manner]:
        endpoint = self._endpoint
        return endpoint.answer(asked), endpoint.manner
