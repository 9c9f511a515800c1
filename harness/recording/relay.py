"""A loopback relay that records or answers clients that can't use our transports, such as aiohttp
and programs in other languages.

A client uses the relay's URL as its base URL, over plain HTTP. The relay sends the request to the
provider over https, with the same transport that records Python clients, and forwards each read
when it arrives. If the answer is cut or reset, so is the client's connection. If the client
disconnects, the exchange is recorded as aborted. A `Playback` answers without a Python HTTP
library.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import h11

from harness.cassettes import Request
from harness.pipeline.replay import ReplayError
from harness.server.certificate import FILE, make_certificate
from harness.server.connection import Connection, HttpRequest
from harness.server.listener import LOOPBACK, Listener
from harness.server.options import Options
from harness.server.response import CROSS_ORIGIN, HOP_BY_HOP, made_answer, moved, recorded_answer
from harness.server.session import is_upgrade
from harness.stream.websocket import SWITCHED

from .cassette import Playback
from .endpoints import Upstream, upstream_by_path
from .sessions import pass_session, play_session, session_url
from .tape import CLIENT_LEFT, Tape
from .transport import headers_by_name, http_library, tls_context, transports

_READ: Final = 1 << 16
_AT_ONCE: Final = Options(pace="instant")


@contextmanager
def relay(
    source: Tape,
    upstream: str | Upstream | None = None,
    *,
    allowed_hosts: Collection[str] = (),
) -> Iterator[str]:
    """Yield the base URL of a relay that runs in a separate thread during the block.

    ``upstream``: the provider's base URL, or a function from request path to base URL (default:
    `upstream_by_path`). ``allowed_hosts``: names of this machine that clients may use, besides the
    loopback names.
    """
    with _Relay(source, _route(upstream), allowed_hosts) as running:
        yield running.base_url


@contextmanager
def session_relay(
    source: Tape,
    upstream: str | Upstream | None = None,
    *,
    allowed_hosts: Collection[str] = (),
) -> Iterator[tuple[str, Path]]:
    """Yield the base URL of a relay with TLS, which most clients of sessions need, and the file of
    the certificate that they must trust. Arguments as in `relay`. Raises `ReplayError` if the extra
    ``live`` is not installed.
    """
    context, folder = make_certificate(LOOPBACK)
    with folder, _Relay(source, _route(upstream), allowed_hosts, context) as running:
        yield running.base_url, Path(folder.name) / FILE


def _route(upstream: str | Upstream | None) -> Upstream:
    """Return the function from request path to base URL."""
    if isinstance(upstream, str):
        base_url = upstream.rstrip("/")
        return lambda _: base_url
    return upstream or upstream_by_path()


class _Relay(Listener):
    def __init__(
        self,
        source: Tape,
        route: Upstream,
        allowed_hosts: Collection[str],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(allowed_hosts=allowed_hosts, tls=tls)
        self.source = source
        self.route = route
        self.http: Any = None
        self.transport: Any = None
        if source.live:
            self.connect()

    def connect(self) -> None:
        """Create the transport to the provider. A playback needs neither the transport nor its
        library.
        """
        if self.transport is None:
            library = transports(http_library())
            self.http, self.transport = library.http, library.asynchronous(self.source)

    def note(self, difference: str) -> None:
        """Note a difference between the client and the recorded one, which is a fault of a test."""
        if isinstance(self.source, Playback):
            self.source.unknown.append(difference)

    async def run(self, started: Callable[[], None]) -> None:
        await super().run(started)
        if self.transport is not None:
            await self.transport.aclose()

    async def serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await _RelayConnection(self, reader, writer).run()


class _RelayConnection(Connection):
    idle_s = None  # a client in a debugger may wait for a long time
    origin_form = True

    def __init__(
        self, relay: _Relay, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__(reader, writer, relay.callers)
        self._relay = relay

    async def respond(self, request: HttpRequest) -> None:
        relay = self._relay
        target = request.url.removeprefix("http://localhost")
        # The relay already has the body, so it does not ask the provider whether to send one.
        headers = _end_to_end(request.headers, {"host", "expect"})
        url = relay.route(target) + target
        if is_upgrade(request):
            url = session_url(url)
        if not relay.source.live:
            try:
                exchange = relay.source.answer(
                    Request(request.method, url, headers_by_name(headers), request.body)
                )
            except ReplayError as error:
                # The rest of the message describes the nearest recorded request; `Playback.unknown`
                # keeps it.
                message = str(error).partition("\n")[0]
                error_body = {"code": 404, "message": message, "status": "NOT_FOUND"}
                await self.send(made_answer(404, {"error": error_body}), _AT_ONCE, 0.0)
                return
            if exchange is not None and exchange.status == SWITCHED:
                await play_session(self, request, exchange, relay.note)
                return
            if exchange is not None:
                if exchange.end == "aborted":
                    exchange = replace(exchange, end="reset")
                answer = recorded_answer(exchange, _AT_ONCE)
                asked = exchange.request.url if exchange.request else url
                headers_here = moved(answer.headers, relay.base_url, _origin(asked))
                await self.send(replace(answer, headers=headers_here), _AT_ONCE, 0.0)
                return
        relay.connect()
        if is_upgrade(request):
            upgrade = Request(request.method, url, headers_by_name(headers), b"")
            await pass_session(self, request, upgrade, relay.source, tls_context(relay.http))
            return
        sent = relay.http.Request(request.method, url, headers=headers, content=request.body)
        try:
            await _unless(self._until_left(), self._pass_on(sent, _origin(url)))
        except relay.http.TransportError as error:
            # For other errors, the connection closes before the end of the answer, as it did
            # upstream.
            if isinstance(error, relay.http.ReadError) or self.wire.our_state is h11.SEND_RESPONSE:
                self.reset()

    async def _pass_on(self, request: Any, origin: str) -> None:
        """Send the request to the provider, and forward its answer while it arrives."""
        response = await self._relay.transport.handle_async_request(request)
        raw = _end_to_end(response.headers.raw)
        named = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
        here = moved(named, self._relay.base_url, origin)
        head = h11.Response(
            status_code=response.status_code,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in here],
            reason=response.extensions.get("reason_phrase", b""),
        )
        try:
            self.write(head)
            await self.flush()
            async for data in response.stream:
                self.write(h11.Data(data=data))
                await self.flush()
        except asyncio.CancelledError:  # the client has left
            response.stream.exchange.failure = CLIENT_LEFT
            raise
        finally:
            await response.aclose()
        self.write(h11.EndOfMessage())
        await self.flush()

    async def _until_left(self) -> None:
        """Return when the client has closed its side; other bytes belong to its next request."""
        while data := await self.reader.read(_READ):
            self.wire.receive_data(data)


def _origin(url: str) -> str:
    """Return ``https://host`` of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _end_to_end(
    headers: Any, dropped: frozenset[str] | set[str] = frozenset()
) -> list[tuple[bytes, bytes]]:
    """Return the headers without those of one connection (RFC 9110, 7.6.1) and those that allow a
    web page to read the answer.
    """
    left_out = HOP_BY_HOP | dropped
    return [
        (name, value)
        for name, value in headers
        if (lower := name.decode("latin-1").lower()) not in left_out
        and not lower.startswith(CROSS_ORIGIN)
    ]


async def _unless(left: Coroutine[Any, Any, None], work: Coroutine[Any, Any, None]) -> None:
    """Do ``work``. If the client leaves first, cancel it and raise ConnectionResetError."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(left)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not tasks[0].done():
            raise ConnectionResetError("the client has left")
        tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
