"""The Messages API over HTTP, as a proxy offers it to the clients of this event model.

Source: https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/api/errors and
https://docs.anthropic.com/en/docs/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..dialect import HttpApi, Payload
from .request import REQUEST

STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""Kind of error → HTTP status."""


class _Writer:
    """Writes payloads, which are already the events of the stream."""

    def event(self, payload: Payload) -> bytes:
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        return f"event: {payload['type']}\ndata: {text}\n\n".encode("utf-8", "backslashreplace")

    def whole(self, payloads: Sequence[Payload]) -> Payload:
        history = REQUEST.follow_up({"messages": []}, payloads, "")["messages"]
        message: Payload = {}
        for payload in payloads:
            match payload:
                case {"type": "message_start", "message": start}:
                    message = {**start, "content": history[0]["content"] if history else []}
                case {"type": "message_delta", "delta": delta, "usage": usage}:
                    message |= {**delta, "usage": {**message.get("usage", {}), **usage}}
        return message


def _failure(payloads: Sequence[Payload]) -> tuple[int, str] | None:
    for payload in payloads:
        if payload["type"] == "error":
            error = payload["error"]
            return STATUSES.get(error["type"], 500), error["message"]
    return None


def _turns(prompt: Any) -> list[tuple[bool, Any]]:
    """Ignore cache markers, and whether a single text is a string or a list."""
    messages = prompt.get("messages") if isinstance(prompt, Mapping) else None
    return [
        (message.get("role") == "assistant", _plain(message))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping)
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
        if "role" in plain and isinstance(plain.get("content"), str):
            plain["content"] = [{"type": "text", "text": plain["content"]}]
        return plain
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


API: Final = HttpApi(
    path="/v1/messages",
    count_path="/v1/messages/count_tokens",
    translate=lambda body, answers, session: REQUEST.translate(body, {}, session),
    is_streamed=lambda body: body.get("stream") is True,
    turns=_turns,
    writer=lambda body, name: _Writer(),
    failure=_failure,
)
