"""Changes of streams of the Interactions API: events with steps, deltas and a status."""

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

Events = list[Any]
"""The events of a stream as objects; the end mark is the text ``[DONE]``."""

END: Final = "[DONE]"
ERROR: Final = {"error": {"code": "service_unavailable", "message": "overloaded"}}
_NEW: Final = {"new_field": {"deep": [1]}}
_PIECE: Final = 3


def stream_events(exchange: Exchange) -> Events | None:
    """The events of a whole stream that ended well. None for any other answer, and for an answer
    with the steps in its last event.
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
    well = last.get("status") != "failed" and not last.get("steps") and _has_good_calls(events)
    return events if well else None


def _has_good_calls(events: Events) -> bool:
    """Whether the arguments of every call are a JSON object."""
    texts: dict[Any, str] = {}
    for index, delta in reversed(list(_deltas(events, "arguments_delta"))):
        step = events[index].get("index")
        texts[step] = texts.get(step, "") + str(delta.get("arguments"))
    return all(isinstance(arguments_of(text), dict) for text in texts.values())


def written(
    events: Events, line_end: str = "\n", *, named: bool = True, ascii_: bool = False
) -> bytes:
    """The events as server-sent events. ``named`` adds their names in ``event:`` lines."""
    lines = []
    for event in events:
        name = "done" if event == END else event["event_type"]
        lines += [f"event: {name}"] if named else []
        lines += [f"data: {event if event == END else _compact(event, ascii_)}", ""]
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
    """Replace the last events by these bytes."""
    return rewritten(stream_events, lambda events: written(events[: _completed(events)]) + text)


def around(events: Events) -> bytes:
    """The events with comments, ids and retry times around them."""
    return b"".join(b": ping\n\nid: 7\nretry: 1000\n" + written([event]) for event in events)


def json_lines(events: Events) -> bytes:
    """One event on each line, without the end mark. Some projects store streams in this form."""
    return b"".join(_compact(event, True).encode() + b"\n" for event in events if event != END)


def in_batches(events: Events) -> bytes:
    """Messages with several events in each, as on a WebSocket, one on each line."""
    plain = [event for event in events if event != END]
    batches = (plain[at : at + _PIECE] for at in range(0, len(plain), _PIECE))
    return b"".join(_compact({"events": batch}, True).encode() + b"\n" for batch in batches)


def in_reverse(events: Events) -> bytes:
    return written(reversed_keys(events))


# -------------------------------------------------------------------- edits


def _completed(events: Events) -> int:
    """The index of the last event that is not an end mark."""
    kinds = [event.get("event_type") if isinstance(event, dict) else None for event in events]
    return kinds.index("interaction.completed")


def _interaction(events: Events) -> Any:
    """The interaction of the last event; None if it has none."""
    return events[_completed(events)].get("interaction")


def _deltas(events: Events, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """(index, delta) of the deltas of one type, from the last, so that they can be replaced."""
    for index in range(len(events) - 1, -1, -1):
        match events[index]:
            case {"event_type": "step.delta", "delta": {"type": named} as delta} if named == kind:
                yield index, delta


def _step(kind: str, *deltas: dict[str, Any]) -> Events:
    """The events of an additional step."""
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
    for at, _ in _deltas(events, "arguments_delta"):
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
    steps: list[dict[str, Any]] = []
    for event in events[: _completed(events)]:
        match event.get("step") or event.get("delta"):
            case {"type": "thought"}:
                steps.append({"type": "thought", "summary": []})
            case {"type": "model_output"}:
                steps.append({"type": "model_output", "content": []})
            case {"type": "function_call"}:
                steps.append({**event["step"], "arguments": ""})
            case {"type": "text", "text": text}:
                steps[-1]["content"].append({"type": "text", "text": text})
            case {"type": "thought_summary", "content": item}:
                steps[-1]["summary"].append(item)
            case {"type": "arguments_delta", "arguments": text}:
                steps[-1]["arguments"] += text
            case None | {"type": "thought_signature"}:
                pass
            case _:
                return
    for step in steps:
        if "arguments" in step:
            step["arguments"] = json.loads(step["arguments"] or "{}")
    if steps:
        _interaction(events)["steps"] = steps


def with_first_argument(value: Any) -> Edit:
    """Give the first call the arguments ``{"n": value}``."""

    def edit(events: Events) -> None:
        deltas = list(_deltas(events, "arguments_delta"))
        if not deltas:
            return
        first, delta = deltas[-1]
        step = events[first]["index"]
        delta["arguments"] = json.dumps({"n": value})
        for index, _ in deltas[:-1]:
            if events[index]["index"] == step:
                del events[index]

    return edit


def cut_arguments(events: Events) -> None:
    """Remove the last character of the arguments of a call."""
    for _, delta in _deltas(events, "arguments_delta"):
        if delta["arguments"]:
            delta["arguments"] = delta["arguments"][:-1]
            return


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
