"""Mutations of how messages are spelled: names in snake_case, enums as numbers, Code Assist's
envelope, fields that nobody knows.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .messages import Messages, answers, responses

_NUMBERED: Final = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION")
_CAPITAL: Final = re.compile("[A-Z]")
_OPAQUE: Final = frozenset({"args", "response", "partMetadata", "metadata", "error"})


def _snake(value: Any) -> Any:
    if isinstance(value, list):
        return [_snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name): item
        if name in _OPAQUE and "candidates" not in str(item)[:40]
        else _snake(item)
        for name, item in value.items()
    }


def spell_in_snake_case(messages: Messages) -> bool:
    messages[:] = [_snake(message) for message in messages]
    return True


def number_reasons(messages: Messages) -> bool:
    found = [one for one in answers(messages) if one.get("finishReason") in _NUMBERED]
    for one in found:
        one["finishReason"] = _NUMBERED.index(one["finishReason"])
    return bool(found)


def envelop(messages: Messages) -> bool:
    bare = all("response" not in message and "error" not in message for message in messages)
    messages[:] = [{"response": message, "traceId": "0"} for message in messages]
    return bare


def unknown_fields(messages: Messages) -> bool:
    for response in responses(messages):
        response["newField"] = {"deep": [1]}
    for candidate in answers(messages):
        candidate["newField"] = "x"
    return True
