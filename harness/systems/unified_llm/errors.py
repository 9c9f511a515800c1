"""The errors of the unified LLM specification, and the error of an ``ERROR`` event.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (error hierarchy).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class SDKError(Exception):
    """The base of all errors of the client."""

    retryable = False
    """Whether a retry may help."""

    def __init__(self, message: str, *, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        """The original exception, or None."""


class ProviderError(SDKError):
    """An error of the provider, by HTTP status or inside the stream; this class if no subclass
    fits.
    """

    retryable = True

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        error_code: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        raw: Any = None,
        provider: str = "gemini",
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(message, cause=cause)
        self.provider = provider
        """The vendor that was asked."""
        self.status_code = status_code
        """The HTTP status or the number in the error, or None."""
        self.error_code = error_code
        """The gRPC name of the error, or None."""
        self.retryable = type(self).retryable if retryable is None else retryable
        self.retry_after = retry_after
        """Seconds that the provider asks to wait, or None."""
        self.raw = raw
        """The body, or None."""


class AuthenticationError(ProviderError):
    """The key is missing, wrong or expired (401, or 400 with API_KEY_INVALID)."""


class AccessDeniedError(ProviderError):
    """The key has no permission for this (403)."""


class NotFoundError(ProviderError):
    """There is no such model or resource (404)."""


class InvalidRequestError(ProviderError):
    """The request is wrong (400, 422)."""


class RateLimitError(ProviderError):
    """Too many requests or tokens in a short time (429)."""


class ServerError(ProviderError):
    """The provider failed or is overloaded (5xx)."""


class ContentFilterError(ProviderError):
    """The answer was blocked (a code of the Interactions API); on the other wires a finish reason
    reports it.
    """

    retryable = False


class ContextLengthError(ProviderError):
    """The request is too long for the model (413, or 400 with such a message)."""


class QuotaExceededError(ProviderError):
    """A quota is used up, and a short wait does not refill it (429 of a daily quota)."""


class RequestTimeoutError(ProviderError):
    """There was no answer within the time limit of the provider (408, DEADLINE_EXCEEDED) or of the
    client.
    """

    retryable = False


class AbortError(SDKError):
    """Part of the specification, never raised: Python's own cancellation replaces it."""


class NetworkError(SDKError):
    """There was no connection, or the connection broke before the answer began."""

    retryable = True


class StreamError(SDKError):
    """The answer was interrupted."""

    retryable = True

    def __init__(
        self, message: str, *, raw: Any = None, cause: BaseException | None = None
    ) -> None:
        super().__init__(message, cause=cause)
        self.raw = raw


class InvalidToolCallError(SDKError):
    """Part of the specification, never raised: Gemini sends arguments as objects."""


class UnsupportedToolChoiceError(SDKError):
    """Part of the specification, never raised: Gemini has all four choices."""


class NoObjectGeneratedError(SDKError):
    """The answer is not JSON; raised by `Response.object`."""


class ConfigurationError(SDKError):
    """The key, the model, the URL or the provider is missing or wrong."""


BY_TYPE: Final[dict[str, type[ProviderError]]] = {
    kind.__name__: kind
    for kind in (
        *(ProviderError, AuthenticationError, AccessDeniedError, NotFoundError),
        *(InvalidRequestError, RateLimitError, ServerError),
        *(ContextLengthError, QuotaExceededError, RequestTimeoutError, ContentFilterError),
    )
}
"""The ``type`` of an ``ERROR`` event of the provider → its class."""


def error_of(event: Mapping[str, Any], provider: str = "gemini") -> SDKError:
    """Return the exception for an ``ERROR`` event of a vendor."""
    error = dict(event["error"])
    kind, message = error.pop("type"), error.pop("message")
    if kind == "StreamError":
        return StreamError(message, raw=error.get("raw"))
    return BY_TYPE[kind](message, provider=provider, **error)
