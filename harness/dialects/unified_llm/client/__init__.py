"""The unified LLM client for Gemini: the same Requests, stream events and Responses as in a replay,
but really sent.

`Client` and `AsyncClient` stand on the pipeline that the replays run through: a Request is
translated by the dialect, the answer's reads go through framing, provider and dialect as they come.
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
