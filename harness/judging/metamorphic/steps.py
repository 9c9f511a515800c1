"""Changes of streams of the Interactions API: events with steps, deltas and a status."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from harness.facts import arguments_of
from harness.stream.exchange import Exchange
from harness.stream.framing import frames_of_body

from . import event_stream
from .event_stream import PIECE, Events, EventStream, has_whole_arguments, json_text
from .messages import Change, Edit, is_whole, put_in_all

END: Final = "[DONE]"
"""The end mark, an event that is a text."""
ERROR: Final = {"error": {"code": "service_unavailable", "message": "overloaded"}}
_NEW: Final = {"new_field": {"deep": [1]}}


def stream_events(exchange: Exchange) -> Events | None:
    """Return the events of a whole stream that ended well. None for any other answer, and for an
    answer with the steps in its last event.
    """
    if not is_whole(exchange):
        return None
    frames = frames_of_body(exchange.body)
    events: Events = [frame.json if frame.raw is None else frame.raw for frame in frames]
    kinds = [event.get("event_type") if isinstance(event, dict) else event for event in events]
    if not kinds or kinds[0] != "interaction.created" or "interaction.completed" not in kinds:
        return None
    if not all(isinstance(kind, str) and (kind == END or "." in kind) for kind in kinds):
        return None
    last = _interaction(events)
    if last is None:
        return None  # the WebSocket form
    well = last.get("status") != "failed" and not last.get("steps")
    return events if well and has_whole_arguments(events, _arguments, "arguments") else None


STREAM: Final = EventStream(
    stream_events, lambda event: "done" if event == END else str(event["event_type"])
)


def ended_by(text: bytes) -> Change:
    """Replace the last events by these bytes."""
    return STREAM.respelled(lambda events: STREAM.written(events[: _completed(events)]) + text)


def in_batches(events: Events) -> bytes:
    """Return messages with several events in each, as on a WebSocket, one on each line."""
    plain = [event for event in events if event != END]
    batches = (plain[at : at + PIECE] for at in range(0, len(plain), PIECE))
    return b"".join(json_text({"events": batch}, True).encode() + b"\n" for batch in batches)


# -------------------------------------------------------------------- edits


def _completed(events: Events) -> int:
    """Return the index of the last event that is not an end mark."""
    kinds = [event.get("event_type") if isinstance(event, dict) else None for event in events]
    return kinds.index("interaction.completed")


def _interaction(events: Events) -> Any:
    """Return the interaction of the last event; None if it has none."""
    return events[_completed(events)].get("interaction")


def _deltas(events: Events, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (index, delta) of the deltas of one type, from the last, so that they can be
    replaced.
    """
    for index in range(len(events) - 1, -1, -1):
        match events[index]:
            case {"event_type": "step.delta", "delta": {"type": named} as delta} if named == kind:
                yield index, delta


def _arguments(events: Events) -> Iterator[tuple[int, dict[str, Any]]]:
    return _deltas(events, "arguments_delta")


def _step(kind: str, *deltas: dict[str, Any]) -> Events:
    """Return the events of an additional step."""
    return [
        {"index": 99, "step": {"type": kind}, "event_type": "step.start"},
        *({"index": 99, "delta": delta, "event_type": "step.delta"} for delta in deltas),
        {"index": 99, "event_type": "step.stop"},
    ]


def with_step(kind: str, *deltas: dict[str, Any]) -> Edit:
    """Append a step."""

    def edit(events: Events) -> None:
        place = _completed(events)
        events[place:place] = _step(kind, *deltas)

    return edit


def add_unknown_fields(events: Events) -> None:
    for event in events:
        if event != END:
            for holder in (event, event.get("step"), event.get("delta"), event.get("interaction")):
                if isinstance(holder, dict):
                    holder.update(_NEW)


def add_unknown_event(events: Events) -> None:
    events.insert(1, {"event_type": "interaction.heartbeat", "beat": 3})


def with_status(status: str) -> Edit:
    def edit(events: Events) -> None:
        if any(True for kind in ("text", "arguments_delta") for _ in _deltas(events, kind)):
            _interaction(events)["status"] = status

    return edit


def count_on_the_way(events: Events) -> None:
    """Put smaller token counts into the metadata of the first delta."""
    usage = _interaction(events).get("usage") or {}
    counts = {name: count // 2 for name, count in usage.items() if isinstance(count, int)}
    deltas = [*_deltas(events, "thought_summary"), *_deltas(events, "text")]
    if counts and deltas:
        events[deltas[-1][0]]["metadata"] = {"usage": counts}


split_texts: Final = event_stream.split_deltas(partial(_deltas, kind="text"), "text")
split_arguments: Final = event_stream.split_deltas(_arguments, "arguments")


def add_event_ids(events: Events) -> None:
    for number, event in enumerate(events):
        if event != END:
            event["event_id"] = f"ev_{number}"


def add_empty_signatures(events: Events) -> None:
    empty = {"type": "thought_signature", "signature": ""}
    for index, _ in _deltas(events, "thought_summary"):
        events.insert(index + 1, {**events[index], "delta": empty})


def overlap_calls(events: Events) -> None:
    """Let each call begin before the call that precedes it directly ends."""
    for at in range(len(events) - 2, 0, -1):
        match events[at : at + 2]:
            case [
                {"event_type": "step.stop", "index": first},
                {"event_type": "step.start", "step": {"type": "function_call"}},
            ] if _is_call(events, first):
                events[at : at + 2] = events[at + 1], events[at]


def _is_call(events: Events, index: Any) -> bool:
    return any(
        isinstance(event, dict)
        and event.get("index") == index
        and event.get("step", {}).get("type") == "function_call"
        for event in events
    )


def misplace_piece(events: Events) -> None:
    """Give the last piece of arguments the index of no step."""
    for at, _ in _arguments(events):
        events[at] = {**events[at], "index": 1_000}
        return


def update_status(events: Events) -> None:
    """Report an unknown status after each step."""
    for at in range(len(events) - 1, -1, -1):
        if isinstance(events[at], dict) and events[at]["event_type"] == "step.stop":
            events.insert(at + 1, _update("brand_new"))


def end_with_update(events: Events) -> None:
    """Replace the last event by an update of the status."""
    events[_completed(events)] = _update("completed")


def end_with_reconnection(events: Events) -> None:
    """Replace the last event by a request for another connection."""
    events[_completed(events)] = {"event_type": "reconnection_required"}


def _update(status: str) -> dict[str, Any]:
    return {"interaction_id": "v1_a", "status": status, "event_type": "interaction.status_update"}


def remove_end_mark(events: Events) -> None:
    """Remove ``[DONE]``. The status then marks the end."""
    if events[-1] == END:
        events.pop()


def remove_completed(events: Events) -> None:
    del events[_completed(events) :]


def repeat_steps(events: Events) -> None:
    """Repeat the steps in the last event, if all are thoughts, texts and calls."""
    steps: dict[Any, dict[str, Any]] = {}
    for event in events[: _completed(events)]:
        index = event.get("index")
        match event.get("step") or event.get("delta"):
            case {"type": "thought"}:
                steps[index] = {"type": "thought", "summary": []}
            case {"type": "model_output"}:
                steps[index] = {"type": "model_output", "content": []}
            case {"type": "function_call"}:
                steps[index] = {**event["step"], "arguments": ""}
            case {"type": "text", "text": text}:
                steps[index]["content"].append({"type": "text", "text": text})
            case {"type": "thought_summary", "content": item}:
                steps[index]["summary"].append(item)
            case {"type": "arguments_delta", "arguments": text}:
                steps[index]["arguments"] += text
            case None | {"type": "thought_signature"}:
                pass
            case _:
                return
    for step in steps.values():
        if "arguments" in step:
            step["arguments"] = arguments_of(step["arguments"])
    if steps:
        _interaction(events)["steps"] = list(steps.values())


cut_arguments: Final = event_stream.cut_arguments(_arguments, "arguments")


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""
    return event_stream.with_first_argument(_arguments, "arguments", value)


def with_ids(call_id: str | None) -> Edit:
    """Give all calls this id, or no id."""

    def edit(events: Events) -> None:
        calls = (
            event["step"]
            for event in events
            if isinstance(event, dict) and event.get("step", {}).get("type") == "function_call"
        )
        put_in_all(calls, "id", call_id)

    return edit
