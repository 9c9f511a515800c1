"""The end of an answer in the words of OpenAI's APIs: failures, reasons and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from harness.providers import PROVIDERS

from ...dialect import Payload

_STATUSES: Final = {
    "InvalidRequestError": 400,
    "ContentFilterError": 400,
    "ContextLengthError": 400,
    "AuthenticationError": 401,
    "AccessDeniedError": 403,
    "NotFoundError": 404,
    "RequestTimeoutError": 408,
    "RateLimitError": 429,
    "QuotaExceededError": 429,
}
"""The type of an error → HTTP status, if the error has none; 500 for others."""


def failure(payloads: Sequence[Payload]) -> tuple[int, str] | None:
    """Return the HTTP status and the message of the error in the last payload, or None. An answer
    without a reason, or with one that reports a failure, is an error, because neither API has a
    word for such an end.
    """
    match payloads[-1] if payloads else None:
        case {"type": "ERROR", "error": error}:
            status = error.get("status_code")
            if not isinstance(status, int) or not 400 <= status <= 599:
                status = _STATUSES.get(error["type"], 500)
            return status, error["message"]
        case {"type": "FINISH", "finish_reason": reason} if not reason_of(reason):
            if "raw" not in reason:
                return 500, reason.get("message") or "the answer gave no finish reason"
            return 500, ": ".join(filter(None, (reason["raw"], reason.get("message"))))
    return None


def reason_of(finish: Mapping[str, Any]) -> str:
    """Return the finish reason of Chat Completions; a reason without a word there is passed on
    unchanged. Empty for an end that is a failure.
    """
    match finish:
        case {"reason": "stop" | "length" | "tool_calls" | "content_filter" as reason}:
            return str(reason)
        case {"reason": "other", "raw": str(raw)}:
            return raw
    return ""


def error_of(status: int, message: str) -> dict[str, Any]:
    """Return the error inside a stream: message, type, param and code."""
    endpoint = PROVIDERS["openai"].endpoint
    assert endpoint is not None, "the provider has an API"
    assert endpoint.error is not None, "its errors have a form of their own"
    error: dict[str, Any] = endpoint.error(status, message, {})["error"]
    return error


def counts_of(usage: Mapping[str, Any]) -> tuple[int, int, int, int, int, int]:
    """Return the counts of an answer: input, cached input, input written to a cache, output with
    reasoning, reasoning, and all.
    """
    given, written = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    reasoning = usage.get("reasoning_tokens", 0)
    total = usage.get("total_tokens", given + written + reasoning)
    cached, stored = usage.get("cache_read_tokens", 0), usage.get("cache_write_tokens", 0)
    return given, cached, stored, written + reasoning, reasoning, total
