"""The transport of a recorded client: it sits where vcrpy's stub would, and hands on every read
when it comes.

httpx2 and httpx have the same shapes and share no classes, so ours are made for whichever of the
two a client is built on. A source says what becomes of a request: an answer that it has (replay),
or None, and then the real transport asks the network and a `InFlightExchange` writes down what
passes. https://www.python-httpx.org/advanced/transports/
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final, Protocol
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from harness.cassettes import Exchange, Request
from harness.stream.events import End

from .playback import played
from .tape import InFlightExchange

ENDS: Final[dict[str, End]] = {"RemoteProtocolError": "cut", "ReadError": "reset"}
"""How an answer ended, by the name of the client library's exception; any other end is the client's
own doing.
"""


class Source(Protocol):
    """Where answers come from and where takes go. ``live``: whether the network is asked at all;
    ``silence_s``: see `Tape`.
    """

    live: bool
    silence_s: float | None

    def answer(self, request: Request) -> Exchange | None:
        """A recorded answer, or None: ask the network. Raises for a request that may have
        neither.
        """

    def begin(self, request: Request | None) -> InFlightExchange: ...


class Transports:
    """The transports of one client library: ``library`` is ``httpx2`` or ``httpx``."""

    def __init__(self, library: str) -> None:
        self.http: Any = import_module(library)
        named = {"__module__": __name__}
        self.sync: Any = type(
            "SyncTransport", (_SyncTransport, self.http.BaseTransport), {**named, "http": self.http}
        )
        self.asynchronous: Any = type(
            "AsyncTransport",
            (_AsyncTransport, self.http.AsyncBaseTransport),
            {**named, "http": self.http},
        )


@lru_cache
def transports(library: str) -> Transports:
    """`Transports` of ``httpx2`` or ``httpx``, made once; raises ImportError if it is not
    installed.
    """
    return Transports(library)


class _SyncTransport:
    http: Any

    def __init__(self, source: Source) -> None:
        self.source = source
        self._inner: dict[str | None, Any] = {}
        if source.live:
            _tls(self.http)  # made now, not while the client waits for its first answer

    def handle_request(self, request: Any) -> Any:
        return handle(self.http, self.source, self._send, request)

    def _send(self, request: Any) -> Any:
        proxy = _proxy(request.url)
        if proxy not in self._inner:
            self._inner[proxy] = self.http.HTTPTransport(verify=_tls(self.http), proxy=proxy)
        return self._inner[proxy].handle_request(request)

    def close(self) -> None:
        for inner in self._inner.values():
            inner.close()


class _AsyncTransport:
    http: Any

    def __init__(self, source: Source) -> None:
        self.source = source
        self._inner: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str | None, Any]] = (
            WeakKeyDictionary()
        )  # a pool belongs to one loop
        if source.live:
            _tls(self.http)

    async def handle_async_request(self, request: Any) -> Any:
        return await handle_async(self.http, self.source, self._send, request)

    async def _send(self, request: Any) -> Any:
        inner = self._inner.setdefault(asyncio.get_running_loop(), {})
        proxy = _proxy(request.url)
        if proxy not in inner:
            inner[proxy] = self.http.AsyncHTTPTransport(verify=_tls(self.http), proxy=proxy)
        return await inner[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        for inner in self._inner.pop(asyncio.get_running_loop(), {}).values():
            await inner.aclose()


@lru_cache
def _tls(http: Any) -> Any:
    """The library's own trust, with SSL_CERT_FILE and SSL_CERT_DIR; reading certificates takes
    longer than a first answer.
    """
    return http.create_ssl_context()


def _proxy(url: Any) -> str | None:
    """The proxy that the environment names for a URL: a client that is given a transport leaves
    that to it.
    """
    if proxy_bypass(url.host):
        return None
    proxies = getproxies()
    return proxies.get(url.scheme) or proxies.get("all")


def handle(http: Any, source: Source, send: Callable[[Any], Any], request: Any) -> Any:
    """The library's response to its request: what the source has, or what ``send`` gives, whose
    stream writes down what passes.
    """
    asked = _asked(request, request.read())
    answer = source.answer(asked)
    if answer is not None:
        return played(http, answer)
    take = source.begin(asked)
    with _noting(http, source, take):
        response = send(_limited(http, source, request))
    _answered(take, response)
    response.stream = _tee(http)(response.stream, take, partial(_reason, http, source))
    return response


async def handle_async(
    http: Any, source: Source, send: Callable[[Any], Awaitable[Any]], request: Any
) -> Any:
    """`handle` for a client that awaits."""
    asked = _asked(request, await request.aread())
    answer = source.answer(asked)
    if answer is not None:
        return played(http, answer)
    take = source.begin(asked)
    with _noting(http, source, take):
        response = await send(_limited(http, source, request))
    _answered(take, response)
    response.stream = _async_tee(http)(response.stream, take, partial(_reason, http, source))
    return response


def _limited(http: Any, source: Source, request: Any) -> Any:
    """The request, that waits no longer than the source lets it; no header says so, as the client's
    own limit might.
    """
    if source.silence_s is not None:
        request.extensions = {
            **request.extensions,
            "timeout": http.Timeout(source.silence_s).as_dict(),
        }
    return request


@contextmanager
def _noting(http: Any, source: Source, take: InFlightExchange) -> Iterator[None]:
    """A request that gets no answer leaves the reason on its take."""
    try:
        yield
    except http.TransportError as error:
        take.failure = _reason(http, source, error)
        raise


def _reason(http: Any, source: Source, error: BaseException) -> str:
    """Why the network gave no more; empty where it is the client that left."""
    if not isinstance(error, http.TransportError):
        return ""
    if source.silence_s is not None and isinstance(error, http.TimeoutException):
        return f"nothing came for {source.silence_s:g} s; --timeout waits longer"
    return str(error) or type(error).__name__


def patches(library: str, source: Source) -> list[tuple[Any, str, Callable[..., Any]]]:
    """What stands in for a library's own transports while a cassette of vcrpy's is open: class,
    method, replacement.
    """
    http = transports(library).http
    send, send_async = (
        http.HTTPTransport.handle_request,
        http.AsyncHTTPTransport.handle_async_request,
    )

    def handle_request(transport: Any, request: Any) -> Any:
        return handle(http, source, partial(send, transport), request)

    async def handle_async_request(transport: Any, request: Any) -> Any:
        return await handle_async(http, source, partial(send_async, transport), request)

    return [
        (http.HTTPTransport, "handle_request", handle_request),
        (http.AsyncHTTPTransport, "handle_async_request", handle_async_request),
    ]


def _asked(request: Any, body: bytes) -> Request:
    return Request(request.method, str(request.url), _by_name(request.headers.raw), body)


def _answered(take: InFlightExchange, response: Any) -> None:
    phrase = response.extensions.get("reason_phrase", b"").decode("ascii", "replace")
    take.answered(response.status_code, _by_name(response.headers.raw), phrase)


def _by_name(raw: list[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """Headers under the first spelling of their names."""
    headers: dict[str, list[str]] = {}
    spelled: dict[bytes, str] = {}
    for name, value in raw:
        headers.setdefault(spelled.setdefault(name.lower(), name.decode("latin-1")), []).append(
            value.decode("latin-1")
        )
    return headers


def _end_of(error: BaseException) -> End:
    return next(
        (ENDS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in ENDS), "aborted"
    )


class _Tee:
    def __init__(
        self, inner: Any, take: InFlightExchange, reason: Callable[[BaseException], str]
    ) -> None:
        self.inner = inner
        self.take = take
        self.reason = reason
        self._reads: Iterator[bytes] | None = None
        if take.whole:
            take.finish = self._finish

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._taken()
        except GeneratorExit:
            if self.take.whole:
                self._finish()
            else:
                self.take.ended("aborted")
            raise

    def _taken(self) -> Iterator[bytes]:
        """The reads, written down, from where the last one left off."""
        if self._reads is None:
            self._reads = iter(self.inner)
        try:
            for data in self._reads:
                self.take.read(data)
                yield data
        except GeneratorExit:
            raise
        except BaseException as error:
            self.take.failure = self.reason(error)
            self.take.ended(_end_of(error))
            raise
        self.take.ended("complete")

    def _finish(self) -> None:
        """Read the rest for the recording alone."""
        if self.take.end is None:
            with suppress(Exception):  # how it ended is written down
                for _ in self._taken():
                    pass

    def close(self) -> None:
        if self.take.whole:
            self._finish()
        self.take.ended("aborted")
        self.inner.close()


class _AsyncTee:
    def __init__(
        self, inner: Any, take: InFlightExchange, reason: Callable[[BaseException], str]
    ) -> None:
        self.inner = inner
        self.take = take
        self.reason = reason

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self.inner:
                self.take.read(data)
                yield data
        except BaseException as error:
            self.take.failure = self.reason(error)
            self.take.ended(_end_of(error))
            raise
        self.take.ended("complete")

    async def aclose(self) -> None:
        self.take.ended("aborted")
        await self.inner.aclose()


@lru_cache
def _tee(http: Any) -> Any:
    return type("Tee", (_Tee, http.SyncByteStream), {})


@lru_cache
def _async_tee(http: Any) -> Any:
    return type("AsyncTee", (_AsyncTee, http.AsyncByteStream), {})
