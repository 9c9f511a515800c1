"""The two clients: `Client` blocks, `AsyncClient` is for asyncio.

`_Calls` holds the logic of both, as coroutines over the few operations that wait (`_Backend`).
`Client` passes blocking operations and runs the coroutines with `coroutines`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self, TypeVar

from harness.stream.events import End
from harness.stream.generation import ToolOutcome
from harness.stream.session import Session

from . import coroutines
from .call import AnswerReading, Payload, PreparedCall, Preparer
from .errors import ConfigurationError, NetworkError, RequestTimeoutError, SDKError, error_of
from .response import Response
from .retry import RetryPolicy
from .tool_loop import Tools, after_tools, executable, run_tools, run_tools_blocking

try:
    import httpx2
except ImportError as error:
    raise ImportError(
        "the client needs httpx2: pip install 'gemini-conformance[clients]'"
    ) from error

T = TypeVar("T")
HttpAnswer = tuple[httpx2.Response, AsyncIterator[bytes]]
"""The HTTP response, and the pieces of its body as they arrive."""

ENDS: Final[tuple[tuple[type[Exception], End], ...]] = (
    (httpx2.RemoteProtocolError, "cut"),
    (httpx2.TimeoutException, "aborted"),
    (httpx2.RequestError, "reset"),
)
"""An exception in the middle of an answer → the end of the answer; the first match is used."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits in seconds."""

    connect: float = 10.0
    """Until there is a connection."""
    request: float = 120.0
    """Until a whole answer has arrived."""
    stream_read: float = 30.0
    """Between two reads of a stream."""

    def of(self, stream: bool) -> httpx2.Timeout:
        """Return the time limits of one call."""
        return httpx2.Timeout(
            self.request, connect=self.connect, read=self.stream_read if stream else self.request
        )


@dataclass(frozen=True, slots=True)
class _Backend:
    """The operations that wait: they block in `Client` and suspend in `AsyncClient`."""

    post: Callable[[PreparedCall, httpx2.Timeout], AbstractAsyncContextManager[HttpAnswer]]
    sleep: Callable[[float], Awaitable[None]]
    run_tools: Callable[[Tools, Response], Awaitable[list[ToolOutcome]]]


class _Calls:
    """The calls of both clients, with retries; `Client` documents them."""

    def __init__(
        self,
        preparer: Preparer,
        retry: RetryPolicy | None,
        timeouts: Timeouts | None,
        backend: _Backend,
    ) -> None:
        self._prepare = preparer.prepare
        self._retry = retry or RetryPolicy()
        self._timeouts = timeouts or Timeouts()
        self._backend = backend

    async def complete(self, request: Mapping[str, Any]) -> Response:
        """Do as `Client.complete`."""
        call = self._prepare(request, stream=False)

        async def attempt() -> Response:
            events = self._events(call, self._timeouts.of(stream=False))
            *_, last = [event async for event in events]
            if last["type"] == "ERROR":
                raise error_of(last, call.provider.vendor)
            return Response(last["response"], asked=request["messages"])

        return await self._with_retries(attempt)

    async def generate(self, request: Mapping[str, Any], *, max_tool_rounds: int = 1) -> Response:
        """Do as `Client.generate`."""
        steps, tools = [await self.complete(request)], executable(request)
        while tools and steps[-1].tool_calls and len(steps) <= max_tool_rounds:
            outcomes = await self._backend.run_tools(tools, steps[-1])
            request = after_tools(request, steps[-1], outcomes)
            steps.append(await self.complete(request))
        return Response(steps[-1], steps[:-1], request["messages"])

    def stream(self, request: Mapping[str, Any]) -> AsyncGenerator[Payload]:
        """Do as `Client.stream`. A wrong Request raises here, before the first event is
        requested.
        """
        return self._stream(self._prepare(request, stream=True))

    async def _stream(self, call: PreparedCall) -> AsyncGenerator[Payload]:
        async def begin() -> tuple[Payload, AsyncGenerator[Payload]]:
            events = self._events(call, self._timeouts.of(stream=True))
            first = await anext(events)
            if first["type"] == "ERROR":
                await events.aclose()
                raise error_of(first, call.provider.vendor)
            return first, events

        first, events = await self._with_retries(begin)
        async with aclosing(events):
            yield first
            async for event in events:
                yield event

    async def _events(self, call: PreparedCall, timeout: httpx2.Timeout) -> AsyncGenerator[Payload]:
        end: End = "complete"
        try:
            async with self._backend.post(call, timeout) as (answer, body):
                reading = call.reading(answer.status_code, answer.headers)
                try:
                    async for data in body:
                        for event in reading.feed(data):
                            yield event
                except httpx2.RequestError as error:
                    end = _end(error, reading)
                for event in reading.close(end):
                    yield event
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise _unanswered(error) from error

    async def _with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
        retries = 0
        while True:
            try:
                return await attempt()
            except SDKError as error:
                seconds = self._retry.wait(error, retries)
                if seconds is None:
                    raise
            await self._backend.sleep(seconds)
            retries += 1


class Client:
    """The blocking client; use it in ``with``, or `close` it.

    ``provider``: the wire that is asked. None: the vendor before the name of a model decides, for
    each Request (``gemini:NAME``, ``anthropic:NAME``, ``openai:NAME``). ``api_key``: default the
    environment variables of the provider, such as GEMINI_API_KEY or GOOGLE_API_KEY. It is sent in a
    header, never in the URL; for ``code-assist`` it is an access token. ``base_url``: default
    GEMINI_BASE_URL, or the variable of the provider's own clients, then the provider's. ``session``
    holds ids and signatures of earlier answers. ``sleep`` takes seconds. ``transport`` is httpx2's.

    Every call raises `TranslationError` for a wrong Request, before anything is sent, and an
    `SDKError` for a failure after that.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        provider: str | None = "gemini-api",
        session: Session | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        async def wait(seconds: float) -> None:
            sleep(seconds)

        preparer = Preparer(api_key, base_url, provider, session)
        self._http = httpx2.Client(transport=transport)
        backend = _Backend(partial(_post_blocking, self._http), wait, run_tools_blocking)
        self._calls = _Calls(preparer, retry, timeouts, backend)

    def complete(self, request: Mapping[str, Any]) -> Response:
        """Return the whole answer."""
        return coroutines.run(self._calls.complete(request))

    def stream(self, request: Mapping[str, Any]) -> Generator[Payload]:
        """Return the stream events as they arrive.

        A failure before the first event raises, after the retries. A later one is an ERROR event.
        """
        return coroutines.iterate(self._calls.stream(request))

    def generate(self, request: Mapping[str, Any], *, max_tool_rounds: int = 1) -> Response:
        """Return the answer after its tool calls were run and their results sent, at most
        ``max_tool_rounds`` times.

        A tool runs by its ``execute(arguments)``, which may be a coroutine function; any other runs
        in a thread. If no tool has an ``execute``, the first answer is returned with its calls. The
        answers before the last are in the Response's ``steps``.
        """
        return coroutines.run(self._calls.generate(request, max_tool_rounds=max_tool_rounds))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(_Calls):
    """`Client` for asyncio: use it in ``async with``, or await `aclose`.

    ``sleep`` is awaited. ``transport`` is an asynchronous one.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        provider: str | None = "gemini-api",
        session: Session | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        preparer = Preparer(api_key, base_url, provider, session)
        self._http = httpx2.AsyncClient(transport=transport)
        backend = _Backend(partial(_post, self._http), sleep, run_tools)
        super().__init__(preparer, retry, timeouts, backend)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


@asynccontextmanager
async def _post_blocking(
    http: httpx2.Client, call: PreparedCall, timeout: httpx2.Timeout
) -> AsyncGenerator[HttpAnswer]:
    async def pieces() -> AsyncGenerator[bytes]:
        for data in answer.iter_bytes():
            yield data

    with http.stream(
        "POST", call.url, headers=call.headers, content=call.content, timeout=timeout
    ) as answer:
        yield answer, pieces()


@asynccontextmanager
async def _post(
    http: httpx2.AsyncClient, call: PreparedCall, timeout: httpx2.Timeout
) -> AsyncGenerator[HttpAnswer]:
    async with http.stream(
        "POST", call.url, headers=call.headers, content=call.content, timeout=timeout
    ) as answer:
        yield answer, answer.aiter_bytes()


def _end(error: httpx2.RequestError, reading: AnswerReading) -> End:
    """Return how an interrupted answer ended. A timeout before the first event raises an exception,
    because there is no answer.
    """
    if isinstance(error, httpx2.TimeoutException) and not reading.begun:
        raise error
    return next(end for kind, end in ENDS if isinstance(error, kind))


def _unanswered(error: Exception) -> SDKError:
    """Return the exception for a call without an answer."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, httpx2.TimeoutException):
        return RequestTimeoutError(text, cause=error)
    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        return ConfigurationError(text, cause=error)
    return NetworkError(text, cause=error)
