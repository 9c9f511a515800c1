"""Changes of streams of Anthropic's Messages API: events with blocks, deltas and a stop reason."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body

from . import event_stream
from .event_stream import Events, EventStream, has_whole_arguments, json_text
from .messages import Change, Edit, is_whole, put_in_all

ERROR: Final = {
    "type": "error",
    "error": {"details": None, "type": "overloaded_error", "message": "overloaded"},
    "request_id": "req_1",
}
_NEW: Final = {"new_field": {"deep": [1]}}


def stream_events(exchange: Exchange) -> Events | None:
    """Return the events of a whole stream that ended well; None for any other answer."""
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
    return events if shaped and has_whole_arguments(events, _inputs, "partial_json") else None


def _holders(events: Events) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the object in each event that has one, with its event."""
    names = {
        "message_start": "message",
        "content_block_start": "content_block",
        "content_block_delta": "delta",
        "message_delta": "delta",
    }
    for event in events:
        if name := names.get(event["type"]):
            yield event, event.get(name)


STREAM: Final = EventStream(stream_events, lambda event: str(event["type"]))


def ended_by(text: bytes) -> Change:
    """Replace the last events, from the stop reason on, by these bytes."""
    return STREAM.respelled(lambda events: STREAM.written(events[: _end(events)]) + text)


def spaced(events: Events) -> bytes:
    """Put blanks before the last brace of each message, as the service writes them."""
    texts = (
        f"event: {event['type']}\ndata: {json_text(event, False)[:-1]}   }}\n\n" for event in events
    )
    return "".join(texts).encode()


# -------------------------------------------------------------------- edits


def _end(events: Events) -> int:
    """Return the index of the event with the stop reason."""
    return [event["type"] for event in events].index("message_delta")


def _deltas(events: Events, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (index, delta) of the deltas of one type, from the last, so that they can be
    replaced.
    """
    for index in range(len(events) - 1, -1, -1):
        match events[index]:
            case {"type": "content_block_delta", "delta": {"type": named} as delta} if (
                named == kind
            ):
                yield index, delta


def _inputs(events: Events) -> Iterator[tuple[int, dict[str, Any]]]:
    return _deltas(events, "input_json_delta")


def _inputs_of_calls(events: Events) -> Iterator[tuple[int, dict[str, Any]]]:
    for place, delta in _inputs(events):
        if _kind_of_block(events, events[place]["index"]) == "tool_use":
            yield place, delta


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


split_texts: Final = event_stream.split_deltas(partial(_deltas, kind="text_delta"), "text")
split_arguments: Final = event_stream.split_deltas(_inputs, "partial_json")


def add_empty_deltas(events: Events) -> None:
    """Put an empty piece before the pieces of each input, as the service does."""
    for index, _ in _inputs(events):
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


cut_arguments: Final = event_stream.cut_arguments(_inputs_of_calls, "partial_json")


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""
    return event_stream.with_first_argument(_inputs_of_calls, "partial_json", value)


def _kind_of_block(events: Events, index: int) -> Any:
    return next(
        event["content_block"].get("type")
        for event in events
        if event["type"] == "content_block_start" and event.get("index") == index
    )


def with_ids(call_id: str | None) -> Edit:
    """Give all calls this id, or no id."""

    def edit(events: Events) -> None:
        blocks = (event.get("content_block") for event in events)
        calls = (block for block in blocks if block and block.get("type") == "tool_use")
        put_in_all(calls, "id", call_id)

    return edit
