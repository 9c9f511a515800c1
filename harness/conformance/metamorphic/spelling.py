"""Changes of spelling: the same messages in another framing, or with other names for their keys.

Every JSON answer can be spelled otherwise, also one that failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final

from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json

from .messages import (
    Change,
    Messages,
    answers,
    as_events,
    object_messages,
    responses,
    reversed_keys,
    rewritten,
    with_reads,
)

_CAPITAL: Final = re.compile("[A-Z]")
_USER_KEYED: Final = frozenset({"args", "properties", "partMetadata", "error", "metadata"})
_RESPONDERS: Final = frozenset({"functionResponse", "toolResponse"})
_NUMBERED: Final = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION")


def respelled(spell: Callable[[Messages], bytes]) -> Change:
    """Write the messages of any JSON answer again, in a single read."""

    return rewritten(lambda exchange: object_messages(exchange.body), spell)


def with_line_ends(line_end: bytes) -> Change:
    """End every line of the body with these bytes."""

    def change(exchange: Exchange) -> Exchange | None:
        if object_messages(exchange.body) is None:
            return None
        return with_reads(exchange, re.sub(rb"\r\n|\r|\n", lambda _: line_end, exchange.body))

    return change


def json_array(messages: Messages) -> bytes:
    items = "\r\n,\r\n".join(json.dumps(message, indent=2) for message in messages)
    return f"[{items}]".encode()


def in_snake_case(messages: Messages) -> bytes:
    return as_events([snake_case(message) for message in messages])


def in_envelopes(messages: Messages) -> bytes:
    """The Code Assist envelope around each message that has none."""
    return as_events(
        [
            message
            if "response" in message or "error" in message
            else {"response": message, "traceId": "0"}
            for message in messages
        ]
    )


def with_reversed_keys(messages: Messages) -> bytes:
    return as_events(reversed_keys(messages))


def compact(messages: Messages) -> bytes:
    """JSON as short as it can be. Half surrogates stay escapes, since UTF-8 has none."""
    return b"".join(
        b"data: "
        + re.sub(
            "[\ud800-\udfff]",
            lambda match: f"\\u{ord(match[0]):04x}",
            json.dumps(message, ensure_ascii=False, separators=(",", ":")),
        ).encode()
        + b"\r\n\r\n"
        for message in messages
    )


def snake_case(value: Json, opaque: bool = False, parent: str = "") -> Json:
    """Keys in snake_case, except in objects whose keys belong to the user."""
    if isinstance(value, list):
        return [snake_case(item, opaque, parent) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, item in value.items():
        users = opaque or name in _USER_KEYED or (name == "response" and parent in _RESPONDERS)
        key = name if opaque else _CAPITAL.sub(lambda match: f"_{match[0].lower()}", name)
        result[key] = snake_case(item, users, name)
    return result


def number_reasons(messages: Messages) -> bool:
    """Write known finish reasons as the numbers of their enum."""
    numbered = [item for item in answers(messages) if item.get("finishReason") in _NUMBERED]
    for candidate in numbered:
        candidate["finishReason"] = _NUMBERED.index(candidate["finishReason"])
    return bool(numbered)


def add_unknown_fields(messages: Messages) -> bool:
    for response in responses(messages):
        response["newField"] = {"deep": [1]}
    for candidate in answers(messages):
        candidate["newField"] = "x"
    return True
