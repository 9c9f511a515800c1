"""The answer of Chat Completions that `harness serve` makes without a recording."""

from __future__ import annotations

import json
from typing import Any


def final_completion(path: str, model: str, streamed: bool) -> bytes:
    """Return the body of a short answer that ends a conversation."""
    message = {"content": "Done.", "role": "assistant"}
    choice = {"finish_reason": "stop", "index": 0, "delta" if streamed else "message": message}
    kind = "chat.completion.chunk" if streamed else "chat.completion"
    whole: dict[str, Any] = {"choices": [choice], "created": 0, "id": "final", "model": model}
    body = json.dumps({**whole, "object": kind}).encode()
    return b"data: " + body + b"\n\ndata: [DONE]\n\n" if streamed else body
