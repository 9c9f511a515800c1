"""Faults of public readers of the Interactions API, for unified-llm; each names its thread."""

from __future__ import annotations

from collections.abc import Iterator

from harness.stream import events as ev
from harness.stream.framing import Frame

from .pipeline import Json, Table

INTERACTIONS = Table("unified-llm")


def deltas(message: Json, kind: str) -> list[Json]:
    """The delta of an event, in a list, if it is of this type."""
    delta = message.get("delta") if message.get("event_type") == "step.delta" else None
    return [delta] if isinstance(delta, dict) and delta.get("type") == kind else []


@INTERACTIONS.message
def signature_of_the_start_alone(message: Json) -> None:
    """Signatures are looked for in the start of a step and never in its deltas
    (allenhutchison/obsidian-gemini#1269).
    """
    for delta in deltas(message, "thought_signature"):
        delta["signature"] = ""


@INTERACTIONS.message
def empty_signature_is_made_up(message: Json) -> None:
    """A thought with an empty signature gets another one, so the next turn is refused
    (googleapis/js-genai#1735).
    """
    for delta in deltas(message, "thought_signature"):
        delta["signature"] = delta["signature"] or "bnVsbA=="


@INTERACTIONS.message
def summary_is_text(message: Json) -> None:
    """A thought summary is shown as the answer (DEEIX-AI/DEEIX-Chat#607)."""
    for delta in deltas(message, "thought_summary"):
        content = delta.pop("content")
        delta.update(type="text", text=content.get("text", ""))


@INTERACTIONS.message
def arguments_of_the_start(message: Json) -> None:
    """The placeholder in a call's start is used as its arguments (DEEIX-AI/DEEIX-Chat#607)."""
    for delta in deltas(message, "arguments_delta"):
        delta["arguments"] = ""


@INTERACTIONS.read
def names_of_event_lines_alone(data: bytes) -> bytes:
    """The type of an event is read only from its ``event:`` line, and never from its data
    (DEEIX-AI/DEEIX-Chat#607).
    """
    return data if b"event:" in data or b'"event_type"' not in data else b""


@INTERACTIONS.frame
def text_of_the_last_event(frame: Frame) -> Frame | None:
    """The answer is read from the steps of the last event, which has none
    (mozilla-ai/any-llm#1383).
    """
    message = frame.json if isinstance(frame.json, dict) else {}
    return None if deltas(message, "text") else frame


@INTERACTIONS.events
def unknown_event_ends_the_stream(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """An event of a new type ends the stream (mozilla-ai/any-llm#1383)."""
    for event in events:
        if isinstance(event, ev.Unknown) and event.where.startswith("event "):
            return
        yield event


@INTERACTIONS.frame
def bare_line_is_passed_over(frame: Frame) -> Frame | None:
    """A bare error line in the stream is no event, so it is never read (googleapis/js-genai#1973)."""
    bare = isinstance(frame.json, dict) and frame.json.keys() == {"error"}
    return None if bare and frame.offset else frame


@INTERACTIONS.message
def id_at_the_top(message: Json) -> None:
    """The id of the interaction is looked for at the top of the first event
    (google/adk-python#5169).
    """
    if message.get("event_type") == "interaction.created":
        message.get("interaction", {}).pop("id", None)
    elif message.get("event_type") in ("interaction.status_update", "interaction.completed"):
        message.pop("interaction_id", None)
        message.get("interaction", {}).pop("id", None)


@INTERACTIONS.events
def removed_schema_is_a_success(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """An answer in the removed schema is an empty one that ended well (BerriAI/litellm#28153)."""
    removed = False
    for event in events:
        removed = removed or (isinstance(event, ev.Unknown) and event.where.startswith("schema"))
        yield event
    if removed:
        yield ev.Finish("stop", "completed")


@INTERACTIONS.events
def update_is_an_end(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A status in an update ends the answer, whatever it says."""
    for event in events:
        yield event
        if isinstance(event, ev.Metadata) and event.name == "status":
            status = str(event.raw.get("status"))
            if status != "in_progress":
                yield ev.Finish("other", status)


@INTERACTIONS.message
def first_event_of_a_batch_alone(message: Json) -> None:
    """A message of a WebSocket is taken for one event."""
    if isinstance(message.get("events"), list):
        del message["events"][1:]
