"""The answers of the Messages API that `harness serve` makes without a recording."""

from __future__ import annotations

from typing import Any, Final

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""HTTP status → type of the error; ``api_error`` for others
(https://platform.claude.com/docs/en/api/errors).
"""


def error_body(status: int, message: str) -> dict[str, Any]:
    """The body of an error."""
    kind = _TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def made_body(path: str, tokens: int) -> dict[str, Any] | None:
    """The body for a request that counts tokens; None for another one."""
    return {"input_tokens": tokens} if path.endswith("/v1/messages/count_tokens") else None
