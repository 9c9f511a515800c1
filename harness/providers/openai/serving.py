"""The errors of OpenAI's two APIs that `harness serve` makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ERRORS: Final = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "not_found"),
    408: ("server_error", None),
    429: ("requests", "rate_limit_exceeded"),
}
"""HTTP status → type and code of the error
(https://platform.openai.com/docs/guides/error-codes); a status from 500 on is ``server_error``.
"""


def error_body(status: int, message: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error."""
    default = ("server_error" if status >= 500 else "invalid_request_error", None)
    kind, code = _ERRORS.get(status, default)
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **fields}}
