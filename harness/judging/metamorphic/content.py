"""Changes of message content: parts, calls, ids, finish reasons, token counts, candidates."""

from __future__ import annotations

import re
from typing import Any, Final

from harness.stream.exchange import Exchange

from .messages import (
    Edit,
    Messages,
    answer_messages,
    answers,
    append_part,
    as_events,
    calls,
    parts,
    put_in_all,
    responses,
)
from .reads import with_reads

DEEPER: Final = 5000
"""A number of nested levels that a reader may refuse."""


def appended(part: dict[str, Any]) -> Edit:
    return lambda messages: append_part(messages, part)


def move_signature(messages: Messages) -> None:
    """Move the first signature of answer text to a separate empty part after the text."""
    for siblings, index in parts(messages):
        part = siblings[index]
        if "text" in part and not part.get("thought") and "thoughtSignature" in part:
            empty = {"text": "", "thoughtSignature": part.pop("thoughtSignature")}
            siblings.insert(index + 1, empty)
            return


def split_parallel_calls(messages: Messages) -> None:
    """Move all parts except the last of a message with parallel calls to separate messages."""
    for number, (message, response) in enumerate(zip(messages, responses(messages), strict=True)):
        for candidate in answers([response]):
            siblings = (candidate.get("content") or {}).get("parts") or []
            if sum("functionCall" in part for part in siblings if isinstance(part, dict)) < 2:
                continue
            early: Messages = [
                {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
                for part in siblings[:-1]
            ]
            enveloped = message is not response
            messages[number:number] = [{"response": item} for item in early] if enveloped else early
            candidate["content"]["parts"] = siblings[-1:]
            return


def stream_arguments(messages: Messages) -> None:
    """Send the first call with flat arguments in pieces. Each piece has its JSON path."""
    for siblings, index in calls(messages):
        call = siblings[index]["functionCall"]
        arguments = call.get("args") or {}
        if not arguments or not all(
            isinstance(value, str | bool) and re.fullmatch(r"\w+", name)
            for name, value in arguments.items()
        ):
            continue
        pieces = [
            {
                "jsonPath": f"$.{name}",
                "boolValue" if isinstance(value, bool) else "stringValue": value,
            }
            for name, value in arguments.items()
        ]
        del call["args"]
        call["willContinue"] = True
        siblings[index + 1 : index + 1] = [
            {"functionCall": {"partialArgs": pieces, "willContinue": True}},
            {"functionCall": {}},
        ]
        return


def with_ids(call_id: str | None) -> Edit:
    """Give every call this id, or no id."""

    def edit(messages: Messages) -> None:
        if any("functionResponse" in siblings[index] for siblings, index in parts(messages)):
            return  # a result refers to its call by the id
        whole = (siblings[index]["functionCall"] for siblings, index in calls(messages))
        put_in_all(whole, "id", call_id)

    return edit


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def with_first_argument(value: Any) -> Edit:
    """Give the first call one argument, ``n``, with this value."""

    def edit(messages: Messages) -> None:
        if any(word in str(messages) for word in ("tool_code", "partialArgs")):
            return  # the first call may be one of these
        for siblings, index in calls(messages):
            siblings[index]["functionCall"]["args"] = {"n": value}
            return

    return edit


def with_too_deep_argument(exchange: Exchange) -> Exchange | None:
    """Append a call with an argument that is `DEEPER` levels deep.

    The call is written as text, because the standard library can't write so many levels.
    """
    messages = answer_messages(exchange)
    if messages is None:
        return None
    call = f'{{"name": "f", "args": {{"n": {"[" * DEEPER}1{"]" * DEEPER}}}}}'
    message = f'{{"candidates": [{{"content": {{"parts": [{{"functionCall": {call}}}]}}}}]}}'
    return with_reads(exchange, as_events(messages) + f"data: {message}\r\n\r\n".encode())


def with_finish(reason: str | None) -> Edit:
    """Replace or removes every finish reason."""

    def edit(messages: Messages) -> None:
        finished = (item for item in answers(messages) if "finishReason" in item)
        put_in_all(finished, "finishReason", reason)

    return edit


def repeat_finish(messages: Messages) -> None:
    """Send the last finish reason again, in a separate message."""
    reasons = [item["finishReason"] for item in answers(messages) if "finishReason" in item]
    if reasons:
        append_part(messages, {"text": ""})
        next(iter(answers(messages[-1:])))["finishReason"] = reasons[-1]


def move_usage_to_the_end(messages: Messages) -> None:
    """Send all token counts in the last message."""
    counts: dict[str, Any] = {}
    replies = list(responses(messages))
    for response in replies:
        counts |= response.pop("usageMetadata", None) or {}
    if counts:
        replies[-1]["usageMetadata"] = counts


def add_candidate(messages: Messages) -> None:
    content = {"parts": [{"text": "another"}], "role": "model"}
    for response in responses(messages):
        if any(True for _ in answers([response])):
            other = {"index": 1, "content": content, "finishReason": "STOP"}
            response["candidates"].append(other)
            return


def block(messages: Messages) -> None:
    """Replace the answer by a message that reports that the prompt was blocked."""
    messages[:] = [{"promptFeedback": {"blockReason": "BRAND_NEW"}}]
