"""The unified LLM client: sends Requests, and returns stream events and Responses.

A Request and an answer go through the same translation as in ``harness.request`` and
``harness.replay``, so a recorded answer gives the same events live and in a replay.
Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md.
"""

from .accumulator import StreamAccumulator
from .client import AsyncClient, Client, Timeouts
from .errors import (
    AbortError,
    AccessDeniedError,
    AuthenticationError,
    ConfigurationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    InvalidToolCallError,
    NetworkError,
    NoObjectGeneratedError,
    NotFoundError,
    ProviderError,
    QuotaExceededError,
    RateLimitError,
    RequestTimeoutError,
    SDKError,
    ServerError,
    StreamError,
    UnsupportedToolChoiceError,
)
from .response import Response
from .retry import RetryPolicy

__all__ = [
    "AbortError",
    "AccessDeniedError",
    "AsyncClient",
    "AuthenticationError",
    "Client",
    "ConfigurationError",
    "ContentFilterError",
    "ContextLengthError",
    "InvalidRequestError",
    "InvalidToolCallError",
    "NetworkError",
    "NoObjectGeneratedError",
    "NotFoundError",
    "ProviderError",
    "QuotaExceededError",
    "RateLimitError",
    "RequestTimeoutError",
    "Response",
    "RetryPolicy",
    "SDKError",
    "ServerError",
    "StreamAccumulator",
    "StreamError",
    "Timeouts",
    "UnsupportedToolChoiceError",
]
