"""Tells the answers of OpenAI's two APIs apart by their messages, or else by the request."""

from __future__ import annotations

import json

from harness.stream.json_codec import Json
from tests.readers.body import read_body


def is_responses(body: bytes, asked: bytes) -> bool:
    """Return whether a body is of Responses, not of Chat Completions. ``asked``: the body of the
    request.
    """
    messages = (item[0] for item in read_body(body) if not isinstance(item, str))
    for message in (inner for item in messages for inner in _flat(item)):
        kind, named = message.get("type"), message.get("object")
        if isinstance(kind, str) and kind.startswith("response."):
            return True
        if named in ("chat.completion", "chat.completion.chunk") or "choices" in message:
            return False
        if named == "response":
            return True
    try:
        request = json.loads(asked)
    except (ValueError, RecursionError):
        return False
    if not isinstance(request, dict) or "messages" in request:
        return False
    return "input" in request or "previous_response_id" in request


def _flat(message: Json) -> list[dict[str, Json]]:
    items = message if isinstance(message, list) else [message]
    return [item for item in items if isinstance(item, dict)]
