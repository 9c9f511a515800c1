"""The client: sends Requests over HTTP, once more where that may help, and gives stream events or
the whole Response.

Two of them, alike but for ``await``. What is sent and what becomes of the bytes is `calling`'s;
here are connection, time and retries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from harness.stream.events import End
from harness.stream.session import Session

from .call import Call, Caller, Payload, Reading
from .errors import ConfigurationError, NetworkError, RequestTimeoutError, SDKError, error_of
from .response import Response
from .retry import RetryPolicy
from .tool_loop import after_tools, executable, run, run_async

try:
    import httpx2
except ImportError as error:
    raise ImportError(
        "the client needs httpx2: pip install 'gemini-conformance[clients]'"
    ) from error

Result = TypeVar("Result")

ENDS: Final[tuple[tuple[type[Exception], End], ...]] = (
    (httpx2.RemoteProtocolError, "cut"),
    (httpx2.TimeoutException, "aborted"),
    (httpx2.RequestError, "reset"),
)
"""What stops an answer halfway → how it ended; the first that fits."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: until there is a connection, until a whole answer comes, between two reads of a
    stream.
    """

    connect: float = 10.0
    request: float = 120.0
    stream_read: float = 30.0

    def of(self, stream: bool) -> httpx2.Timeout:
        """For one call."""
        return httpx2.Timeout(
            self.request, connect=self.connect, read=self.stream_read if stream else self.request
        )


class Client:
    """A synchronous client; use it in ``with``, or `close` it.

    ``api_key``: else GEMINI_API_KEY or GOOGLE_API_KEY; it goes into a header, never into the URL.
    ``base_url``: else GEMINI_BASE_URL, else the provider's. ``provider``: ``gemini-api``,
    ``vertex-ai`` or ``code-assist`` (whose key is an access token). ``session`` remembers ids and
    signatures of earlier answers. ``sleep`` takes seconds. ``transport`` is httpx2's.

    A call raises `TranslationError` for a Request that is wrong, before anything is sent, and an
    `SDKError` for what goes wrong then.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        provider: str = "gemini-api",
        session: Session | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._caller = Caller(api_key, base_url, provider, session)
        self._retry = retry or RetryPolicy()
        self._timeouts = timeouts or Timeouts()
        self._sleep = sleep
        self._http = httpx2.Client(transport=transport)

    def complete(self, request: Mapping[str, Any]) -> Response:
        """The whole answer."""
        call = self._caller.prepare(request, stream=False)
        return self._retrying(
            lambda: _whole(list(self._events(call, self._timeouts.of(stream=False))))
        )

    def stream(self, request: Mapping[str, Any]) -> Generator[Payload]:
        """The stream events as they come. What goes wrong before the first one raises, after trying
        again; later it is an ERROR event.
        """
        return self._stream(self._caller.prepare(request, stream=True))

    def generate(self, request: Mapping[str, Any], *, max_tool_rounds: int = 1) -> Response:
        """The answer after the tools that it called have been run and their results sent, up to
        ``max_tool_rounds`` times.

        A tool has an ``execute(arguments)``; where none of them has one, the first answer is
        returned with its calls. The answers before are the Response's ``steps``.
        """
        steps, tools = [self.complete(request)], executable(request)
        while tools and steps[-1].tool_calls and len(steps) <= max_tool_rounds:
            request = after_tools(request, steps[-1], run(tools, steps[-1]))
            steps.append(self.complete(request))
        return Response(steps[-1], steps[:-1])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _stream(self, call: Call) -> Generator[Payload]:
        def begin() -> tuple[Payload, Generator[Payload]]:
            events = self._events(call, self._timeouts.of(stream=True))
            return _begun(next(events)), events

        first, events = self._retrying(begin)
        with closing(events):
            yield first
            yield from events

    def _events(self, call: Call, timeout: httpx2.Timeout) -> Generator[Payload]:
        """One try: the events of its answer."""
        end: End = "complete"
        try:
            with self._http.stream(
                "POST", call.url, headers=call.headers, content=call.content, timeout=timeout
            ) as answer:
                reading = call.reading(answer.status_code, answer.headers)
                try:
                    for data in answer.iter_bytes():
                        yield from reading.feed(data)
                except httpx2.RequestError as error:
                    end = _end(error, reading)
                yield from reading.close(end)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _unsent(error) from error

    def _retrying(self, attempt: Callable[[], Result]) -> Result:
        retries = 0
        while True:
            try:
                return attempt()
            except SDKError as error:
                seconds = self._retry.wait(error, retries)
                if seconds is None:
                    raise
            self._sleep(seconds)
            retries += 1


class AsyncClient:
    """`Client` for asyncio: use it in ``async with``; ``sleep`` is awaited, ``transport`` is an
    asynchronous one.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        provider: str = "gemini-api",
        session: Session | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._caller = Caller(api_key, base_url, provider, session)
        self._retry = retry or RetryPolicy()
        self._timeouts = timeouts or Timeouts()
        self._sleep = sleep
        self._http = httpx2.AsyncClient(transport=transport)

    async def complete(self, request: Mapping[str, Any]) -> Response:
        """As `Client.complete`."""
        call = self._caller.prepare(request, stream=False)

        async def attempt() -> Response:
            return _whole(
                [event async for event in self._events(call, self._timeouts.of(stream=False))]
            )

        return await self._retrying(attempt)

    def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[Payload]:
        """As `Client.stream`."""
        return self._stream(self._caller.prepare(request, stream=True))

    async def generate(self, request: Mapping[str, Any], *, max_tool_rounds: int = 1) -> Response:
        """As `Client.generate`; an ``execute`` may be a coroutine function, one that is not runs in
        a thread.
        """
        steps, tools = [await self.complete(request)], executable(request)
        while tools and steps[-1].tool_calls and len(steps) <= max_tool_rounds:
            request = after_tools(request, steps[-1], await run_async(tools, steps[-1]))
            steps.append(await self.complete(request))
        return Response(steps[-1], steps[:-1])

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _stream(self, call: Call) -> AsyncGenerator[Payload]:
        async def begin() -> tuple[Payload, AsyncGenerator[Payload]]:
            events = self._events(call, self._timeouts.of(stream=True))
            return _begun(await anext(events)), events

        first, events = await self._retrying(begin)
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    async def _events(self, call: Call, timeout: httpx2.Timeout) -> AsyncGenerator[Payload]:
        """One try: the events of its answer."""
        end: End = "complete"
        try:
            async with self._http.stream(
                "POST", call.url, headers=call.headers, content=call.content, timeout=timeout
            ) as answer:
                reading = call.reading(answer.status_code, answer.headers)
                try:
                    async for data in answer.aiter_bytes():
                        for event in reading.feed(data):
                            yield event
                except httpx2.RequestError as error:
                    end = _end(error, reading)
                for event in reading.close(end):
                    yield event
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _unsent(error) from error

    async def _retrying(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        retries = 0
        while True:
            try:
                return await attempt()
            except SDKError as error:
                seconds = self._retry.wait(error, retries)
                if seconds is None:
                    raise
            await self._sleep(seconds)
            retries += 1


def _begun(first: Payload) -> Payload:
    """The first event of a stream; an error raises."""
    if first["type"] == "ERROR":
        raise error_of(first)
    return first


def _whole(events: list[Payload]) -> Response:
    """The Response of a whole answer; an error raises."""
    return Response(_begun(events[-1])["response"])


def _end(error: httpx2.RequestError, reading: Reading) -> End:
    """How an answer ended that stopped halfway; one that never began was too late, which another
    try will not mend.
    """
    if isinstance(error, httpx2.TimeoutException) and not reading.begun:
        raise error
    return next(end for kind, end in ENDS if isinstance(error, kind))


def _unsent(error: Exception) -> SDKError:
    """What kept a call from being answered."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, httpx2.TimeoutException):
        return RequestTimeoutError(text, cause=error)
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ConfigurationError(text, cause=error)
    return NetworkError(text, cause=error)
