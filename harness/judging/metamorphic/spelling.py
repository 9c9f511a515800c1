"""Changes of spelling: the same messages in another framing, or with other names of keys.

Every JSON answer has other spellings, even a failed answer.
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
    Edit,
    Messages,
    answers,
    as_events,
    edited,
    object_messages,
    parts,
    responses,
    reversed_keys,
    rewritten,
)
from .reads import with_reads

_CAPITAL: Final = re.compile("[A-Z]")
_USER_KEYED: Final = frozenset({"args", "properties", "partMetadata", "error", "metadata"})
_RESPONDERS: Final = frozenset({"functionResponse", "toolResponse"})
_INSIDE_TAGS: Final = re.compile("(?<=<tool_)|(?<=</tool_)")
_OF_TEXT: Final = {"text", "thought", "thoughtSignature", "thought_signature"}
_OF_REPLY: Final = ("responseId", "response_id", "modelVersion", "model_version")
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
    """Return the messages, with a Code Assist envelope around each that has none."""
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
    """Return the shortest JSON. Half surrogates stay escapes, because UTF-8 can't encode them."""
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


def redivided(edit: Edit) -> Change:
    """Divide the text of any JSON answer in another way, in a single read."""
    return edited(edit, lambda exchange: object_messages(exchange.body))


def text_in_pieces(messages: Messages) -> None:
    """Divide each message that is only text. The text is cut inside the tags of ``<tool_code>``, or
    in the middle if it has no tag.
    """
    written: Messages = []
    for message in messages:
        part = _only_text(message)
        if part is not None:
            *early, part["text"] = _pieces(part["text"])
            written += [_with_text_alone(message, part, piece) for piece in early]
        written.append(message)
    messages[:] = written


def text_in_one_piece(messages: Messages) -> None:
    """Join consecutive messages that are only text of the same kind."""
    written: Messages = []
    for message in messages:
        part, before = _only_text(message), _only_text(written[-1]) if written else None
        if (
            part is not None
            and before is not None
            and {*before, *part} <= {"text", "thought"}
            and before.get("thought") == part.get("thought")
            and _says_no_more(written[-1], message)
        ):
            part["text"] = before["text"] + part["text"]
            (earlier,), (later,) = responses([written.pop()]), responses([message])
            later |= earlier | later
        written.append(message)
    messages[:] = written


def _only_text(message: Json) -> dict[str, Json] | None:
    """Return the only part of a message; None if the message is more than this text."""
    candidates = [
        item for response in responses([message]) for item in response.get("candidates") or []
    ]
    all_parts = list(parts([message]))
    alone = len(candidates) == len(all_parts) == 1 and len(all_parts[0][0]) == 1
    part = all_parts[0][0][0] if alone else {}
    is_text = isinstance(part.get("text"), str) and part.keys() <= _OF_TEXT
    return part if is_text else None


def _says_no_more(message: Json, following: Json) -> bool:
    """Return whether a message has only text, and no count. (Joining it with the next message would
    add its count to that of the next message.)
    """
    earlier, later = (
        {*(item.get("usageMetadata") or item.get("usage_metadata") or {})}
        for item in responses([message, following])
    )
    of_answer = all(item.keys() <= {"content", "index"} for item in answers([message]))
    return of_answer and (not later or earlier <= later)


def _pieces(text: str) -> list[str]:
    pieces = _INSIDE_TAGS.split(text)
    middle = len(text) // 2
    return pieces if len(pieces) > 1 or not middle else [text[:middle], text[middle:]]


def _with_text_alone(message: Json, part: Json, text: str) -> Json:
    """Return a new message to put before this one. It belongs to the same answer, and has only a
    piece of the text.
    """
    (response,) = responses([message])
    kind = {"thought": part["thought"]} if "thought" in part else {}
    content = {"parts": [{"text": text} | kind], "role": "model"}
    named = {name: response[name] for name in _OF_REPLY if name in response}
    early = {"candidates": [{"content": content, "index": 0}]} | named
    return early if response is message else message | {"response": early}


def snake_case(value: Json, opaque: bool = False, parent: str = "") -> Json:
    """Return the value with its keys in snake_case. The keys of a user's own objects do not
    change.
    """
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


def number_reasons(messages: Messages) -> None:
    """Write known finish reasons as the numbers of their enum."""
    for candidate in answers(messages):
        if candidate.get("finishReason") in _NUMBERED:
            candidate["finishReason"] = _NUMBERED.index(candidate["finishReason"])


def add_unknown_fields(messages: Messages) -> None:
    for response in responses(messages):
        response["newField"] = {"deep": [1]}
    for candidate in answers(messages):
        candidate["newField"] = "x"
