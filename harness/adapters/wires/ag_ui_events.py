"""The shapes of AG-UI events, as the official client checks them.

A field that the protocol describes must have its type, and an optional field is absent, not null.
The client removes other fields.

Source: the schemas and the compatibility boundary of `@ag-ui/client` 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Unreadable

# 2⁵³ − 1, JavaScript's Number.MAX_SAFE_INTEGER.
_LARGEST: Final = 9_007_199_254_740_991
_COUNTS: Final = (
    *("inputTokens", "outputTokens", "totalTokens", "reasoningTokens"),
    *("cachedInputTokens", "cacheWriteInputTokens"),
)
_Check = tuple[str, Callable[[Json], bool]]
"""What a value is, and whether it is that."""


def _is_count(value: Json) -> bool:
    return _is_integer(value) and value >= 0


def _is_integer(value: Json) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and value == int(value) and abs(value) <= _LARGEST


def _one_of(*words: str) -> _Check:
    return " or ".join(words), lambda value: value in words


_TEXT: Final[_Check] = "a string", lambda value: isinstance(value, str)
_ANY: Final[_Check] = "a value", lambda _: True
_SOME: Final[_Check] = "no null", lambda value: value is not None
_FLAG: Final[_Check] = "true or false", lambda value: isinstance(value, bool)
_OBJECT: Final[_Check] = "an object", lambda value: isinstance(value, dict)
_OBJECTS: Final[_Check] = (
    "a list of objects",
    lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
)
_CONTENT: Final[_Check] = (
    "a string or a list of parts",
    lambda value: isinstance(value, str) or _OBJECTS[1](value),
)
_MESSAGES: Final[_Check] = (
    "a list of messages with an id and a role",
    lambda value: (
        _OBJECTS[1](value)
        and all(isinstance(item.get(name), str) for item in value for name in ("id", "role"))
    ),
)
_USAGE: Final[_Check] = (
    "a list of objects with counts",
    lambda value: (
        _OBJECTS[1](value)
        and all(_is_count(item[name]) for item in value for name in _COUNTS if name in item)
    ),
)
_IDS: Final[_Check] = (
    "a list of strings",
    lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
)

_COMMON: Final[Mapping[str, _Check]] = {
    "timestamp": ("a whole number", _is_integer),
    "rawEvent": _SOME,
    "metadata": _OBJECT,
}
_OWNED: Final[Mapping[str, _Check]] = {**_COMMON, "subagentRunId": _TEXT}
_MESSAGE: Final[Mapping[str, _Check]] = {"messageId": _TEXT}
_CALL: Final[Mapping[str, _Check]] = {"toolCallId": _TEXT}
_RUN: Final[Mapping[str, _Check]] = {"threadId": _TEXT, "runId": _TEXT}
_DELTA: Final[Mapping[str, _Check]] = {"delta": _TEXT}
_ROLE: Final = _one_of("developer", "system", "assistant", "user")
_SUBAGENT: Final[Mapping[str, _Check]] = {"subagentRunId": _TEXT}
_STEP: Final[Mapping[str, _Check]] = {"stepName": _TEXT}
_Fields = Mapping[str, _Check]

_EVENTS: Final[Mapping[str, tuple[_Fields, _Fields]]] = {
    "TEXT_MESSAGE_START": (_MESSAGE, {**_OWNED, "role": _ROLE, "name": _TEXT}),
    "TEXT_MESSAGE_CONTENT": ({**_MESSAGE, **_DELTA}, _OWNED),
    "TEXT_MESSAGE_END": (_MESSAGE, _OWNED),
    "TEXT_MESSAGE_CHUNK": ({}, {**_OWNED, **_MESSAGE, **_DELTA, "role": _ROLE, "name": _TEXT}),
    "TOOL_CALL_START": ({**_CALL, "toolCallName": _TEXT}, {**_OWNED, "parentMessageId": _TEXT}),
    "TOOL_CALL_ARGS": ({**_CALL, **_DELTA}, _OWNED),
    "TOOL_CALL_END": (_CALL, _OWNED),
    "TOOL_CALL_CHUNK": (
        {},
        {**_OWNED, **_CALL, **_DELTA, "toolCallName": _TEXT, "parentMessageId": _TEXT},
    ),
    "TOOL_CALL_RESULT": (
        {**_MESSAGE, **_CALL, "content": _CONTENT},
        {**_OWNED, "role": _one_of("tool")},
    ),
    "STATE_SNAPSHOT": ({"snapshot": _ANY}, _OWNED),
    "STATE_DELTA": ({"delta": _OBJECTS}, _OWNED),
    "MESSAGES_SNAPSHOT": ({"messages": _MESSAGES}, _COMMON),
    "ACTIVITY_SNAPSHOT": (
        {**_MESSAGE, "activityType": _TEXT, "content": _OBJECT},
        {**_OWNED, "replace": _FLAG},
    ),
    "ACTIVITY_DELTA": ({**_MESSAGE, "activityType": _TEXT, "patch": _OBJECTS}, _OWNED),
    "RAW": ({"event": _ANY}, {**_OWNED, "source": _TEXT}),
    "CUSTOM": ({"name": _TEXT, "value": _ANY}, _OWNED),
    "RUN_STARTED": (
        _RUN,
        {**_COMMON, "protocolVersion": _TEXT, "parentRunId": _TEXT, "input": _OBJECT},
    ),
    "RUN_FINISHED": (_RUN, {**_COMMON, "result": _SOME, "outcome": _OBJECT, "usage": _USAGE}),
    "RUN_ERROR": ({"message": _TEXT}, {**_COMMON, "code": _TEXT, "usage": _USAGE}),
    "STEP_STARTED": (_STEP, _OWNED),
    "STEP_FINISHED": (_STEP, _OWNED),
    "REASONING_START": (_MESSAGE, _OWNED),
    "REASONING_MESSAGE_START": ({**_MESSAGE, "role": _one_of("reasoning")}, _OWNED),
    "REASONING_MESSAGE_CONTENT": ({**_MESSAGE, **_DELTA}, _OWNED),
    "REASONING_MESSAGE_END": (_MESSAGE, _OWNED),
    "REASONING_MESSAGE_CHUNK": ({}, {**_OWNED, **_MESSAGE, **_DELTA}),
    "REASONING_END": (_MESSAGE, _OWNED),
    "REASONING_ENCRYPTED_VALUE": (
        {"subtype": _one_of("message", "tool-call"), "entityId": _TEXT, "encryptedValue": _TEXT},
        _OWNED,
    ),
    "SUBAGENT_STARTED": (
        {**_SUBAGENT, "name": _TEXT},
        {
            **_COMMON,
            "description": _TEXT,
            "parentSubagentRunId": _TEXT,
            "parentToolCallId": _TEXT,
            "parentMessageId": _TEXT,
        },
    ),
    "SUBAGENT_FINISHED": (_SUBAGENT, {**_COMMON, "result": _SOME, "outcome": _OBJECT}),
    "SUBAGENT_ERROR": ({**_SUBAGENT, "message": _TEXT}, {**_COMMON, "code": _TEXT}),
}
"""The type of an event → its required and its optional fields."""

_OLD_NULLS: Final[Mapping[str, tuple[str, ...]]] = {
    "TOOL_CALL_START": ("parentMessageId",),
    "TOOL_CALL_CHUNK": ("parentMessageId",),
    "RUN_FINISHED": ("outcome", "result"),
    "SUBAGENT_FINISHED": ("result",),
}
"""The optional fields of a type that the client still reads as absent if they are null, as older
producers write them. For all types this also holds for ``rawEvent``.
"""
_OUTCOMES: Final[Mapping[str, _Fields]] = {
    "success": {"pendingToolCallIds": _IDS},
    "interrupt": {"interrupts": _OBJECTS},
    "cancelled": {},
}


def checked(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event without the nulls of older producers. Raises `Unreadable` for an event that
    the client drops or refuses.
    """
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _EVENTS:
        raise Unreadable(f"the official client drops the type {short_json(kind)}")
    old = ("rawEvent", *_OLD_NULLS.get(kind, ()))
    event = {name: value for name, value in event.items() if value is not None or name not in old}
    required, optional = _EVENTS[kind]
    for name in required:
        if name not in event:
            raise Unreadable(f"{kind} has no {name}")
    _check(kind, event, {**required, **optional})
    if kind == "RUN_FINISHED" and "outcome" in event:
        _check_outcome(event["outcome"])
    return event


def _check(place: str, holder: dict[str, Json], fields: _Fields) -> None:
    for name, (expected, fits) in fields.items():
        if name in holder and not fits(holder[name]):
            raise Unreadable(
                f"{name} of {place} is {short_json(holder[name])}; expected {expected}"
            )


def _check_outcome(outcome: dict[str, Json]) -> None:
    """Check an outcome. The client removes an outcome of a type that it does not know."""
    kind = str(outcome.get("type"))
    _check(f"outcome {kind}", outcome, _OUTCOMES.get(kind, {}))
    if kind == "interrupt" and not outcome.get("interrupts"):
        raise Unreadable("outcome interrupt has no interrupts")
