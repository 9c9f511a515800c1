"""The answers of the Messages API that `harness serve` makes without a recording."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""HTTP status → type of the error; ``api_error`` for others
(https://platform.claude.com/docs/en/api/errors). The 503 of another service has the meaning of 529.
"""


def error_body(status: int, message: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error."""
    kind = _TYPES.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message, **fields}}


def made_body(path: str, tokens: int) -> dict[str, Any] | None:
    """Return the body for a request that counts tokens; None for another one."""
    return {"input_tokens": tokens} if path.endswith("/v1/messages/count_tokens") else None


def final_body(path: str, model: str, streamed: bool) -> bytes:
    """Return the body of a short answer that ends a conversation."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_final",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    if not streamed:
        return json.dumps(message).encode()
    begun = {**message, "content": [], "stop_reason": None}
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Done."},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]
    written = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(written).encode()
