"""Changes of streams of Chat Completions: messages with deltas, calls and token counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body
from harness.stream.json_codec import Json

from .messages import (
    Change,
    Edit,
    Messages,
    is_whole,
    json_texts,
    put_in_all,
    reversed_keys,
    rewritten,
)
from .messages import edited as messages_edited

END: Final = b"data: [DONE]"
_OPEN_TAG: Final = re.compile("</?[a-z]*$")


def chunks_of(exchange: Exchange) -> Messages | None:
    """Return the messages of a whole stream with a finish reason; None for any other answer."""
    if not is_whole(exchange):
        return None
    frames = frames_of_body(exchange.body)
    messages = [frame.json for frame in frames if frame.raw is None or frame.raw != "[DONE]"]
    if not all(
        isinstance(item, dict) and item.get("object") == "chat.completion.chunk"
        for item in messages
    ):
        return None
    ended = any(choice.get("finish_reason") for _, choice in choices(messages))
    return messages if ended and _has_good_calls(messages) else None


def written(
    messages: Messages,
    line_end: str = "\n",
    *,
    ascii_: bool = False,
    spaced: bool = False,
    reverse: bool = False,
) -> bytes:
    """Return the messages as server-sent events, without an end mark. ``reverse`` reverses the
    keys.
    """
    chunks = reversed_keys(messages) if reverse else messages
    texts = json_texts(chunks, ascii_=ascii_, spaced=spaced)
    return "".join(f"data: {text}{line_end * 2}" for text in texts).encode()


def respelled(line_end: str = "\n", **spelling: bool) -> Change:
    """Write the messages of a whole stream again, in a single read."""

    def change(exchange: Exchange) -> Exchange | None:
        mark = _end_mark(exchange, line_end)
        write = rewritten(chunks_of, lambda chunks: written(chunks, line_end, **spelling) + mark)
        return write(exchange)

    return change


def ended_by(text: bytes) -> Change:
    """Replace the end mark by these bytes."""
    return rewritten(chunks_of, lambda chunks: written(chunks) + text)


def edited(edit: Edit) -> Change:
    """Return the change that ``edit`` makes to the messages of a whole stream."""

    def change(exchange: Exchange) -> Exchange | None:
        mark = _end_mark(exchange)
        return messages_edited(edit, chunks_of, lambda chunks: written(chunks) + mark)(exchange)

    return change


def _end_mark(exchange: Exchange, line_end: str = "\n") -> bytes:
    return END + line_end.encode() * 2 if END in exchange.body else b""


def chunks_to_cut(exchange: Exchange) -> Messages | None:
    """Return the messages of a whole stream. None if the text of a message ends inside a tag,
    because a stream that is cut there would give half a tag as text.
    """
    messages = chunks_of(exchange) or []
    texts = (str(delta.get("content")) for delta in deltas(messages))
    return None if not messages or any(map(_OPEN_TAG.search, texts)) else messages


def choices(messages: Messages) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
    """Yield (message, choice 0) of every message with a choice 0."""
    for message in messages:
        for choice in message.get("choices") or []:
            if isinstance(choice, dict) and not choice.get("index"):
                yield message, choice


def deltas(messages: Messages) -> Iterator[dict[str, Json]]:
    """Yield the delta of choice 0 in every message that has one."""
    for _, choice in choices(messages):
        if isinstance(choice.get("delta"), dict):
            yield choice["delta"]


def calls(messages: Messages) -> Iterator[dict[str, Json]]:
    """Yield every item of ``tool_calls``."""
    for delta in deltas(messages):
        yield from (call for call in delta.get("tool_calls") or [] if isinstance(call, dict))


def whole_calls(messages: Messages) -> list[dict[str, Json]]:
    """Return the calls if each of them is a whole call of a function and has an id, else no
    calls.
    """
    items = list(calls(messages))
    named = (call.get("id") and (call.get("function") or {}).get("name") for call in items)
    return items if all(named) and all(_object_of(call) for call in items) else []


def _object_of(call: dict[str, Any]) -> bool:
    text = (call.get("function") or {}).get("arguments")
    return isinstance(text, str) and bool(text) and isinstance(arguments_of(text), dict)


def _has_good_calls(messages: Messages) -> bool:
    """Return whether every call of the stream is whole, or comes in pieces with an index that
    together are an object.
    """
    items = list(calls(messages))
    if not items or whole_calls(messages):
        return True
    texts: dict[Json, str] = {}
    for call in items:
        function = call.get("function") or {}
        texts[call.get("index")] = texts.get(call.get("index"), "") + str(function.get("arguments"))
    return None not in texts and all(
        isinstance(arguments_of(text), dict) for text in texts.values()
    )


def _chunk(like: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """Return a message with one delta, and with the ids and names of another message."""
    names = {name: value for name, value in like.items() if name not in ("choices", "usage")}
    return {**names, "choices": [{"delta": delta, "index": 0}]}


def add_indexes(messages: Messages) -> None:
    """Give every call an index."""
    for index, call in enumerate(whole_calls(messages)):
        call["index"] = index


def cut_arguments(messages: Messages) -> None:
    """Send the arguments of each call in two deltas. The second delta has no id."""
    if not whole_calls(messages):
        return
    for place, message in reversed(list(enumerate(messages))):
        delta = next(deltas([message]), {})
        items = delta.get("tool_calls") or []
        if len(items) != 1:
            continue
        function = items[0]["function"]
        text = function["arguments"]
        function["arguments"] = text[: len(text) // 2]
        rest = {"function": {"arguments": text[len(text) // 2 :]}}
        messages.insert(place + 1, _chunk(message, {"tool_calls": [rest]}))
        for _, choice in choices([message]):
            if "finish_reason" in choice:
                messages[place + 1]["choices"][0]["finish_reason"] = choice.pop("finish_reason")


def split_calls(messages: Messages) -> None:
    """Send parallel calls of one delta in separate deltas."""
    for place, message in enumerate(messages):
        delta = next(deltas([message]), {})
        items = delta.get("tool_calls") or []
        if len(items) > 1:
            early = [_chunk(message, {"tool_calls": [item]}) for item in items[:-1]]
            delta["tool_calls"] = items[-1:]
            messages[place:place] = early
            return


def move_usage(messages: Messages) -> None:
    """Send the latest token counts in a last message without choices."""
    counts = [usage for item in messages if (usage := item.pop("usage", None))]
    if counts:
        messages.append({**_chunk(messages[0], {}), "choices": [], "usage": counts[-1]})


def cut_text(messages: Messages) -> None:
    """Send each character of the text in its own delta. This also cuts its tags."""
    for place, message in reversed(list(enumerate(messages))):
        delta = next(deltas([message]), {})
        content, extra = delta.get("content"), delta.get("extra_content", {})
        if not isinstance(content, str) or len(content) < 2 or "signature" in json.dumps(extra):
            continue
        marks = {"extra_content": extra} if extra else {}
        delta["content"] = content[-1]
        messages[place:place] = [_chunk(message, {"content": c, **marks}) for c in content[:-1]]


def move_signature(messages: Messages) -> None:
    """Move the signature of a text to its own delta."""
    for place, message in enumerate(messages):
        delta = next(deltas([message]), {})
        if delta.get("content") and "thought_signature" in json.dumps(delta.get("extra_content")):
            signed = _chunk(message, {"extra_content": delta.pop("extra_content")})
            signed["choices"][0] |= {
                name: choice.pop(name)
                for _, choice in choices([message])
                for name in ("finish_reason",)
                if name in choice
            }
            messages.insert(place + 1, signed)
            return


def rename_vendor(messages: Messages) -> None:
    """Move the fields of ``extra_content`` to the key of Vertex AI."""
    extras = [item.get("extra_content") or {} for item in (*deltas(messages), *calls(messages))]
    for extra in extras:
        if "google" in extra:
            extra["vertex"] = extra.pop("google")


def with_ids(call_id: str | None) -> Edit:
    """Give every whole call this id, or no id."""

    return lambda messages: put_in_all(whole_calls(messages), "id", call_id)


def add_unknown_fields(messages: Messages) -> None:
    for message, choice in choices(messages):
        message["new_field"] = {"deep": [1]}
        choice["new_field"] = "x"


def with_finish(reason: str | None) -> Edit:
    """Replace or removes every finish reason."""

    def edit(messages: Messages) -> None:
        finished = (choice for _, choice in choices(messages) if choice.get("finish_reason"))
        put_in_all(finished, "finish_reason", reason)

    return edit


def add_choice(messages: Messages) -> None:
    """Add a second choice to the answer."""
    for message, _ in choices(messages):
        delta = {"content": "another", "role": "assistant"}
        message["choices"].append({"delta": delta, "finish_reason": "stop", "index": 1})
        return
