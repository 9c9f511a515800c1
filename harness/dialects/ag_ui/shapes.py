"""The shapes of AG-UI events, as the official client checks them.

A field that the protocol describes must have its type, and an optional field is absent, not null.
The client removes other fields.

Source: the schemas and the compatibility boundary of `@ag-ui/client` 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from harness.stream.json_codec import Json

from .protocol import LARGEST


def _is_whole(value: Json) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST and value == int(value)


def _are(value: Json, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _are_messages(value: Json) -> bool:
    return _are(value, dict) and all(
        isinstance(item.get(name), str) for item in value for name in ("id", "role")
    )


def _are_counts(value: Json) -> bool:
    names = ("input", "output", "total", "reasoning", "cachedInput", "cacheWriteInput")
    return _are(value, dict) and all(
        _is_whole(item[f"{name}Tokens"]) and item[f"{name}Tokens"] >= 0
        for item in value
        for name in names
        if f"{name}Tokens" in item
    )


_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "a string": lambda value: isinstance(value, str),
    "a whole number": _is_whole,
    "a value": lambda _: True,
    "no null": lambda value: value is not None,
    "true or false": lambda value: isinstance(value, bool),
    "an object": lambda value: isinstance(value, dict),
    "a list of objects": lambda value: _are(value, dict),
    "a list of strings": lambda value: _are(value, str),
    "a string or a list of parts": lambda value: isinstance(value, str) or _are(value, dict),
    "a list of messages with an id and a role": _are_messages,
    "a list of objects with counts": _are_counts,
}
"""A type → whether a value has it. Any other type is a list of words."""
_FIELDS: Final[Mapping[str, str]] = {
    "timestamp": "a whole number",
    **dict.fromkeys(("rawEvent", "result"), "no null"),
    **dict.fromkeys(("snapshot", "event", "value"), "a value"),
    **dict.fromkeys(("metadata", "input", "outcome", "ACTIVITY_SNAPSHOT content"), "an object"),
    **dict.fromkeys(("patch", "interrupts", "STATE_DELTA delta"), "a list of objects"),
    "pendingToolCallIds": "a list of strings",
    "content": "a string or a list of parts",
    "messages": "a list of messages with an id and a role",
    "usage": "a list of objects with counts",
    "replace": "true or false",
    "role": "developer or system or assistant or user",
    "TOOL_CALL_RESULT role": "tool",
    "REASONING_MESSAGE_START role": "reasoning",
    "subtype": "message or tool-call",
}
"""A field, perhaps of one type of event → its type. The others are strings."""
_COMMON: Final = "timestamp? rawEvent? metadata?"
OF_THE_RUN: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""The events of the whole run, which no subagent has."""
_EVENTS: Final[Mapping[str, str]] = {
    "TEXT_MESSAGE_START": "messageId role? name?",
    "TEXT_MESSAGE_CONTENT": "messageId delta",
    "TEXT_MESSAGE_END": "messageId",
    "TEXT_MESSAGE_CHUNK": "messageId? delta? role? name?",
    "TOOL_CALL_START": "toolCallId toolCallName parentMessageId?",
    "TOOL_CALL_ARGS": "toolCallId delta",
    "TOOL_CALL_END": "toolCallId",
    "TOOL_CALL_CHUNK": "toolCallId? delta? toolCallName? parentMessageId?",
    "TOOL_CALL_RESULT": "messageId toolCallId content role?",
    "STATE_SNAPSHOT": "snapshot",
    "STATE_DELTA": "delta",
    "MESSAGES_SNAPSHOT": "messages",
    "ACTIVITY_SNAPSHOT": "messageId activityType content replace?",
    "ACTIVITY_DELTA": "messageId activityType patch",
    "RAW": "event source?",
    "CUSTOM": "name value",
    "RUN_STARTED": "threadId runId protocolVersion? parentRunId? input?",
    "RUN_FINISHED": "threadId runId result? outcome? usage?",
    "RUN_ERROR": "message code? usage?",
    "STEP_STARTED": "stepName",
    "STEP_FINISHED": "stepName",
    "REASONING_START": "messageId",
    "REASONING_MESSAGE_START": "messageId role",
    "REASONING_MESSAGE_CONTENT": "messageId delta",
    "REASONING_MESSAGE_END": "messageId",
    "REASONING_MESSAGE_CHUNK": "messageId? delta?",
    "REASONING_END": "messageId",
    "REASONING_ENCRYPTED_VALUE": "subtype entityId encryptedValue",
    "SUBAGENT_STARTED": "subagentRunId name description? parentSubagentRunId? parentToolCallId?"
    " parentMessageId?",
    "SUBAGENT_FINISHED": "subagentRunId result? outcome?",
    "SUBAGENT_ERROR": "subagentRunId message code?",
}
"""The type of an event → its fields, in their order; ``?``: an optional one."""
_OLD_NULLS: Final = (
    *("TOOL_CALL_START parentMessageId", "TOOL_CALL_CHUNK parentMessageId"),
    *("RUN_FINISHED outcome", "RUN_FINISHED result", "SUBAGENT_FINISHED result"),
)
"""The optional fields that the client reads as absent if they are null, as older producers write
them. For all types this also holds for ``rawEvent``.
"""
_OUTCOMES: Final = {"success": "pendingToolCallIds?", "interrupt": "interrupts?"}
"""An outcome → its fields. The client removes an outcome of another type."""


class Refused(Exception):
    """The official client does not read an event. ``name``: why, with ``{}`` for each value."""

    def __init__(self, name: str, *values: Json) -> None:
        super().__init__(name, values)
        self.name = name
        self.values = values


def checked(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event without the nulls of older producers. Raises `Refused` for an event that the
    client drops or refuses.
    """
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _EVENTS:
        raise Refused("the official client drops the type {}", kind)
    event = {
        name: value
        for name, value in event.items()
        if value is not None or (name != "rawEvent" and f"{kind} {name}" not in _OLD_NULLS)
    }
    owned = "" if kind in OF_THE_RUN else "subagentRunId?"
    _check(kind, event, f"{_EVENTS[kind]} {_COMMON} {owned}")
    outcome = event.get("outcome", {}) if kind == "RUN_FINISHED" else {}
    if word := str(outcome.get("type", "")):
        _check(f"outcome {word}", outcome, _OUTCOMES.get(word, ""))
        if word == "interrupt" and not outcome.get("interrupts"):
            raise Refused("outcome interrupt has no interrupts")
    return event


def _check(place: str, holder: dict[str, Json], fields: str) -> None:
    for field in fields.split():
        name = field.removesuffix("?")
        if name not in holder:
            if name == field:
                raise Refused(f"{place} has no {name}")
            continue
        expected = _FIELDS.get(f"{place} {name}") or _FIELDS.get(name, "a string")
        value, fits = holder[name], _TYPES.get(expected)
        if not (fits(value) if fits else value in expected.split(" or ")):
            raise Refused(f"{name} of {place} is {{}}; expected {expected}", value)
