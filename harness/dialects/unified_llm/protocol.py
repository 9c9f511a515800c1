"""The tables of the unified LLM specification: counts, finish reasons, errors, and the order of its
stream events.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md.
"""

from __future__ import annotations

from typing import Any, Final

from harness.stream import events as ev

from ..ending import EndKind

COUNTS: Final = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("reasoning", "reasoning_tokens"),
    ("cached", "cache_read_tokens"),
    ("total", "total_tokens"),
    ("cache_write", "cache_write_tokens"),
)
"""A count of `events.Usage`, and its field of Usage."""

FINISH_REASONS: Final[dict[EndKind, str]] = {
    "nothing": "error",
    "invalid_call": "error",
    "called": "tool_calls",
    "blocked": "content_filter",
    "unfinished": "other",
    "stop": "stop",
    "length": "length",
    "content_filter": "content_filter",
    "malformed": "error",
    "continuation": "other",
    "other": "other",
    "empty": "other",
    "failed": "error",
}

ERROR_TYPES: Final[dict[int, str]] = {
    400: "InvalidRequestError",
    401: "AuthenticationError",
    403: "AccessDeniedError",
    404: "NotFoundError",
    408: "RequestTimeoutError",
    413: "ContextLengthError",
    422: "InvalidRequestError",
    429: "RateLimitError",
}
"""HTTP status → error. 5xx are ServerError; `STATUS_TYPES` decides for all other numbers."""

STATUS_TYPES: Final[dict[str, str]] = {
    "NOT_FOUND": "NotFoundError",
    "INVALID_ARGUMENT": "InvalidRequestError",
    "FAILED_PRECONDITION": "InvalidRequestError",
    "OUT_OF_RANGE": "InvalidRequestError",
    "UNAUTHENTICATED": "AuthenticationError",
    "PERMISSION_DENIED": "AccessDeniedError",
    "RESOURCE_EXHAUSTED": "RateLimitError",
    "UNAVAILABLE": "ServerError",
    "INTERNAL": "ServerError",
    "DEADLINE_EXCEEDED": "RequestTimeoutError",
    **dict.fromkeys(
        ("invalid_request", "parameter_unknown", "failed_precondition", "out_of_range"),
        "InvalidRequestError",
    ),
    "authentication": "AuthenticationError",
    "permission_denied": "AccessDeniedError",
    **dict.fromkeys(("not_found", "model_not_found"), "NotFoundError"),
    **dict.fromkeys(("rate_limit_exceeded", "too_many_requests"), "RateLimitError"),
    **dict.fromkeys(("quota_exceeded", "insufficient_quota"), "QuotaExceededError"),
    **dict.fromkeys(("api_error", "service_unavailable", "server_error"), "ServerError"),
    "context_length_exceeded": "ContextLengthError",
    "invalid_api_key": "AuthenticationError",
    "deadline_exceeded": "RequestTimeoutError",
    **dict.fromkeys(
        (
            *("safety", "recitation", "language", "prohibited_content", "spii", "blocklist"),
            *("image_safety", "image_prohibited_content", "image_recitation", "image_other"),
            *("content_blocked", "content_filter", "content_policy_violation"),
        ),
        "ContentFilterError",
    ),
    "invalid_request_error": "InvalidRequestError",
    "authentication_error": "AuthenticationError",
    "billing_error": "QuotaExceededError",
    "permission_error": "AccessDeniedError",
    "not_found_error": "NotFoundError",
    "request_too_large": "ContextLengthError",
    "rate_limit_error": "RateLimitError",
    "timeout_error": "RequestTimeoutError",
    "overloaded_error": "ServerError",
}
"""The word of an error → error: gRPC names, the codes of the Interactions API
(https://ai.google.dev/gemini-api/docs/api-errors) and of OpenAI
(https://platform.openai.com/docs/guides/error-codes), and the types of Anthropic
(https://platform.claude.com/docs/en/api/errors).
"""

_MORE_EXACT: Final = frozenset({"ContentFilterError", "ContextLengthError", "QuotaExceededError"})
"""The errors for words that are more precise than the HTTP status beside them, 400 or 429."""

FINAL_ERRORS: Final = frozenset(
    [
        "AuthenticationError",
        "AccessDeniedError",
        "NotFoundError",
        "InvalidRequestError",
        "ContextLengthError",
        "QuotaExceededError",
        "RequestTimeoutError",
        "ContentFilterError",
    ]
)
"""Errors that a retry can't solve; all others are retryable, also unknown ones."""

_INVALID: Final = ("INVALID_ARGUMENT", "invalid_request_error")
_CONTEXT_LENGTH_WORDS: Final = (
    *("token count", "maximum number of tokens", "too many tokens"),
    "prompt is too long",
)


def classify(event: ev.Error) -> str:
    """Return the error type of the specification: by HTTP status, by the word or the details if
    that is ambiguous, then by the word.
    """
    code = event.code
    named = STATUS_TYPES.get(event.status or "")
    if named in _MORE_EXACT:
        return named
    if code == 400 or (code is None and event.status in _INVALID):
        if "API_KEY_INVALID" in event.reasons:
            return "AuthenticationError"
        message = event.message.lower()
        return (
            "ContextLengthError"
            if any(words in message for words in _CONTEXT_LENGTH_WORDS)
            else "InvalidRequestError"
        )
    if code == 429 or (code is None and event.status == "RESOURCE_EXHAUSTED"):
        terminal = "QUOTA_EXHAUSTED" in event.reasons or any(
            "PerDay" in quota for quota in event.quotas
        )
        return "QuotaExceededError" if terminal else "RateLimitError"
    if code in ERROR_TYPES:
        return ERROR_TYPES[code]
    if named is not None and not (code is not None and 500 <= code < 600):
        return named
    return "ServerError" if code is not None and 500 <= code < 600 else "ProviderError"


def error_of(event: ev.Error) -> dict[str, Any]:
    """Return the error of an ``ERROR`` event; fields that the wire did not have are absent."""
    kind = classify(event)
    error = {
        "type": kind,
        "message": event.message,
        "status_code": event.code,
        "error_code": event.status,
        "retryable": kind not in FINAL_ERRORS,
        "retry_after": event.retry_after,
        "raw": event.raw,
    }
    return {key: value for key, value in error.items() if value is not None}


def incomplete_error(event: ev.Incomplete) -> dict[str, Any]:
    """Return the error of a stream that stopped before its end; ``raw`` is the beginning of its
    last message.
    """
    error = stream_error(f"the stream ended before it was complete ({event.end})")
    return {**error, "raw": event.rest} if event.rest else error


def stream_error(message: str) -> dict[str, Any]:
    """Return the error of a stream without an end, or in which nothing was understood."""
    return {"type": "StreamError", "message": message, "retryable": True}


_ANYWHERE: Final = "PROVIDER_EVENT"
_OPEN: Final = {
    "TEXT_START": "text",
    "REASONING_START": "reasoning",
    "TOOL_CALL_START": "calling",
    _ANYWHERE: "open",
    "FINISH": "over",
    "ERROR": "over",
}

ORDER: Final = {
    "fresh": {"STREAM_START": "open", "ERROR": "over"},
    "open": _OPEN,
    "text": {"TEXT_DELTA": "text", "TEXT_END": "open", _ANYWHERE: "text"},
    "reasoning": {"REASONING_DELTA": "reasoning", "REASONING_END": "open", _ANYWHERE: "reasoning"},
    "calling": {"TOOL_CALL_END": "open", "TOOL_CALL_DELTA": "pieces", _ANYWHERE: "calling"},
    "pieces": {
        "TOOL_CALL_DELTA": "pieces",
        "TOOL_CALL_END": "open",
        "ERROR": "over",
        _ANYWHERE: "pieces",
    },
    "over": {},
}
"""State → type → next state. A stream begins in ``fresh`` and ends in ``over``."""
