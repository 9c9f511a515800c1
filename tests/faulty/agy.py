"""Faults of public readers of the Antigravity CLI's output, with their threads if there are any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from msgspec.structs import replace

from harness.stream import events as ev

from .pipeline import Json, Table

AGY = Table("unified-llm")
AGY_EVENTS = Table("agent-events")


@AGY.events
def response_after_its_pieces(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A response that differs from its pieces in any letter is shown after them, so the answer
    appears twice (tiann/hapi#1629).
    """
    for event in events:
        yield event
        if _is(event, "snapshot", "response"):
            yield ev.Text(str(event.raw["response"]))


@AGY.event
def damaged_characters_dropped(event: ev.Event) -> ev.Event:
    """Replacement characters are removed, so the user cannot see that characters are missing
    (iOfficeAI/AionUi#4099).
    """
    if isinstance(event, ev.Text):
        return replace(event, text=event.text.replace("\ufffd", ""))
    return event


@AGY.event
def intact_response_ignored(event: ev.Event) -> ev.Event | None:
    """The response of the result is never read, so damaged characters cannot be repaired
    (google-antigravity/antigravity-cli#837).
    """
    return None if _is(event, "snapshot", "response") else event


@AGY.event
def pieces_of_the_state_active_alone(event: ev.Event) -> ev.Event | None:
    """From the line that ends a step only the state is read, and its piece of text is lost."""
    return None if isinstance(event, ev.Text) and event.text == "\n" else event


@AGY.event
def success_is_a_good_end(event: ev.Event) -> ev.Event:
    """SUCCESS is a good end, with or without an answer (google-antigravity/antigravity-cli#902)."""
    return _stop() if _is(event, "status", "status", "SUCCESS") else event


@AGY.event
def exit_code_alone(event: ev.Event) -> ev.Event:
    """A run with the exit code 0 ended well, even if it was canceled
    (google-antigravity/antigravity-cli#902).
    """
    canceled = isinstance(event, ev.Finish) and event.raw in ("CANCELED", "INTERRUPTED")
    return _stop() if canceled else event


@AGY.event
def end_of_time_not_seen(event: ev.Event) -> ev.Event:
    """stderr is not read, so a run that reached its time limit appears to have a whole answer
    (google-antigravity/antigravity-cli#1012).
    """
    limited = isinstance(event, ev.Finish) and event.raw == "print timeout"
    return _stop() if limited else event


@AGY.message
def no_counts_and_no_session(message: Json) -> None:
    """The reader supports only the plain text of the CLI: no counts, no id
    (multica-ai/multica#6569, RunMaestro/Maestro#1382).
    """
    message.pop("conversation_id", None)
    for name in ("step_update", "result"):
        if isinstance(message.get(name), dict):
            message[name].pop("usage", None)
            message[name].pop("conversation_id", None)


@AGY.event
def totals_of_the_conversation(event: ev.Event) -> ev.Event:
    """The counts of the result are used as those of the turn, even in a resumed conversation."""
    if _is(event, "usage", "usage") and event.raw["usage"].get("input_tokens"):
        return ev.Usage(event.raw["usage"], input=event.raw["usage"]["input_tokens"])
    return event


@AGY_EVENTS.events
def work_lost_in_silence(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A turn that ends without an answer is done (google-antigravity/antigravity-cli#902)."""
    for event in events:
        yield _stop() if _is(event, "status", "status", "SUCCESS") else event


@AGY_EVENTS.event
def canceled_is_done(event: ev.Event) -> ev.Event:
    """A turn that was canceled is done (google-antigravity/antigravity-cli#902)."""
    canceled = isinstance(event, ev.Finish) and event.raw == "CANCELED"
    return _stop() if canceled else event


def _is(event: ev.Event, name: str, field: str, value: Json = None) -> TypeGuard[ev.Metadata]:
    """Whether an event is metadata with this name and this field, or with this value of the field."""
    return (
        isinstance(event, ev.Metadata)
        and event.name == name
        and field in event.raw
        and value in (None, event.raw[field])
    )


def _stop() -> ev.Finish:
    return ev.Finish("stop", "SUCCESS")
