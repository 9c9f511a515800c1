"""Changes of streams of Anthropic's Messages API: events with blocks, deltas and a stop reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body

from . import messages
from .messages import Change, Edit, is_whole, put_in_all, reversed_keys, rewritten

Events = list[dict[str, Any]]
"""The events of a stream as objects."""

ERROR: Final = {
    "type": "error",
    "error": {"details": None, "type": "overloaded_error", "message": "overloaded"},
    "request_id": "req_1",
}
_NEW: Final = {"new_field": {"deep": [1]}}
_PIECE: Final = 3


def stream_events(exchange: Exchange) -> Events | None:
    """The events of a whole stream that ended well; None for any other answer."""
    if not is_whole(exchange):
        return None
    frames = frames_of_body(exchange.body)
    events: Events = [frame.json if frame.raw is None else {} for frame in frames]
    if not all(isinstance(event, dict) and isinstance(event.get("type"), str) for event in events):
        return None
    kinds = [event["type"] for event in events]
    begins = kinds[:1] == ["message_start"] and isinstance(events[0].get("message"), dict)
    if not begins or kinds.count("message_delta") != 1 or "error" in kinds:
        return None
    shaped = all(isinstance(holder, dict) for _, holder in _holders(events))
    return events if shaped and _has_good_calls(events) else None


def _holders(events: Events) -> Iterator[tuple[dict[str, Any], Any]]:
    """The object in each event that has one, with its event."""
    names = {
        "message_start": "message",
        "content_block_start": "content_block",
        "content_block_delta": "delta",
        "message_delta": "delta",
    }
    for event in events:
        if name := names.get(event["type"]):
            yield event, event.get(name)


def _has_good_calls(events: Events) -> bool:
    """Whether the arguments of every call are a JSON object."""
    texts: dict[Any, str] = {}
    for index, delta in reversed(list(_deltas(events, "input_json_delta"))):
        block = events[index].get("index")
        texts[block] = texts.get(block, "") + str(delta.get("partial_json"))
    return all(isinstance(arguments_of(text), dict) for text in texts.values())


def written(
    events: Events, line_end: str = "\n", *, named: bool = True, ascii_: bool = False
) -> bytes:
    """The events as server-sent events. ``named`` adds their names in ``event:`` lines."""
    lines = []
    for event in events:
        lines += [f"event: {event['type']}"] if named else []
        lines += [f"data: {_compact(event, ascii_)}", ""]
    return "".join(line + line_end for line in lines).encode("utf-8", "surrogatepass")


def _compact(value: Any, ascii_: bool) -> str:
    text = json.dumps(value, ensure_ascii=ascii_, separators=(",", ":"))
    lone = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(value, separators=(",", ":")) if lone else text


respelled = partial(rewritten, stream_events)
"""Writes the events of a whole stream again, in a single read."""
edited = partial(messages.edited, read=stream_events, write=written)
"""The change that an `Edit` makes to the events of a whole stream."""


def ended_by(text: bytes) -> Change:
    """Replace the last events, from the stop reason on, by these bytes."""
    return rewritten(stream_events, lambda events: written(events[: _end(events)]) + text)


def around(events: Events) -> bytes:
    """The events with comments, ids and retry times around them."""
    return b"".join(b": ping\n\nid: 7\nretry: 1000\n" + written([event]) for event in events)


def json_lines(events: Events) -> bytes:
    """One event on each line. Some projects store streams in this form."""
    return b"".join(_compact(event, True).encode() + b"\n" for event in events)


def spaced(events: Events) -> bytes:
    """Blanks before the last brace of each message, as the service writes them."""
    texts = (
        f"event: {event['type']}\ndata: {_compact(event, False)[:-1]}   }}\n\n" for event in events
    )
    return "".join(texts).encode()


def in_reverse(events: Events) -> bytes:
    return written(reversed_keys(events))


# -------------------------------------------------------------------- edits


def _end(events: Events) -> int:
    """The index of the event with the stop reason."""
    return [event["type"] for event in events].index("message_delta")


def _deltas(events: Events, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(index, delta) of the deltas of one type, from the last, so that they can be replaced."""
    for index in range(len(events) - 1, -1, -1):
        match events[index]:
            case {"type": "content_block_delta", "delta": {"type": named} as delta} if (
                named == kind
            ):
                yield index, delta


def with_block(block: dict[str, Any], *deltas: dict[str, Any]) -> Edit:
    """Append a block."""

    def edit(events: Events) -> None:
        place = _end(events)
        index = sum(event["type"] == "content_block_start" for event in events)
        events[place:place] = [
            {"type": "content_block_start", "index": index, "content_block": block},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    return edit


def with_text(text: str) -> Edit:
    return with_block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def add_unknown_fields(events: Events) -> None:
    for event, holder in list(_holders(events)):
        for changed in (event, holder):
            changed.update(_NEW)


def add_unknown_event(events: Events) -> None:
    events.insert(1, {"type": "message_heartbeat", "beat": 3})


def ping_everywhere(events: Events) -> None:
    """Put a ping before and after every event."""
    events[:] = [item for event in events for item in ({"type": "ping"}, event)]
    events.append({"type": "ping"})


def with_reason(reason: str) -> Edit:
    def edit(events: Events) -> None:
        if any(True for kind in ("text_delta", "input_json_delta") for _ in _deltas(events, kind)):
            events[_end(events)]["delta"]["stop_reason"] = reason

    return edit


def repeat_reason(events: Events) -> None:
    """Send the stop reason twice, the first time without counts."""
    place = _end(events)
    events.insert(place, {"type": "message_delta", "delta": events[place]["delta"]})


def remove_usage(events: Events) -> None:
    for event, holder in _holders(events):
        event.pop("usage", None)
        holder.pop("usage", None)


def split_deltas(kind: str, field: str) -> Edit:
    """Divide the text of each delta of this type into short pieces."""

    def edit(events: Events) -> None:
        for index, delta in _deltas(events, kind):
            text = delta[field]
            pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
            if len(pieces) > 1:
                events[index : index + 1] = [
                    {**events[index], "delta": {**delta, field: piece}} for piece in pieces
                ]

    return edit


def add_empty_deltas(events: Events) -> None:
    """Put an empty piece before the pieces of each input, as the service does."""
    for index, _ in _deltas(events, "input_json_delta"):
        empty = {"type": "input_json_delta", "partial_json": ""}
        events.insert(index, {**events[index], "delta": empty})


def overlap_blocks(events: Events) -> None:
    """Move the stop of each block behind the start of the next block."""
    for place in range(len(events) - 1):
        stop, after = events[place : place + 2]
        kinds = stop["type"], after["type"]
        if kinds == ("content_block_stop", "content_block_start"):
            events[place : place + 2] = [after, stop]


def remove_end(events: Events) -> None:
    """Remove ``message_stop``. The stop reason then marks the end."""
    if events[-1]["type"] == "message_stop":
        events.pop()


def remove_reason(events: Events) -> None:
    del events[_end(events) :]


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""

    def edit(events: Events) -> None:
        deltas = [
            (place, delta)
            for place, delta in _deltas(events, "input_json_delta")
            if _kind_of_block(events, events[place]["index"]) == "tool_use"
        ]
        if not deltas:
            return
        first, delta = deltas[-1]
        block = events[first]["index"]
        delta["partial_json"] = json.dumps({"n": value})
        for place, _ in deltas[:-1]:
            if events[place]["index"] == block:
                del events[place]

    return edit


def _kind_of_block(events: Events, index: int) -> Any:
    return next(
        event["content_block"].get("type")
        for event in events
        if event["type"] == "content_block_start" and event.get("index") == index
    )


def cut_arguments(events: Events) -> None:
    """Remove the last character of the arguments of a call."""
    for place, delta in _deltas(events, "input_json_delta"):
        if delta["partial_json"] and _kind_of_block(events, events[place]["index"]) == "tool_use":
            delta["partial_json"] = delta["partial_json"][:-1]
            return


def with_ids(call_id: str | None) -> Edit:
    """Give all calls this id, or no id."""

    def edit(events: Events) -> None:
        blocks = (event.get("content_block") for event in events)
        calls = (block for block in blocks if block and block.get("type") == "tool_use")
        put_in_all(calls, "id", call_id)

    return edit
