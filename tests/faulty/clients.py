"""Faults of unified-llm clients that only a running client shows.

The Go code and its siblings had them. Each is our client with one changed piece. The cases under
``specs/unified-llm`` with an expectation for ``unified-llm-client`` judge its requests, its waits
and its results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import httpx2

from harness.adapters import Adapter
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.systems.unified_llm import (
    Client,
    ContextLengthError,
    NetworkError,
    ProviderError,
    RequestTimeoutError,
    RetryPolicy,
    SDKError,
    StreamError,
)
from harness.systems.unified_llm.adapter import adapt as adapt_client
from harness.systems.unified_llm.call import Payload

from .faults import CASSETTE, Fault, file_fault

MakeClient = Callable[..., Client]


@dataclass(frozen=True, slots=True)
class ClientFault(Fault):
    """A client with one fault; ``make`` has the parameters of our client."""

    make: MakeClient = Client
    column: ClassVar = "unified-llm-client"
    """The column of its cells."""

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        adapt = partial(adapt_client, client=self.make)
        return make_client_adapter(CLIENTS[self.column], CASSETTE, adapt)


CLIENT_FAULTS: dict[str, ClientFault] = {}


def faulty(make: MakeClient) -> MakeClient:
    file_fault(CLIENT_FAULTS, "unified-llm", make, partial(ClientFault, make=make))
    return make


class KeyInTheUrl(httpx2.BaseTransport):
    """Moves the key of a request from its header into its URL."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        carriers = ("x-goog-api-key", "x-api-key", "authorization")
        header = next(name for name in carriers if name in request.headers)
        url = request.url.copy_merge_params({"key": request.headers.pop(header)})
        return self.inner.handle_request(
            httpx2.Request(request.method, url, headers=request.headers, stream=request.stream)
        )

    def close(self) -> None:
        self.inner.close()


@faulty
def key_in_the_url(*arguments: Any, **named: Any) -> Client:
    """The key is a parameter of the URL, so proxies write it into their logs (siblings in Python
    and TypeScript).
    """
    return Client(*arguments, **{**named, "transport": KeyInTheUrl(named["transport"])})


@faulty
class NoStreamAtAll(Client):
    """A stream waits for the whole answer, and then gives it in one piece (the Go code)."""

    def stream(self, request: Mapping[str, Any]) -> Generator[Payload]:
        response = self.complete(request)
        yield {"type": "STREAM_START"}
        yield {"type": "TEXT_DELTA", "delta": response.text, "text_id": "text_1"}
        yield {
            "type": "FINISH",
            "finish_reason": response["finish_reason"],
            "response": dict(response),
        }


@faulty
class ErrorsOfStreamsSwallowed(Client):
    """An error ends a stream with an empty answer that looks whole (the Go code)."""

    def stream(self, request: Mapping[str, Any]) -> Generator[Payload]:
        empty = {"type": "FINISH", "finish_reason": {"reason": "other"}, "response": {}}
        try:
            for event in super().stream(request):
                yield empty if event["type"] == "ERROR" else event
        except SDKError:
            yield empty


@faulty
class NothingUnderstoodIsEmpty(Client):
    """A whole answer in which nothing was understood becomes an empty one (this client before law
    9).
    """

    def complete(self, request: Mapping[str, Any]) -> Any:
        try:
            return super().complete(request)
        except StreamError:
            return {"message": {"content": []}, "finish_reason": {"reason": "other"}}


class Policy(RetryPolicy):
    """A policy that replaces the given one."""

    def __init__(self, given: RetryPolicy, **changed: Any) -> None:
        fields = {
            "max_retries": given.max_retries,
            "max_delay": given.max_delay,
            "chance": given.chance,
        }
        super().__init__(**{**fields, **changed})


def with_policy(
    policy: Callable[[RetryPolicy], RetryPolicy], arguments: tuple[Any, ...], named: dict[str, Any]
) -> Client:
    return Client(*arguments, **{**named, "retry": policy(named["retry"])})


@faulty
def four_tries(*arguments: Any, **named: Any) -> Client:
    """A call is tried four times in all, and the caller cannot change this (the Go code)."""
    return with_policy(lambda given: Policy(given, max_retries=3), arguments, named)


@faulty
def own_wait(*arguments: Any, **named: Any) -> Client:
    """The wait that the API requests is ignored, so the next try is too early (the Go code)."""

    class Deaf(Policy):
        def wait(self, error: SDKError, retries: int) -> float | None:
            if isinstance(error, ProviderError):
                error = ProviderError(error.message, retryable=error.retryable)
            return super().wait(error, retries)

    return with_policy(Deaf, arguments, named)


@faulty
def timeouts_are_tried_again(*arguments: Any, **named: Any) -> Client:
    """The status 408 is retried (siblings in Python)."""

    class Patient(Policy):
        def wait(self, error: SDKError, retries: int) -> float | None:
            return super().wait(
                NetworkError(error.message) if isinstance(error, RequestTimeoutError) else error,
                retries,
            )

    return with_policy(Patient, arguments, named)


@faulty
class EveryBadRequestIsTooLong(Client):
    """A wrong key is reported as a prompt that is too long, like every other 400 (the Go code)."""

    def complete(self, request: Mapping[str, Any]) -> Any:
        try:
            return super().complete(request)
        except ProviderError as error:
            if error.status_code == 400:
                raise ContextLengthError(error.message, status_code=400, retryable=False) from error
            raise
