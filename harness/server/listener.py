"""Listens on an address and serves each connection, in a separate thread or in the caller's loop.

One event loop handles all connections.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Collection
from typing import Final, Self

from .callers import Callers

LOOPBACK: Final = "127.0.0.1"
_STARTS_S: Final = 10.0


class Listener:
    """Serves connections inside a ``with`` block. Subclasses implement `serve_connection`.

    ``allowed_hosts``: names that clients may use besides the loopback names. ``tls``: the context
    of a server with TLS.
    """

    def __init__(
        self,
        host: str = LOOPBACK,
        port: int = 0,
        allowed_hosts: Collection[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self.base_url = ""
        """The address for clients."""
        self.callers = Callers(host, allowed_hosts)
        """Decides which clients are allowed."""
        self._host = host
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._clients: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    async def serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one client; when this returns, its connection is closed."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._run_in_thread, args=(started.set,), name="harness-listener", daemon=True
        )
        self._thread.start()
        started.wait(_STARTS_S)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def stop(self) -> None:
        """End all connections and the listener; any thread or signal handler may call this."""
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
        address is not available.
        """
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(
            self._serve_client, self._host, self._port, ssl=self._tls
        )
        host, port = server.sockets[0].getsockname()[:2]
        scheme = "http" if self._tls is None else "https"
        name = f"[{host}]" if ":" in host else host
        self.base_url = f"{scheme}://{name}:{port}"
        started()
        await self._stopped.wait()
        await asyncio.sleep(0)  # asyncio raises if it closes while it accepts a connection
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
            await self.serve_connection(reader, writer)
            writer.close()
        except asyncio.CancelledError:
            writer.transport.abort()  # the listener stops and breaks open streams
        finally:
            self._clients.discard(task)
