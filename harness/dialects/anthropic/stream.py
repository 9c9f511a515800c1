"""The Anthropic Messages stream: declared losses, stop reasons, errors, its order, and a writer of
its payloads.

`harness.dialects.anthropic.response` decides which canonical event becomes which payload.

Sources: https://docs.anthropic.com/en/docs/build-with-claude/streaming and
https://docs.anthropic.com/en/api/errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from harness.facts import losses_of_model
from harness.stream.json_codec import Json

from ..dialect import Payload
from ..ending import EndKind
from ..losses import BESIDE_CONTENT, usual_losses

LOSSES: Final = losses_of_model(
    {
        "finish[call]": "the class of the finish reason of an answer with a call",
        "finish[other]": "the class of other finish reasons, with content",
        "usage[failed]": "token counts of an answer that failed",
        "usage[other]": "token counts of an answer whose finish reason becomes an error",
        "usage[tool_use]": "tokens of tool use",
        "finish_message": "the text beside a finish reason",
        "usage_details": (
            "token counts except input, output, thoughts, cached and written to the cache"
        ),
        "blocks": "indexes and ids of steps, blocks and items",
        **BESIDE_CONTENT,
        **usual_losses("billing server_tools create_time credits trace_id"),
    }
)

STOP_REASONS: Final[Mapping[EndKind, str | None]] = {
    "nothing": None,
    "invalid_call": None,
    "called": "tool_use",
    "blocked": "refusal",
    "unfinished": None,
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "malformed": None,
    "continuation": "pause_turn",
    "other": "end_turn",
    "empty": None,
    "failed": None,
}
"""The stop reason of each end. None: the message ends in an error."""

OWN_REASONS: Final = frozenset(
    {
        *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
        *("model_context_window_exceeded", "compaction"),
    }
)
"""The stop reasons of Anthropic's models. If the wire gives one of them, it is passed on."""

OF_MESSAGE: Final = ("container", "context_management", "diagnostics", "input_transformations")
"""The metadata for which ``message_start`` has a field."""
OWN_FIELDS: Final = frozenset({*OF_MESSAGE, "stop_sequence", "stop_details"})
"""The metadata for which the protocol has a field: in ``message_start``, or later in
``message_delta``.
"""

ERROR_TYPES: Final[Mapping[int | str | None, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    402: "billing_error",
    413: "request_too_large",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
    # The protocol's own types are passed on.
    **{
        kind: kind
        for kind in (
            *("invalid_request_error", "authentication_error", "billing_error"),
            *("permission_error", "not_found_error", "request_too_large", "rate_limit_error"),
            *("timeout_error", "overloaded_error", "api_error"),
        )
    },
    # The gRPC names decide for an error inside a stream that has no number.
    "INVALID_ARGUMENT": "invalid_request_error",
    "FAILED_PRECONDITION": "invalid_request_error",
    "OUT_OF_RANGE": "invalid_request_error",
    "UNAUTHENTICATED": "authentication_error",
    "PERMISSION_DENIED": "permission_error",
    "NOT_FOUND": "not_found_error",
    "RESOURCE_EXHAUSTED": "rate_limit_error",
    "UNAVAILABLE": "overloaded_error",
    # The codes of the Interactions API decide too.
    **dict.fromkeys(
        (
            *("invalid_request", "parameter_unknown", "failed_precondition", "out_of_range"),
            *("safety", "recitation", "language", "prohibited_content", "spii", "blocklist"),
            *("image_safety", "image_prohibited_content", "image_recitation", "image_other"),
            "content_blocked",
        ),
        "invalid_request_error",
    ),
    "authentication": "authentication_error",
    "permission_denied": "permission_error",
    **dict.fromkeys(("not_found", "model_not_found"), "not_found_error"),
    **dict.fromkeys(
        ("rate_limit_exceeded", "too_many_requests", "quota_exceeded"), "rate_limit_error"
    ),
    "service_unavailable": "overloaded_error",
    # The codes of OpenAI have the types of the HTTP statuses that they come with.
    "context_length_exceeded": "invalid_request_error",
    "invalid_api_key": "authentication_error",
    "insufficient_quota": "rate_limit_error",
}

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    "fresh": {"message_start": "between", "error": "failed"},
    "between": {
        "unknown": "between",
        "start text": "text begun",
        "start thinking": "thinking begun",
        "start tool_use": "call begun",
        "start redacted_thinking": "block whole",
        "message_delta": "closing",
        "error": "failed",
    },
    "text begun": {"text_delta": "text"},
    "text": {
        "text_delta": "text",
        "unknown": "text",
        "stop": "between",
        "error": "failed",
    },
    "thinking begun": {"thinking_delta": "thinking", "signature_delta": "block whole"},
    "thinking": {
        "thinking_delta": "thinking",
        "signature_delta": "block whole",
        "unknown": "thinking",
        "stop": "between",
        "error": "failed",
    },
    "call begun": {"input_json_delta": "call"},
    "call": {"stop": "between", "error": "failed"},
    "block whole": {"stop": "between"},
    "closing": {"message_stop": "stopped"},
    "stopped": {},
    "failed": {},
}
"""State → label → next state. No block is empty. A block that an error interrupts has no stop.
Nothing follows an error.
"""

FINAL: Final = frozenset({"stopped", "failed"})


def label(payload: Payload) -> str:
    """Return the label of a payload in `ORDER`: its type, or the type of the block that it starts,
    or the type of its delta.
    """
    match payload:
        case {"type": "content_block_start", "content_block": {"type": str(block)}}:
            return f"start {block}"
        case {"type": "content_block_delta", "delta": {"type": str(delta)}}:
            return delta
        case {"type": "content_block_stop"}:
            return "stop"
        case {"type": str(kind)}:
            return kind
    return "no payload"


_OF_DELTA: Final = ("stop_sequence", "stop_details", "container")
_write = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
_write_ascii = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


class MessageWriter:
    """Writes the payloads of one message, in legal order, with the index of each block; `take`
    returns them.
    """

    def __init__(self) -> None:
        self.begun = False
        # payloads that must wait, because the official clients need message_start first
        self.waiting: list[Payload] = []
        self.out: list[Payload] = []
        self.index = 0  # of the open block, else of the next one
        self.block = ""  # the type of the open block, or nothing

    def take(self) -> list[Payload]:
        """Return the payloads that were written since the last call."""
        out, self.out = self.out, []
        return out

    def begin(self, message_id: str, model: str, usage: Payload, own: Payload) -> None:
        """Write message_start, with the fields ``own``, and the payloads that waited for it."""
        message: Payload = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
            **own,
        }
        self.out.append({"type": "message_start", "message": message})
        self.out += self.waiting
        self.waiting.clear()
        self.begun = True

    def text(self, piece: str) -> None:
        """Write a piece of text, in the open text block or a new one."""
        if self.block != "text":
            self._start({"type": "text", "text": ""})
        self._delta({"type": "text_delta", "text": piece})

    def thinking(self, piece: str) -> None:
        """Write a piece of a thought, in the open thinking block or a new one."""
        if self.block != "thinking":
            self._start({"type": "thinking", "thinking": "", "signature": ""})
        self._delta({"type": "thinking_delta", "thinking": piece})

    def sign(self, signature: str) -> None:
        """Write a signature in the open thinking block, else in an empty one, and close the block,
        since clients keep only the last signature of a block.
        """
        if self.block != "thinking":
            self._start({"type": "thinking", "thinking": "", "signature": ""})
        self._delta({"type": "signature_delta", "signature": signature})
        self.stop()

    def redacted(self, data: str) -> None:
        """Write a redacted_thinking block."""
        self._start({"type": "redacted_thinking", "data": data})
        self.stop()

    def call(self, call_id: str, name: str, arguments: dict[str, Any] | str) -> None:
        """Write a tool_use block with all its arguments, or their JSON text, in one piece. It stays
        open.
        """
        text = arguments if isinstance(arguments, str) else _as_json(arguments)
        self._start({"type": "tool_use", "id": call_id, "name": name, "input": {}})
        self._delta({"type": "input_json_delta", "partial_json": text})

    def stop(self) -> None:
        """Close the open block, if there is one."""
        if self.block:
            self.out.append({"type": "content_block_stop", "index": self.index})
            self.index += 1
            self.block = ""

    def unknown(self, raw: Json) -> None:
        """Write an object for which the protocol has no type; it may be inside a block."""
        (self.out if self.begun else self.waiting).append({"type": "unknown", "raw": raw})

    def finish(self, stop_reason: str, usage: Payload, own: Payload) -> None:
        """Write message_delta, with the fields ``own``."""
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        beside = {name: value for name, value in own.items() if name not in _OF_DELTA}
        delta |= {name: value for name, value in own.items() if name in _OF_DELTA}
        self.out.append({"type": "message_delta", "delta": delta, "usage": usage, **beside})

    def end(self) -> None:
        """Write message_stop."""
        self.out.append({"type": "message_stop"})

    def fail(self, kind: str, message: str) -> None:
        """Write the error that ends the stream. An open block stays open: it is not complete."""
        self.out.append({"type": "error", "error": {"type": kind, "message": message}})

    def _start(self, block: Payload) -> None:
        self.stop()
        self.block = block["type"]
        self.out.append(
            {"type": "content_block_start", "index": self.index, "content_block": block}
        )

    def _delta(self, delta: Payload) -> None:
        self.out.append({"type": "content_block_delta", "index": self.index, "delta": delta})


def _as_json(arguments: dict[str, Any]) -> str:
    """Return compact JSON; escaped to ASCII if the arguments have a character that UTF-8 cannot
    encode (a lone surrogate).
    """
    text = _write(arguments)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _write_ascii(arguments)
    return text
