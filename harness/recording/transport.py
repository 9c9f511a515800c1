"""Transports that record or answer clients on httpx2 and httpx, and forward each read when it
arrives (https://www.python-httpx.org/advanced/transports/).

The two libraries have the same interface and share no classes, so this module creates its classes
for each. A `Tape` answers a request (replay), or returns None. Then the real transport sends the
request to the network, and an `InFlightExchange` records the answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import AsyncGeneratorType
from typing import Any, Final
from urllib.request import getproxies, proxy_bypass

from harness.cassettes import Request
from harness.stream.events import End

from .playback import Player, played
from .settings import MissingLibrary
from .tape import InFlightExchange, Tape
from .user_code import is_users

ENDS: Final[dict[str, End]] = {"RemoteProtocolError": "cut", "ReadError": "reset"}
"""Name of the library's exception → the end of the answer. Any other exception means that the
client stopped.
"""


_ON_DEMAND: Final = frozenset({"link"})
"""Headers that libraries read only if the client uses their meaning."""


class Transports:
    """The classes for one client library, which is ``httpx2`` or ``httpx``."""

    def __init__(self, library: str) -> None:
        self.http: Any = import_module(library)
        http, streams = self.http, (self.http.SyncByteStream, self.http.AsyncByteStream)
        kinds = (_Transport, http.BaseTransport, http.AsyncBaseTransport)
        self.sync: Any = type("Transport", kinds, {"__module__": __name__, "classes": self})
        """Creates a transport from a `Tape`."""
        self.asynchronous: Any = self.sync
        """Creates a transport from a `Tape`."""
        self.tee: Any = type("Tee", (_Tee, *streams), {"http": http})
        """For one response, as are the next two."""
        self.player: Any = type("Player", (Player, *streams), {"http": http})
        self.headers: Any = type("Headers", (_WatchedHeaders, http.Headers), {})


def http_library() -> str:
    """Return the HTTP library that google-genai uses, by the rule of google-genai:
    GOOGLE_GENAI_HTTP_CLIENT, else httpx2, else httpx. Raises `MissingLibrary` if it is not
    installed.
    """
    wanted = os.environ.get("GOOGLE_GENAI_HTTP_CLIENT", "").lower().strip()
    if wanted not in ("httpx2", "httpx"):
        wanted = "httpx2" if find_spec("httpx2") else "httpx"
    if find_spec(wanted) is None:
        raise MissingLibrary(
            f"{wanted} is not installed, and recording needs it to call the provider; pip install"
            " 'gemini-conformance[record]'"
        )
    return wanted


@lru_cache
def transports(library: str) -> Transports:
    """Return the `Transports` of ``httpx2`` or ``httpx``, created once; raises ImportError if the
    library is not installed.
    """
    return Transports(library)


class _Transport:
    """A transport for blocking and for asyncio clients."""

    classes: Transports

    def __init__(self, source: Tape) -> None:
        self.source = source
        # A pool belongs to one loop. The pool of blocking clients belongs to no loop.
        self._pools: dict[asyncio.AbstractEventLoop | None, dict[str | None, Any]] = {}
        self._proxies = getproxies()
        if source.live:
            # slow, so done before the client waits for its first answer
            tls_context(self.classes.http)

    def handle_request(self, request: Any) -> Any:
        return handle(self.classes, self.source, self._send, request)

    async def handle_async_request(self, request: Any) -> Any:
        return await handle_async(self.classes, self.source, self._send_async, request)

    def _send(self, request: Any) -> Any:
        return self._inner(None, self.classes.http.HTTPTransport, request).handle_request(request)

    async def _send_async(self, request: Any) -> Any:
        for other in list(self._pools):
            if other and other.is_closed():  # its pool needs it, and can't be closed any more
                self._pools.pop(other, None)
        loop, kind = asyncio.get_running_loop(), self.classes.http.AsyncHTTPTransport
        return await self._inner(loop, kind, request).handle_async_request(request)

    def _inner(
        self, loop: asyncio.AbstractEventLoop | None, kind: Callable[..., Any], request: Any
    ) -> Any:
        """Return the library's own transport for a request, created by ``kind``."""
        pool = self._pools.setdefault(loop, {})
        proxy = _proxy(self._proxies, request.url)
        if proxy not in pool:
            pool[proxy] = kind(verify=tls_context(self.classes.http), proxy=proxy)
        return pool[proxy]

    def close(self) -> None:
        for inner in self._pools.pop(None, {}).values():
            inner.close()

    async def aclose(self) -> None:
        for inner in self._pools.pop(asyncio.get_running_loop(), {}).values():
            await inner.aclose()


@lru_cache
def tls_context(http: Any) -> Any:
    """Return the library's default TLS context, which reads SSL_CERT_FILE and SSL_CERT_DIR."""
    return http.create_ssl_context()


def _proxy(proxies: dict[str, str], url: Any) -> str | None:
    """Return the proxy of a URL in the environment. With a custom transport, clients do not choose
    it.
    """
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return None if proxy is None or proxy_bypass(url.host) else proxy


def handle(library: Transports, source: Tape, send: Callable[[Any], Any], request: Any) -> Any:
    """Return the library's response: the answer of the source, or the answer of the network
    (``send``), which is recorded while the client reads it.
    """
    request.read()
    asked = _request(request)
    if answer := source.answer(asked):
        return played(library, answer)
    exchange = source.begin(asked)
    with _asking(library.http, source, exchange, request):
        response = send(request)
    return _recorded(library, source, exchange, response)


async def handle_async(
    library: Transports, source: Tape, send: Callable[[Any], Awaitable[Any]], request: Any
) -> Any:
    """Do as `handle`, for an asyncio client."""
    await request.aread()
    asked = _request(request)
    if answer := source.answer(asked):
        return played(library, answer)
    exchange = source.begin(asked)
    with _asking(library.http, source, exchange, request):
        response = await send(request)
    return _recorded(library, source, exchange, response)


def _recorded(library: Transports, source: Tape, exchange: InFlightExchange, response: Any) -> Any:
    """Return the network's response, which is recorded while the client reads it."""
    phrase = response.extensions.get("reason_phrase", b"").decode("ascii", "replace")
    exchange.answered(response.status_code, headers_by_name(response.headers.raw), phrase)
    response.headers = library.headers(response.headers, exchange)
    response.stream = library.tee(response, exchange, partial(_reason, library.http, source))
    return response


@contextmanager
def _asking(http: Any, source: Tape, exchange: InFlightExchange, request: Any) -> Iterator[None]:
    """Set the source's time limit here, because a limit of the client might add a header. Records
    the reason if a request gets no answer.
    """
    if source.silence_s is not None:
        limit = http.Timeout(source.silence_s).as_dict()
        request.extensions = {**request.extensions, "timeout": limit}
    try:
        yield
    except http.TransportError as error:
        exchange.failure = _reason(http, source, error)
        raise


def _reason(http: Any, source: Tape, error: BaseException) -> str:
    """Return the reason why the network sent no more bytes; empty if the client stopped."""
    if not isinstance(error, http.TransportError):
        return ""
    if source.silence_s is not None and isinstance(error, http.TimeoutException):
        return f"no byte arrived for {source.silence_s:g} s; allow more time with --timeout"
    return str(error) or type(error).__name__


def patches(library: str, source: Tape) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return the patches of a library's transports for a vcrpy cassette: class, method,
    replacement.
    """
    ours = transports(library)
    sync, asynchronous = ours.http.HTTPTransport, ours.http.AsyncHTTPTransport
    send, send_async = sync.handle_request, asynchronous.handle_async_request

    def handle_request(transport: Any, request: Any) -> Any:
        return handle(ours, source, partial(send, transport), request)

    async def handle_async_request(transport: Any, request: Any) -> Any:
        return await handle_async(ours, source, partial(send_async, transport), request)

    return [
        (sync, "handle_request", handle_request),
        (asynchronous, "handle_async_request", handle_async_request),
    ]


def _request(request: Any) -> Request:
    headers = headers_by_name(request.headers.raw)
    return Request(request.method, str(request.url), headers, request.content)


def headers_by_name(raw: list[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Return the header names → values; names that differ only in case are joined under the first
    spelling.
    """
    headers: dict[str, list[str]] = {}
    spelled: dict[bytes, str] = {}
    for name, value in raw:
        headers.setdefault(spelled.setdefault(name.lower(), name.decode("latin-1")), []).append(
            value.decode("latin-1")
        )
    return headers


def _broken(exchange: InFlightExchange, error: BaseException) -> None:
    """Record how an error ended an answer. After the last message, `openai` continues to read for a
    moment and then closes the connection, which looks like a reset.
    """
    names = [kind.__name__ for kind in type(error).__mro__]
    end: End = next((ENDS[name] for name in names if name in ENDS), "aborted")
    if end == "cut":
        exchange.ended(end)
    else:
        exchange.left(end)


def _last_end(response: Any, exchange: InFlightExchange) -> End:
    """Return the end of an answer after its last byte: ``unknown`` if only the close of the
    connection ends it (RFC 9112, 6.3: https://www.rfc-editor.org/rfc/rfc9112.html#section-6.3).
    """
    by_itself = (
        response.extensions.get("http_version") not in (b"HTTP/1.0", b"HTTP/1.1")
        or "content-length" in response.headers
        or "chunked" in response.headers.get("transfer-encoding", "").lower()
        or response.status_code in (204, 304)
        or (exchange.request is not None and exchange.request.method == "HEAD")
    )
    return "complete" if by_itself else "unknown"


class _Tee:
    """The body of an answer, for blocking and for asyncio clients. Each read is recorded before the
    client gets it.

    It is an iterator, not a generator: an asynchronous generator that a client abandons is closed
    by a task, and its loop may have stopped before the task is created.
    """

    http: Any

    def __init__(
        self, response: Any, exchange: InFlightExchange, reason: Callable[[BaseException], str]
    ) -> None:
        self.inner = response.stream
        self.last = _last_end(response, exchange)
        self.exchange = exchange
        self.reason = reason
        self._reads: Any = None
        if exchange.whole:
            exchange.finish = self._finish

    def __iter__(self) -> Iterator[bytes]:
        self._reads = self._reads or iter(self.inner)
        return self

    def __next__(self) -> bytes:
        try:
            return self._read(next(self._reads))
        except BaseException as error:  # also a cancellation
            self._stopped(error)
            raise

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._reads = aiter(self.inner)
        return self

    async def __anext__(self) -> bytes:
        try:
            return self._read(await anext(self._reads))
        except BaseException as error:  # also a cancellation
            self._stopped(error)
            raise

    def _read(self, data: bytes) -> bytes:
        """Record a read. An answer that is too long is given up with the library's error."""
        self.exchange.read(data)
        if excess := self.exchange.excess:
            raise self.http.TransportError(excess)
        return data

    def _stopped(self, error: BaseException) -> None:
        """Record how the answer ended."""
        if isinstance(error, StopIteration | StopAsyncIteration):
            self.exchange.ended(self.last)
        else:
            self.exchange.failure = self.reason(error)
            _broken(self.exchange, error)

    def _finish(self) -> None:
        """Read the rest, only for the recording."""
        if self.exchange.end is None:
            with suppress(Exception):  # the failure is recorded
                for _ in self:
                    pass

    def close(self) -> None:
        if self.exchange.whole:
            self._finish()
        self.exchange.left()
        self.inner.close()

    async def aclose(self) -> None:
        self.exchange.left()
        if isinstance(self._reads, AsyncGeneratorType) and not self._reads.ag_running:
            await self._reads.aclose()
        await self.inner.aclose()


class _WatchedHeaders:
    """Response headers that store the names of those that the client reads, because a recording
    without these headers can't be replayed. Libraries read many headers that they do not need; only
    their subscripts count.
    """

    def __init__(self, headers: Any, exchange: InFlightExchange) -> None:
        super().__init__(headers.raw)  # type: ignore[call-arg]  # the library's class follows
        self._exchange = exchange

    def __getitem__(self, name: str) -> str:
        self._exchange.asked_headers.add(name.lower())
        value: str = super().__getitem__(name)  # type: ignore[misc]  # of the library's class
        return value

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        has = super().__contains__(name)  # type: ignore[misc]  # of the library's class
        return super().__getitem__(name) if has else default  # type: ignore[misc]  # of the library's class

    def get_list(self, name: str, split_commas: bool = False) -> list[str]:
        self._note(name)
        values: list[str] = super().get_list(name, split_commas)  # type: ignore[misc]  # of the library's class
        return values

    def __contains__(self, name: str) -> bool:
        self._note(name)
        return bool(super().__contains__(name))  # type: ignore[misc]  # of the library's class

    def _note(self, name: str) -> None:
        if name.lower() in _ON_DEMAND or is_users(sys._getframe(2).f_code.co_filename):
            self._exchange.asked_headers.add(name.lower())
