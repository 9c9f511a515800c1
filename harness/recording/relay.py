"""The loopback relay: what stands in for our transport where a client has none of Python's:
aiohttp, and programs in any language.

A client is given the relay's URL as its base URL and speaks plain HTTP with it; the relay asks the
provider over https, through the same transport that a Python client is recorded with, and hands on
every read as a piece of its own. A cut or reset answer is cut or reset for the client as well, and
a client that leaves is recorded as one. Over a `Playback` it answers from the cassette, with
nothing but h11.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import h11

from harness.cassettes import Exchange, Request
from harness.pipeline.replay import ReplayError

from .endpoints import Upstream, upstream_by_path
from .transport import Source, headers_by_name, http_library, transports

_HOP_BY_HOP: Final = frozenset(
    [
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    ]
)
"""Headers of one connection, not of the message (RFC 9110, 7.6.1)."""
_READ: Final = 1 << 16
_RESET: Final = struct.pack("ii", 1, 0)


@contextmanager
def relay(source: Source, upstream: str | Upstream | None = None) -> Iterator[str]:
    """The base URL of a relay that runs for the time of the block, on a thread of its own.

    ``upstream``: the provider's base URL, or what tells it from a request's path (default:
    `upstream_by_path`).
    """
    found = (
        (lambda _: upstream.rstrip("/"))
        if isinstance(upstream, str)
        else upstream or upstream_by_path()
    )
    made = _Relay(source, found)
    listening = socket.create_server(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=loop.run_until_complete,
        args=(made.run(listening),),
        name="harness-relay",
        daemon=True,
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(made.over.set)
        thread.join()
        loop.close()


class _Relay:
    def __init__(self, source: Source, upstream: Upstream) -> None:
        self.source = source
        self.upstream = upstream
        self.http: Any = None
        self.transport: Any = None
        if source.live:
            self._connect()
        self.over = asyncio.Event()
        self.clients: set[asyncio.Task[None]] = set()

    def _connect(self) -> None:
        """What asks the network; made when something is asked of it, for a replay needs no library
        of HTTP.
        """
        if self.transport is None:
            made = transports(http_library())
            self.http, self.transport = made.http, made.asynchronous(self.source)

    async def run(self, listening: socket.socket) -> None:
        server = await asyncio.start_server(self._client, sock=listening)
        await self.over.wait()
        server.close()
        for task in self.clients:
            task.cancel()
        await asyncio.gather(*self.clients, return_exceptions=True)
        if self.transport is not None:
            await self.transport.aclose()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.clients.add(task)
        try:
            wire = h11.Connection(h11.SERVER)
            while await self._exchange(wire, reader, writer):
                wire.start_next_cycle()
        except (h11.RemoteProtocolError, ConnectionError, asyncio.CancelledError):
            pass  # no client to answer any more
        finally:
            self.clients.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(
        self, wire: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """One request and its answer; whether the connection can take another."""
        asked = await _read_request(wire, reader)
        if asked is None:
            return False
        head, body = asked
        target = head.target.decode("ascii")
        kept = [
            (name, value)
            for name, value in head.headers.raw_items()
            if name.lower() not in _HOP_BY_HOP | {b"host"}
        ]
        method, url = head.method.decode(), self.upstream(target) + target
        try:
            answer = (
                None
                if self.source.live
                else self.source.answer(Request(method, url, headers_by_name(kept), body))
            )
            if answer is None:
                self._connect()
        except ReplayError as error:
            told = json.dumps(
                {"error": {"code": 404, "message": str(error), "status": "NOT_FOUND"}}
            ).encode()
            answer = Exchange(
                None,
                404,
                {"Content-Type": ["application/json"]},
                ((None, told),),
                "complete",
                "Not Found",
            )
        if answer is not None:
            return await _play(answer, wire, writer)
        gone = asyncio.ensure_future(_gone(wire, reader))
        try:
            request = self.http.Request(method, url, headers=kept, content=body)
            response = await _unless(gone, self.transport.handle_async_request(request))
            return await self._answer(wire, response, writer, gone)
        except self.http.TransportError:
            _reset(writer)
            return False
        finally:
            await _cancel(gone)

    async def _answer(
        self,
        wire: h11.Connection,
        response: Any,
        writer: asyncio.StreamWriter,
        gone: asyncio.Future[None],
    ) -> bool:
        headers = [
            (name, value) for name, value in response.headers.raw if name.lower() not in _HOP_BY_HOP
        ]
        reason = response.extensions.get("reason_phrase", b"")
        _send(
            writer,
            wire.send(
                h11.Response(status_code=response.status_code, headers=headers, reason=reason)
            ),
        )
        await writer.drain()
        try:
            await _unless(gone, _pump(response.stream, wire, writer))
        except self.http.ReadError:
            _reset(writer)
            return False
        except self.http.TransportError:
            return False  # closed before its end, as it was upstream
        finally:
            await response.aclose()
        _send(writer, wire.send(h11.EndOfMessage()))
        await writer.drain()
        return wire.our_state is h11.DONE and wire.their_state is h11.DONE


async def _play(answer: Exchange, wire: h11.Connection, writer: asyncio.StreamWriter) -> bool:
    """A recorded answer, at once, then its recorded end; whether the connection can take
    another.
    """
    named = [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, values in answer.headers.items()
        for value in values
    ]
    headers = [(name, value) for name, value in named if name.lower() not in _HOP_BY_HOP]
    reason = answer.reason_phrase.encode("ascii", "replace")
    _send(
        writer, wire.send(h11.Response(status_code=answer.status, headers=headers, reason=reason))
    )
    for _, data in answer.reads:
        _send(writer, wire.send(h11.Data(data=data)))
        await writer.drain()
    if answer.end in ("reset", "aborted"):
        _reset(writer)
    if answer.end in ("cut", "reset", "aborted"):
        return False
    _send(writer, wire.send(h11.EndOfMessage()))
    await writer.drain()
    return wire.our_state is h11.DONE and wire.their_state is h11.DONE


async def _read_request(
    wire: h11.Connection, reader: asyncio.StreamReader
) -> tuple[h11.Request, bytes] | None:
    head: h11.Request | None = None
    body = b""
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            wire.receive_data(await reader.read(_READ))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return head, body
        else:
            return None


async def _pump(
    stream: AsyncIterator[bytes], wire: h11.Connection, writer: asyncio.StreamWriter
) -> None:
    async for data in stream:
        _send(writer, wire.send(h11.Data(data=data)))
        await writer.drain()


async def _unless(gone: asyncio.Future[None], work: Coroutine[Any, Any, Any]) -> Any:
    """What ``work`` gives; if the client leaves first, the work is cancelled and
    ConnectionResetError raised.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ConnectionResetError("the client has left")
    finally:
        await _cancel(task)


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _gone(wire: h11.Connection, reader: asyncio.StreamReader) -> None:
    """Returns when the client has closed its side; what it sends until then is its next request."""
    while data := await reader.read(_READ):
        wire.receive_data(data)


def _send(writer: asyncio.StreamWriter, data: bytes | None) -> None:
    if data:
        writer.write(data)


def _reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
