"""The losses of the official SDK: the differences between the StreamEvents of ART's adapter and
those of the raw wire, and the input that the SDK refuses.

Both tables are checked against every shipped cassette: a difference without an entry fails, and so
does an entry that no cassette shows. Fields that the SDK drops, but StreamEvents cannot carry, are
not listed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from harness.dialects.dialect import Payload

BYTES: Final = ("thoughtSignature", "data")
TIMES: Final = ("timeToFirstTokenMs", "totalGenerationTimeMs")
SPELLED: Final = frozenset({"promptFeedback", "usageMetadata", "finishReason"})


class Answer(NamedTuple):
    """One answer: its raw ``body``, and ``kept``, the names of the fields of the SDK's objects.
    These fields are no losses.
    """

    body: bytes
    kept: frozenset[str]


class Loss(NamedTuple):
    """``explains(wire, sdk, answer)``: whether this loss turns one StreamEvent (or None) of the
    wire into that of the SDK.
    """

    meaning: str
    explains: Callable[[Payload | None, Payload | None, Answer], bool]


def _unknown_is_gone(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    if not _is(wire, "UNKNOWN") or _is_create_time(wire):
        return False
    # a signature without another field is a declared loss
    lost = _lost_names(_data(wire), _data(sdk)) - {"thoughtSignature"}
    return (
        bool(lost)
        and lost.isdisjoint(answer.kept)
        and (sdk is None or _holds_less(_data(wire), _data(sdk)))
    )


def _create_time_is_gone(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    return _is_create_time(wire) and sdk is None and "createTime" not in answer.kept


def _create_time_is_rewritten(wire: Payload | None, sdk: Payload | None, _: Answer) -> bool:
    if not (_is_create_time(wire) and _is_create_time(sdk)):
        return False
    ours, theirs = str(_data(wire)["createTime"]), str(_data(sdk)["createTime"])
    return ours != theirs and datetime.fromisoformat(ours) == datetime.fromisoformat(theirs)


def _usage_is_less(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    ours, theirs = _usage(wire), _usage(sdk)
    unread = _lost_names(ours, theirs).isdisjoint(answer.kept) and _holds_less(ours, theirs)
    return (
        bool(theirs)
        and unread
        and _without(wire, "providerRawUsage") == _without(sdk, "providerRawUsage")
    )


def _null_has_no_value(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    return (
        wire is None
        and _is(sdk, "UNKNOWN")
        and set(_data(sdk)) == {"jsonPath"}
        and b'"nullValue"' in answer.body
    )


def _snake_case_is_unread(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    spelled = re.search(
        rb'"(?:prompt_feedback|usage_metadata|finish_reason)"', answer.body
    ) and answer.kept.isdisjoint(SPELLED)
    unseen = ("providerRawUsage", "stopReason", "inputTokens", "outputTokens", "thinkingTokens")
    if _is(wire, "METADATA") and sdk is not None:
        return bool(spelled) and _without(wire, *unseen) == sdk
    nothing = (
        _is(wire, "ERROR")
        and _is(sdk, "ERROR")
        and str(_data(sdk)["message"]).startswith("Invalid response structure")
    )
    return bool(spelled) and nothing


def _rest_is_missing(wire: Payload | None, sdk: Payload | None, _: Answer) -> bool:
    if not (_is(wire, "ERROR") and _is(sdk, "ERROR")):
        return False
    whole, shown = str(_data(wire)["message"]), str(_data(sdk)["message"])
    return re.sub(r", \d+ characters into a message$", "", whole) == shown != whole


def _error_is_not_first(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    first = re.search(rb'(?:^|\n)(?:data: )?\{\s*"error"', answer.body)
    unseen = (_is(wire, "ERROR") and sdk is None) or (wire is None and _is(sdk, "METADATA"))
    return first is None and b'"error"' in answer.body and unseen


def _base64_is_url_safe(wire: Payload | None, sdk: Payload | None, _: Answer) -> bool:
    return (
        _is(wire, "UNKNOWN")
        and _is(sdk, "UNKNOWN")
        and _data(wire) != _data(sdk)
        and _url_safe(_data(wire)) == _data(sdk)
    )


def _list_is_unread(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    return _is(wire, "TOKEN") and sdk is None and b"\ndata: [{" in answer.body


def _no_json_is_nothing(wire: Payload | None, sdk: Payload | None, answer: Answer) -> bool:
    if not answer.body.startswith(b"<"):
        return False
    gone = _is(wire, "UNKNOWN") and isinstance(_data(wire), str) and sdk is None
    quoted = _is(wire, "ERROR") and _is(sdk, "ERROR")
    return gone or (quoted and "it begins with <" in _data(wire)["message"])


def _event_is_later(wire: Payload | None, sdk: Payload | None, _: Answer) -> bool:
    if not (_is(wire, "METADATA") and _is(sdk, "METADATA")) or _without(wire, *TIMES) != _without(
        sdk, *TIMES
    ):
        return False
    return wire != sdk and all(
        _data(wire)[time] <= _data(sdk)[time] for time in TIMES if time in _data(wire)
    )


SDK_LOSSES: Final[Mapping[str, Loss]] = {
    "unknown": Loss("fields and kinds of parts that its types do not have", _unknown_is_gone),
    "create-time": Loss("`createTime` on the Gemini API", _create_time_is_gone),
    "create-time-form": Loss(
        "a fraction of `createTime` that is zero: the SDK parses the time and serializes it again",
        _create_time_is_rewritten,
    ),
    "usage-fields": Loss(
        "fields of `usageMetadata` that its types do not have, such as `serviceTier`",
        _usage_is_less,
    ),
    "null-value": Loss(
        "the null of a streamed argument: the piece has no value in the SDK", _null_has_no_value
    ),
    "snake-case": Loss(
        "fields in snake_case, which the API's own JSON may also have", _snake_case_is_unread
    ),
    "rest": Loss("the part of a message that came before the connection broke", _rest_is_missing),
    "error-behind-other-keys": Loss(
        "an error in the stream whose object is not the first in its message",
        _error_is_not_first,
    ),
    "base64": Loss(
        "the alphabet of base64: the SDK gives bytes in the URL-safe alphabet", _base64_is_url_safe
    ),
    "list-in-an-event": Loss("an array of replies in one event", _list_is_unread),
    "no-json": Loss("an answer in one piece that is not JSON", _no_json_is_nothing),
    "event-end": Loss(
        "the time when a message was complete: the SDK waits for the blank line, or for the byte after a CR",
        _event_is_later,
    ),
}
"""Name → loss; the adapter continues."""

SDK_REFUSALS: Final[Mapping[str, str]] = {
    r"UnknownApiResponseError: .*Raw response: \ufeff": "a byte order mark",
    r"UnknownApiResponseError: .*Raw response: :": "comments of server-sent events",
    r"UnknownApiResponseError: .*Raw response: (?:event|id|retry):": (
        "the fields `event:`, `id:` and `retry:`"
    ),
    r"UnknownApiResponseError: .*Raw response: data:\{": "`data:` without a space after it",
    r"UnknownApiResponseError: .*Raw response: data:(?!\{)": (
        "an event without data, or one that is framed twice"
    ),
    r"UnknownApiResponseError: .*Raw response: b'": "the printed form of Python bytes",
    r"UnknownApiResponseError: .*Raw response: <!DOCTYPE html>": "a web page",
    r"TypeError: string indices must be integers": "a message that is a JSON string",
    r"UnknownApiResponseError: .*Raw response: \[DONE\]": "`[DONE]`",
    r"UnknownApiResponseError: .*Raw response: \[\{": "a JSON array instead of server-sent events",
    r"UnknownApiResponseError: .*Raw response: \{.*\}\n\{": "several messages in one event",
    r"UnknownApiResponseError: .*Raw response: \{(?!.*\}\n\{)": "a message that is broken JSON",
    r"UnknownApiResponseError: .*Raw response: [a-z]+ ": "a line of plain text",
    r"ValidationError: .*functionCall\.args": (
        "arguments that are not an object, such as JSON in a string"
    ),
    r"AttributeError: 'int' object has no attribute 'upper'": "a finish reason in digits",
    r"TypeError: '<=' not supported": "an error in the stream without a number",
}
"""The beginning of the SDK's message → the refused input; the adapter gives the events before it,
then ERROR and END.
"""


def _is(payload: Payload | None, kind: str) -> bool:
    return payload is not None and payload["type"] == kind


def _is_create_time(payload: Payload | None) -> bool:
    return _is(payload, "UNKNOWN") and "createTime" in _data(payload)


def _data(payload: Payload | None) -> Any:
    return payload["data"] if payload else {}


def _usage(payload: Payload | None) -> Any:
    return _data(payload).get("providerRawUsage", {}) if _is(payload, "METADATA") else {}


def _without(payload: Payload | None, *fields: str) -> Payload:
    data = (
        {name: value for name, value in _data(payload).items() if name not in fields}
        if payload
        else {}
    )
    return {**(payload or {}), "data": data}


def _holds_less(whole: Any, part: Any) -> bool:
    """Whether ``part`` is ``whole`` with some of its keys missing, at any depth."""
    if isinstance(whole, dict) and isinstance(part, dict):
        inside = all(
            key in whole and (whole[key] == value or _holds_less(whole[key], value))
            for key, value in part.items()
        )
        return inside and whole != part
    return False


def _lost_names(whole: Any, part: Any) -> set[str]:
    """The names of the fields that ``part`` lacks, also those inside its objects."""
    if not isinstance(whole, dict) or not isinstance(part, dict):
        return set()
    inside = [_lost_names(value, part[key]) for key, value in whole.items() if key in part]
    return set().union(whole.keys() - part.keys(), *inside)


def _url_safe(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _url_safe(inner, name) for name, inner in value.items()}
    return (
        value.translate(str.maketrans("+/", "-_"))
        if isinstance(value, str) and key in BYTES
        else value
    )
