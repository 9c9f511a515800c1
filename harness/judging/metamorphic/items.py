"""Changes of streams of OpenAI's Responses API: events with output items, and a last response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body

from .event_stream import PIECE, Events, EventStream
from .messages import Change, Edit, is_whole

ERROR: Final = {"code": "server_error", "message": "overloaded", "param": None}
LAST: Final = ("response.completed", "response.incomplete")
_NEW: Final = {"new_field": {"deep": [1]}}
_TEXT: Final = "response.output_text"
_ARGUMENTS: Final = "response.function_call_arguments"


def stream_events(exchange: Exchange) -> Events | None:
    """Return the events of a whole stream that ended well; None for any other answer."""
    if not is_whole(exchange):
        return None
    events: Events = [frame.json for frame in frames_of_body(exchange.body)]
    kinds = [event.get("type") if isinstance(event, dict) else None for event in events]
    if not kinds or kinds[0] != "response.created" or kinds[-1] not in LAST:
        return None
    if not all(isinstance(kind, str) for kind in kinds) or "error" in kinds:
        return None
    return events if _has_good_calls(events) else None


def _has_good_calls(events: Events) -> bool:
    """Return whether the arguments of every call are a JSON object, and no two items overlap."""
    indexes = [event["output_index"] for event in events if "output_index" in event]
    calls = (item for item in _items(events) if item.get("type") == "function_call")
    whole = all(isinstance(arguments_of(str(call.get("arguments"))), dict) for call in calls)
    return whole and indexes == sorted(indexes)


STREAM: Final = EventStream(stream_events, lambda event: str(event["type"]))


def ended_by(event: dict[str, Any]) -> Change:
    """Replace the last event."""
    return STREAM.respelled(lambda events: STREAM.written([*events[:-1], event]))


# -------------------------------------------------------------------- edits


def _of_kind(events: Events, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (place, event) of the events of one type, from the last, so that they can be
    replaced.
    """
    for place in range(len(events) - 1, -1, -1):
        if events[place].get("type") == kind:
            yield place, events[place]


def _items(events: Events) -> Iterator[dict[str, Any]]:
    """Yield the items at their ends, in the stream and in the last event."""
    for _, event in _of_kind(events, "response.output_item.done"):
        if isinstance(event.get("item"), dict):
            yield event["item"]
    for item in _response(events).get("output") or []:
        if isinstance(item, dict):
            yield item


def _response(events: Events) -> dict[str, Any]:
    response: dict[str, Any] = events[-1].get("response") or {}
    return response


def add_unknown_fields(events: Events) -> None:
    for event in events:
        for holder in (event, event.get("item"), event.get("response")):
            if isinstance(holder, dict):
                holder.update(_NEW)
    for item in _response(events).get("output") or []:
        item.update(_NEW)


def add_unknown_event(events: Events) -> None:
    events.insert(1, {"type": "response.heartbeat", "beat": 3})


def add_keep_alive(events: Events) -> None:
    """Send a keepalive event between any two events."""
    for place in range(len(events) - 1, 0, -1):
        events.insert(place, {"type": "keepalive"})


def add_unknown_item(events: Events) -> None:
    item = {"type": "hologram", "id": "ho_1", "frame": "eA=="}
    for step in ("added", "done"):
        event = {"type": f"response.output_item.{step}", "output_index": 99, "item": item}
        events.insert(-1, event)


def with_status(status: str, error: dict[str, Any] | None = None) -> Edit:
    """Give the last response another status."""

    def edit(events: Events) -> None:
        _response(events).update(status=status, error=error, incomplete_details=None)

    return edit


def split_pieces(kind: str) -> Edit:
    """Divide each piece of this type into short pieces."""

    def edit(events: Events) -> None:
        for place, event in _of_kind(events, f"{kind}.delta"):
            text = event["delta"]
            pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
            if len(pieces) > 1:
                plain = {name: value for name, value in event.items() if name != "logprobs"}
                later = [{**plain, "delta": piece} for piece in pieces[1:]]
                events[place : place + 1] = [{**event, "delta": pieces[0]}, *later]

    return edit


def remove_ends(events: Events) -> None:
    """Remove the repetitions of texts and arguments, except at the end of their item."""
    for kind in (_TEXT, _ARGUMENTS, "response.content_part", "response.refusal"):
        for place, _ in _of_kind(events, f"{kind}.done"):
            del events[place]


def remove_pieces(events: Events) -> None:
    """Remove all pieces, if the ends of the items have the same content."""
    if not _is_repeated(events):
        return
    for kind in (_TEXT, _ARGUMENTS):
        for place, event in _of_kind(events, f"{kind}.delta"):
            if not event.get("logprobs"):
                del events[place]


def _is_repeated(events: Events) -> bool:
    """Return whether the ends of the items have the texts of the pieces."""
    texts: dict[Any, str] = {}
    for _, event in _of_kind(events, f"{_TEXT}.delta"):
        texts[event.get("output_index")] = event["delta"] + texts.get(event.get("output_index"), "")
    whole = {
        event["output_index"]: "".join(str(part.get("text")) for part in event["item"]["content"])
        for _, event in _of_kind(events, "response.output_item.done")
        if event["item"].get("type") == "message" and event["output_index"] in texts
    }
    ends = {event["output_index"]: event["text"] for _, event in _of_kind(events, f"{_TEXT}.done")}
    return texts == whole == {**whole, **ends}


def empty_output(events: Events) -> None:
    """Leave the items out of the last response, as some servers do."""
    _response(events)["output"] = []


def rotate_ids(events: Events) -> None:
    """Give each item another id in each event."""
    for number, event in enumerate(events):
        if "item_id" in event:
            event["item_id"] = f"item_{number}"
        if event.get("type") == "response.output_item.done" and _has_no_secret(event["item"]):
            event["item"]["id"] = f"item_{number}"


def _has_no_secret(item: dict[str, Any]) -> bool:
    return not item.get("encrypted_content") and str(item.get("type")) in (
        *("message", "reasoning", "function_call"),
    )


def overlap_items(events: Events) -> None:
    """Begin each item before the item before it is done."""
    for place, event in _of_kind(events, "response.output_item.added"):
        if place > 0 and events[place - 1].get("type") == "response.output_item.done":
            events[place - 1], events[place] = event, events[place - 1]


def remove_last(events: Events) -> None:
    """Remove the last event, which has the status."""
    del events[-1]


def cut_arguments(events: Events) -> None:
    """Remove the last character of the arguments of a call, in all of its events."""
    for place, event in _of_kind(events, f"{_ARGUMENTS}.delta"):
        if not event["delta"]:
            continue
        index = event["output_index"]
        events[place] = {**event, "delta": event["delta"][:-1]}
        for other in events:
            if other.get("output_index") == index and other.get("type") == f"{_ARGUMENTS}.done":
                other["arguments"] = other["arguments"][:-1]
        for item in _items(events):
            if item.get("call_id") == _call_id(events, index):
                item["arguments"] = item["arguments"][:-1]
        return


def _call_id(events: Events, index: int) -> Any:
    for _, event in _of_kind(events, "response.output_item.added"):
        if event["output_index"] == index:
            return event["item"].get("call_id")
    return None


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""

    def edit(events: Events) -> None:
        pieces = list(_of_kind(events, f"{_ARGUMENTS}.delta"))
        if not pieces:
            return
        first, event = pieces[-1]
        index, text = event["output_index"], json.dumps({"n": value})
        call_id = _call_id(events, index)
        event["delta"] = text
        for item in _items(events):
            if item.get("call_id") == call_id:
                item["arguments"] = text
        for other in events:
            if other.get("output_index") == index and other.get("type") == f"{_ARGUMENTS}.done":
                other["arguments"] = text
        for place, other in pieces[:-1]:
            if place != first and other["output_index"] == index:
                del events[place]

    return edit


def with_text(text: str) -> Edit:
    """Append a message with a text."""

    def edit(events: Events) -> None:
        index = 98
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_98", "role": "assistant", "content": [part]}
        at = {"item_id": "msg_98", "output_index": index}
        events[-1:-1] = [
            {"type": "response.output_item.added", **at, "item": {**item, "content": []}},
            {"type": f"{_TEXT}.delta", **at, "content_index": 0, "delta": text},
            {"type": "response.output_item.done", **at, "item": item},
        ]

    return edit
