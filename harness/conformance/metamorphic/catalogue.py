"""The catalogue of wire mutations: every change that Gemini's wire, or a network, is known to make,
and what must hold then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from harness.stream.exchange import Exchange

from .bytes import (
    ERROR,
    anywhere,
    around,
    behind_an_event,
    cut_at,
    followed_by,
    inside_a_character,
    inside_characters,
    line_ends,
    refused,
    truncated,
    uncut,
)
from .messages import (
    Messages,
    after,
    answers,
    as_stream,
    calls,
    changed,
    holder_of,
    messages_of,
    parts,
    responses,
    with_body,
)
from .relations import ANSWERED, FAILED, PREFIX, Relation, equal
from .spelling import envelop, number_reasons, spell_in_snake_case, unknown_fields

HUGE: Final = 1 << 20
BEYOND: Final = 2**64 + 1
DEEP: Final = 50
DEEPER: Final = 5000


@dataclass(frozen=True, slots=True)
class Mutation:
    """A named change of a recorded answer. ``change`` gives the changed exchange, None where there
    is nothing to change.
    """

    name: str
    says: str
    relation: Relation
    change: Callable[[Exchange], Exchange | None]


# Parts


def _append(part: dict[str, Any]) -> Callable[[Messages], bool]:
    def change(messages: Messages) -> bool:
        after(messages, part)
        return True

    return change


def _move_signature(messages: Messages) -> bool:
    """The signature of answer text stands at an empty part of its own, right behind."""
    for listed, at in parts(messages):
        if (
            "text" in listed[at]
            and not listed[at].get("thought")
            and "thoughtSignature" in listed[at]
        ):
            listed.insert(
                at + 1, {"text": "", "thoughtSignature": listed[at].pop("thoughtSignature")}
            )
            return True
    return False


def _split_parallel(messages: Messages) -> bool:
    for candidate in answers(messages):
        listed = (candidate.get("content") or {}).get("parts") or []
        if sum("functionCall" in part for part in listed if isinstance(part, dict)) > 1:
            at = messages.index(
                next(
                    one
                    for one in messages
                    if holder_of(messages, candidate) in (one, one.get("response"))
                )
            )
            early = [
                {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
                for part in listed[:-1]
            ]
            enveloped = isinstance(messages[at].get("response"), dict)
            messages[at:at] = [{"response": one} for one in early] if enveloped else early
            candidate["content"]["parts"] = listed[-1:]
            return True
    return False


def _stream_arguments(messages: Messages) -> bool:
    """A whole call, told in pieces, each with its JSON path."""
    for listed, at in calls(messages):
        call = listed[at]["functionCall"]
        flat = {
            name: value
            for name, value in (call.get("args") or {}).items()
            if isinstance(value, str | bool) and re.fullmatch(r"\w+", name)
        }
        if flat and flat == call["args"]:
            pieces = [
                {
                    "jsonPath": f"$.{name}",
                    "boolValue" if isinstance(value, bool) else "stringValue": value,
                }
                for name, value in flat.items()
            ]
            del call["args"]
            call["willContinue"] = True
            listed[at + 1 : at + 1] = [
                {"functionCall": {"partialArgs": pieces, "willContinue": True}},
                {"functionCall": {}},
            ]
            return True
    return False


def _ids(given: str | None) -> Callable[[Messages], bool]:
    def change(messages: Messages) -> bool:
        if any(
            "functionResponse" in listed[at] for listed, at in parts(messages)
        ):  # the id says whose result that is
            return False
        found = [listed[at]["functionCall"] for listed, at in calls(messages)]
        for call in found:
            call.pop("id", None)
            call |= {} if given is None else {"id": given}
        return bool(found)

    return change


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _first_argument(value: Any) -> Callable[[Messages], bool]:
    def change(messages: Messages) -> bool:
        if any(
            word in str(messages) for word in ("tool_code", "partialArgs")
        ):  # another call may be the first then
            return False
        for listed, at in calls(messages):
            listed[at]["functionCall"]["args"] = {"n": value}
            return True
        return False

    return change


def _too_deep(exchange: Exchange) -> Exchange | None:
    """Written as text: the standard library does not nest so deep."""
    messages = messages_of(exchange)
    if messages is None:
        return None
    args = f'{{"n": {"[" * DEEPER}1{"]" * DEEPER}}}'
    part = (
        '{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args":'
        f" {args}}}}}]}}}}]}}"
    )
    return with_body(
        exchange, as_stream(exchange, messages).body + f"data: {part}\r\n\r\n".encode()
    )


def _first_call(arguments: Any) -> Callable[[list[tuple[str, Any]]], Any]:
    return lambda said: [(said[0][0], arguments), *said[1:]] if said else said


# Ends and counts


def _finish(reason: str | None) -> Callable[[Messages], bool]:
    def change(messages: Messages) -> bool:
        found = [one for one in answers(messages) if "finishReason" in one]
        for one in found:
            one.pop("finishReason")
            one |= {} if reason is None else {"finishReason": reason}
        return bool(found)

    return change


def _finish_twice(messages: Messages) -> bool:
    found = [one["finishReason"] for one in answers(messages) if "finishReason" in one]
    if found:
        after(messages, {"text": ""})
        next(iter(answers(messages[-1:])))["finishReason"] = found[-1]
    return bool(found)


def _no_usage(messages: Messages) -> bool:
    found = [
        response.pop("usageMetadata")
        for response in responses(messages)
        if "usageMetadata" in response
    ]
    return bool(found)


def _usage_last(messages: Messages) -> bool:
    listed = list(responses(messages))
    counts: dict[str, Any] = {}
    for response in listed:
        counts |= response.pop("usageMetadata", None) or {}
    if counts:
        listed[-1]["usageMetadata"] = counts
    return len(listed) > 1 and bool(counts)


def _another_candidate(messages: Messages) -> bool:
    other = {
        "index": 1,
        "content": {"parts": [{"text": "another"}], "role": "model"},
        "finishReason": "STOP",
    }
    for candidate in answers(messages):
        holder_of(messages, candidate)["candidates"].append(other)
        return True
    return False


def _blocked(messages: Messages) -> bool:
    messages[:] = [{"promptFeedback": {"blockReason": "BRAND_NEW"}}]
    return True


SAME: Final = equal()
_TEXT: Final = "more"
_SURROGATE: Final = "a\ud83d"
_HUGE_TEXT: Final = "x" * HUGE

MUTATIONS: Final[tuple[Mutation, ...]] = (
    Mutation(
        "cut-every-byte",
        "each byte comes in a read of its own",
        SAME,
        cut_at(lambda body: list(range(1, len(body)))),
    ),
    Mutation("uncut", "all bytes come in one read", SAME, uncut),
    Mutation("cut-anywhere", "reads end at places like any others", SAME, cut_at(anywhere)),
    Mutation(
        "cut-inside-characters",
        "reads end inside UTF-8 characters",
        SAME,
        cut_at(inside_characters),
    ),
    Mutation(
        "cut-inside-line-ends",
        "reads end between CR and LF",
        SAME,
        cut_at(lambda body: [at.end() - 1 for at in re.finditer(b"\r\n", body)]),
    ),
    Mutation(
        "cut-inside-tags",
        "reads end inside <tool_code>",
        SAME,
        cut_at(lambda body: [at.start() + 4 for at in re.finditer(b"tool_code", body)]),
    ),
    Mutation("lf", "lines end in LF", SAME, line_ends(b"\n")),
    Mutation("cr", "lines end in CR", SAME, line_ends(b"\r")),
    Mutation("crlf", "lines end in CRLF", SAME, line_ends(b"\r\n")),
    Mutation(
        "comments", "comments stand around the events", SAME, around(b": ping\n\n", b": pong\n\n")
    ),
    Mutation(
        "event-fields",
        "events have names, ids and times",
        SAME,
        around(b"event: message\nid: 7\nretry: 1000\n", b""),
    ),
    Mutation("snake-case", "fields are spelled in snake_case", SAME, changed(spell_in_snake_case)),
    Mutation("numeric-reasons", "finish reasons are numbers", SAME, changed(number_reasons)),
    Mutation("envelope", "each message is wrapped as Code Assist does", SAME, changed(envelop)),
    Mutation(
        "unknown-fields",
        "messages and candidates have fields that nobody knows",
        SAME,
        changed(unknown_fields),
    ),
    Mutation(
        "unknown-part",
        "a part is of a kind that nobody knows",
        SAME,
        changed(_append({"hologram": {"x": 1}})),
    ),
    Mutation(
        "unknown-reason",
        "the finish reason is a new word",
        equal(less=["finish"]),
        changed(_finish("BRAND_NEW")),
    ),
    Mutation(
        "unknown-block", "the prompt is blocked for a new reason", ANSWERED, changed(_blocked)
    ),
    Mutation("no-usage", "nothing is counted", equal(less=["usage"]), changed(_no_usage)),
    Mutation("usage-last", "all counts come in the last message", SAME, changed(_usage_last)),
    Mutation(
        "signature-moved",
        "a text's signature comes in an empty part behind it",
        SAME,
        changed(_move_signature),
    ),
    Mutation(
        "parallel-split",
        "parallel calls come in messages of their own",
        SAME,
        changed(_split_parallel),
    ),
    Mutation(
        "arguments-streamed",
        "a call comes in pieces with JSON paths",
        SAME,
        changed(_stream_arguments),
    ),
    Mutation("ids-repeated", "all calls have one id", SAME, changed(_ids("same"))),
    Mutation("ids-missing", "no call has an id", SAME, changed(_ids(None))),
    Mutation("finish-twice", "the finish reason comes twice", SAME, changed(_finish_twice)),
    Mutation(
        "finish-missing",
        "no finish reason comes",
        equal(less=["finish", "failed", "usage"]),
        changed(_finish(None)),
    ),
    Mutation(
        "text-after-finish",
        "text follows the finish reason",
        equal(text=_TEXT),
        changed(_append({"text": _TEXT})),
    ),
    Mutation(
        "error-raw",
        "an error stands bare behind the events",
        PREFIX,
        followed_by(json.dumps(ERROR, indent=2).encode() + b"\n"),
    ),
    Mutation(
        "error-as-event",
        "an error is an event",
        PREFIX,
        followed_by(b"data: " + json.dumps(ERROR).encode() + b"\n\n"),
    ),
    Mutation(
        "error-as-array",
        "an event is an array with an error",
        PREFIX,
        followed_by(b"data: " + json.dumps([ERROR]).encode() + b"\n\n"),
    ),
    Mutation("error-instead", "an error comes instead of the answer", FAILED, refused),
    Mutation(
        "truncated",
        "the connection breaks in the middle",
        PREFIX,
        truncated(lambda body: len(body) // 2),
    ),
    Mutation(
        "truncated-at-once",
        "the connection breaks before a byte has come",
        PREFIX,
        truncated(lambda body: 0),
    ),
    Mutation(
        "truncated-behind-event",
        "the connection breaks between two events",
        PREFIX,
        truncated(behind_an_event),
    ),
    Mutation(
        "truncated-in-character",
        "the connection breaks inside a UTF-8 character",
        PREFIX,
        truncated(inside_a_character),
    ),
    Mutation(
        "truncated-anywhere",
        "the connection breaks at a place like any other",
        PREFIX,
        truncated(lambda body: anywhere(body)[0]),
    ),
    Mutation(
        "truncated-late",
        "the connection breaks before the last byte",
        PREFIX,
        truncated(lambda body: len(body) - 1),
    ),
    Mutation(
        "second-candidate",
        "another candidate stands beside the answer",
        SAME,
        changed(_another_candidate),
    ),
    Mutation("empty-text", "a piece of text is empty", SAME, changed(_append({"text": ""}))),
    Mutation(
        "huge-text",
        f"a piece of text has {HUGE} characters",
        equal(text=_HUGE_TEXT),
        changed(_append({"text": _HUGE_TEXT})),
    ),
    Mutation(
        "lone-surrogate",
        "text holds half a character",
        equal(text=_SURROGATE),
        changed(_append({"text": _SURROGATE})),
    ),
    Mutation(
        "large-integer",
        "an argument is larger than 2⁶⁴",
        equal(calls=_first_call({"n": BEYOND})),
        changed(_first_argument(BEYOND)),
    ),
    Mutation(
        "deep-argument",
        f"an argument is {DEEP} levels deep",
        equal(calls=_first_call({"n": _nested(DEEP)})),
        changed(_first_argument(_nested(DEEP))),
    ),
    Mutation("too-deep", f"an argument is {DEEPER} levels deep", ANSWERED, _too_deep),
)
"""Every mutation, in the order of the catalogue."""
