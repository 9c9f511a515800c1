"""The answers of OpenAI's two APIs that `harness serve` makes without a recording."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ..openai_compat.serving import final_completion

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


def final_body(path: str, model: str, streamed: bool) -> bytes:
    """Return the body of a short answer that ends a conversation, of the API at ``path``."""
    if path.rstrip("/").endswith("/chat/completions"):
        return final_completion(path, model, streamed)
    text = {"type": "output_text", "text": "Done.", "annotations": [], "logprobs": []}
    item = {"id": "msg_final", "type": "message", "status": "completed", "role": "assistant"}
    message = {**item, "content": [text]}
    usage = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    response: dict[str, Any] = {
        "id": "resp_final",
        "object": "response",
        "created_at": 0,
        "model": model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    whole = {**response, "status": "completed", "output": [message], "usage": usage}
    if not streamed:
        return json.dumps(whole).encode()
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    opened = {**item, "status": "in_progress", "content": []}
    of_item = {"item_id": "msg_final", "output_index": 0, "content_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        {"type": "response.content_part.added", **of_item, "part": {**text, "text": ""}},
        {"type": "response.output_text.delta", **of_item, "delta": "Done.", "logprobs": []},
        {"type": "response.output_text.done", **of_item, "text": "Done.", "logprobs": []},
        {"type": "response.content_part.done", **of_item, "part": text},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": whole},
    ]
    numbered = ({**event, "sequence_number": number} for number, event in enumerate(events))
    written = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered)
    return "".join(written).encode()
