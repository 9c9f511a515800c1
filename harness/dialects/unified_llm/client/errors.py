"""The errors of the unified LLM specification, and which of them an ``ERROR`` event is.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (error hierarchy).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class SDKError(Exception):
    """What every error of the client is.

    ``retryable``: whether another try may help. ``cause``: the exception behind it, if there is
    one.
    """

    retryable = False

    def __init__(self, message: str, *, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause


class ProviderError(SDKError):
    """The provider refused, by status or inside the stream; of none of the kinds below: a number
    that nobody knows.

    ``status_code``: the HTTP status or the error's own number; ``error_code``: its gRPC name;
    ``retry_after``: seconds that the provider asks to wait; ``raw``: the body. Each is None where
    the answer didn't say.
    """

    retryable = True
    provider: Final = "gemini"

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        error_code: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        raw: Any = None,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(message, cause=cause)
        self.status_code = status_code
        self.error_code = error_code
        self.retryable = type(self).retryable if retryable is None else retryable
        self.retry_after = retry_after
        self.raw = raw


class AuthenticationError(ProviderError):
    """The key is missing, wrong or expired (401, or 400 with API_KEY_INVALID)."""


class AccessDeniedError(ProviderError):
    """The key may not do this (403)."""


class NotFoundError(ProviderError):
    """There is no such model or resource (404)."""


class InvalidRequestError(ProviderError):
    """The request is wrong (400, 422)."""


class RateLimitError(ProviderError):
    """Too much in too short a time (429)."""


class ServerError(ProviderError):
    """The provider failed or is overloaded (5xx)."""


class ContentFilterError(ProviderError):
    """The specification's name for refused content. Gemini tells it in the finish reason, which is
    no error, so this is never raised.
    """


class ContextLengthError(ProviderError):
    """The request is longer than the model takes (413, or 400 that says so)."""


class QuotaExceededError(ProviderError):
    """A quota is used up that no short wait refills (429 of a day's quota)."""


class RequestTimeoutError(ProviderError):
    """No answer in time: the provider says so (408, DEADLINE_EXCEEDED), or the client stopped
    waiting.
    """

    retryable = False


class AbortError(SDKError):
    """The specification's name for a request that its caller stopped; Python's own cancellation
    takes its place here.
    """


class NetworkError(SDKError):
    """No connection, or none that held until the answer began."""

    retryable = True


class StreamError(SDKError):
    """The answer stopped before its end."""

    retryable = True

    def __init__(
        self, message: str, *, raw: Any = None, cause: BaseException | None = None
    ) -> None:
        super().__init__(message, cause=cause)
        self.raw = raw


class InvalidToolCallError(SDKError):
    """The specification's name for arguments that are no JSON; Gemini sends objects, so this is
    never raised.
    """


class UnsupportedToolChoiceError(SDKError):
    """The specification's name for a choice that a provider does not have; Gemini has all four, so
    this is never raised.
    """


class NoObjectGeneratedError(SDKError):
    """The answer should have been JSON and is none; raised by `Response.object`."""


class ConfigurationError(SDKError):
    """The client was not told what it needs: a key, a model, a provider that it knows."""


BY_TYPE: Final[dict[str, type[ProviderError]]] = {
    kind.__name__: kind
    for kind in (
        *(
            ProviderError,
            AuthenticationError,
            AccessDeniedError,
            NotFoundError,
            InvalidRequestError,
            RateLimitError,
            ServerError,
        ),
        *(ContextLengthError, QuotaExceededError, RequestTimeoutError),
    )
}
"""The ``type`` of an ``ERROR`` event that comes from the provider → its class."""


def error_of(event: Mapping[str, Any]) -> SDKError:
    """The exception that an ``ERROR`` event stands for."""
    error = dict(event["error"])
    kind, message = error.pop("type"), error.pop("message")
    if kind == "StreamError":
        return StreamError(message, raw=error.get("raw"))
    return BY_TYPE[kind](message, **error)
