"""The order of the events of a response, and the ways in which a body differs from the documented
wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from harness.stream.exchange import Request
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, objects_in
from harness.stream.oddities import Oddities

from ..openai_compat.normalizer import OBJECTS
from ..openai_compat.whole import fault_of as fault_of_chat
from .messages import is_response

_OVER: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ITEM: Final = "response.output_item."
_BESIDE: Final = frozenset({"error", "keepalive"})
_IN_ITEM: Final = re.compile(
    r"response\.(?:content_part|output_text|refusal|reasoning\w*|function_call_arguments"
    r"|custom_tool_call_input)\."
)
"""The events that belong to an item that has begun."""
_TEXT: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})


def variants_in(body: bytes, frames: Sequence[Frame], oddities: Oddities) -> list[str]:
    """Return the variants in a body, in words; none for the documented wire."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    ended = [str(frame.raw).strip() for frame in frames if frame.raw is not None]
    if any(map(is_response, messages)):
        return _of_responses(messages, ended)
    return _of_chat(messages)


def fault_of(request: Request | None, frames: Sequence[Frame]) -> str:
    """Return why messages are not one whole answer of the API that their request is for, or ""."""
    messages = [frame.json for frame in frames if isinstance(frame.json, dict)]
    path = urlsplit(request.url).path if request else ""
    is_of_responses = any(map(is_response, messages))
    if "/responses" in path and not is_of_responses and any("choices" in item for item in messages):
        return "is an answer of Chat Completions to a request of the Responses API"
    if path.endswith("/chat/completions") and is_of_responses:
        return "is an answer of the Responses API to a request of Chat Completions"
    if sum(item.get("type") == "response.created" for item in messages) > 1:
        return "has two answers"
    return fault_of_chat(request, frames)


def _of_responses(messages: list[dict[str, Any]], ended: list[str]) -> list[str]:
    variants = set()
    if not is_in_order(messages):
        variants.add("events out of order")
    if _has_text_without_part(messages):
        variants.add("text without content_part.added")
    if "[DONE]" in ended:
        variants.add("[DONE] after the events of a response")
    return sorted(variants | {*_of_items(messages)})


def _of_items(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the forms of items that proxies send and OpenAI does not."""
    ids: dict[Json, Json] = {}
    pieces: set[tuple[Json, Json]] = set()
    for message in messages:
        kind, index = message.get("type"), _key(message.get("output_index"))
        part = (index, _key(message.get("content_index")))
        item, response = message.get("item"), message.get("response")
        own = item.get("id") if isinstance(item, dict) else message.get("item_id")
        if kind == f"{_ITEM}added":
            ids[index] = own
        elif own is not None and own != ids.get(index, own):
            yield "an item whose id changes"
        if kind in _TEXT:
            pieces.add(part)
        elif kind == "response.output_text.done":
            if ids and message.get("text") and part not in pieces:
                yield "a text without its pieces"
        elif (
            kind == "response.completed"
            and ids
            and isinstance(response, dict)
            and not response.get("output")
        ):
            yield "a response that ends without its items"


def _key(index: Json) -> Json:
    """Return an index that can be a key."""
    return index if isinstance(index, int | str | None) else str(index)


def is_in_order(messages: Iterable[Json]) -> bool:
    """Return whether the events of a stream have the documented order: a beginning, items that each
    begin, have their content and end, and one last event. Events of other types may be anywhere. A
    resumed stream begins anywhere.
    """
    open_items: set[Json] = set()
    begun = over = False
    for message in messages:
        kind = message.get("type") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(kind, str) or kind in _BESIDE:
            continue
        index = message.get("output_index")
        if not isinstance(index, int | None):
            return False
        if over:
            return False
        over = kind in _OVER
        if kind == "response.created":
            if begun:
                return False
            begun = True
        elif kind == f"{_ITEM}added":
            open_items.add(index)
        elif kind == f"{_ITEM}done":
            if begun and index not in open_items:
                return False
            open_items.discard(index)
        elif begun and _IN_ITEM.match(kind) and index not in open_items:
            return False
    return True


def _has_text_without_part(messages: list[dict[str, Any]]) -> bool:
    """Return whether a piece of text comes before the `content_part.added` of its part. A resumed
    stream begins anywhere.
    """
    parts: set[tuple[str, str]] = set()
    begun = False
    for message in messages:
        kind = message.get("type")
        begun |= kind == "response.created"
        part = str(message.get("output_index")), str(message.get("content_index"))
        if kind == "response.content_part.added":
            parts.add(part)
        elif begun and kind in _TEXT and part not in parts:
            return True
    return False


def _of_chat(messages: list[dict[str, Any]]) -> list[str]:
    """Return the forms that no server documents. Reasoning in fields of its own, content as a list
    and comment lines are documented by servers that speak this API (`docs/openai.md`).
    """
    variants = set()
    for message in messages:
        if message.get("object") not in (*OBJECTS, None):
            variants.add("an object of another API")
        for choice in objects_in(message.get("choices")):
            delta = choice.get("delta")
            calls = delta.get("tool_calls") if isinstance(delta, dict) else None
            if any("index" not in call for call in objects_in(calls)):
                variants.add("a call without an index")
    return sorted(variants)
