"""Faults of public readers of the OpenAI-compatible endpoint, for unified-llm; each names its
thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.stream import events as ev
from harness.stream.framing import Frame

from .pipeline import Items, Json, Table

OPENAI_COMPAT = Table("unified-llm")


def deltas(message: Json) -> Iterator[Json]:
    """The delta or message of every choice."""
    choices = message.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        for name in ("delta", "message"):
            if isinstance(choice, dict) and isinstance(choice.get(name), dict):
                yield choice[name]


def calls(message: Json) -> Iterator[Json]:
    """The items of ``tool_calls``."""
    for delta in deltas(message):
        yield from delta.get("tool_calls") or ()


@OPENAI_COMPAT.message
def known_fields_of_a_call_alone(message: Json) -> None:
    """A call is rebuilt from the fields of its schema, without extra_content
    (NousResearch/hermes-agent#2997, ServiceNow/eva#206).
    """
    for call in calls(message):
        call.pop("extra_content", None)


@OPENAI_COMPAT.message
def one_vendor_alone(message: Json) -> None:
    """Signatures are read under the key google, but not under vertex (earendil-works/pi#6733)."""
    for call in calls(message):
        call.get("extra_content", {}).pop("vertex", None)


@OPENAI_COMPAT.message
def fragment_without_an_index_is_dropped(message: Json) -> None:
    """A fragment of a call without index and id is assigned to no call (open-webui/computer#224)."""
    for delta in deltas(message):
        items = delta.get("tool_calls")
        if items:
            delta["tool_calls"] = [item for item in items if item.get("id") or "index" in item]


@OPENAI_COMPAT.frame
def chunk_without_content_is_passed_over(frame: Frame) -> Frame | None:
    """A delta that contains only a signature is ignored (open-webui/computer#224)."""
    message = frame.json if isinstance(frame.json, dict) else {}
    return (
        None
        if any(delta.keys() == {"role", "extra_content"} for delta in deltas(message))
        else frame
    )


@OPENAI_COMPAT.frame
def chunk_breaks_the_schema(frame: Frame) -> Frame | None:
    """The schema of the client refuses a chunk with a call that has no index
    (THU-MAIC/OpenMAIC#1556).
    """
    message = frame.json if isinstance(frame.json, dict) else {}
    return None if any("index" not in call for call in calls(message)) else frame


@OPENAI_COMPAT.events
def calls_without_an_index_are_one(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A missing index counts as 0, so the last of parallel calls replaces the others
    (open-webui/computer#224).
    """
    of_call = ev.CallStart | ev.CallText | ev.CallEnd
    held: list[ev.Event] = []
    for event in events:
        if isinstance(event, ev.CallStart) and any(isinstance(old, ev.CallEnd) for old in held):
            held.clear()
        if isinstance(event, of_call):
            held.append(event)
            continue
        if isinstance(event, ev.Finish | ev.Text | ev.Incomplete):
            yield from held
            held.clear()
        yield event
    yield from held


@OPENAI_COMPAT.payloads
def stop_is_no_call(payloads: Items) -> Items:
    """The reason stop ends the turn, although there was a call (googleapis/python-genai#2868)."""
    for payload in payloads:
        if payload["type"] == "FINISH" and payload["finish_reason"].get("raw") == "stop":
            reason = {**payload["finish_reason"], "reason": "stop"}
            payload["finish_reason"] = reason
            payload["response"] = {**payload["response"], "finish_reason": reason}
    return payloads


@OPENAI_COMPAT.message
def filter_lets_text_through_alone(message: Json) -> None:
    """A filter between server and client passes on text, but no calls and no finish reason
    (FootprintAI/Containarium#819).
    """
    for delta in deltas(message):
        if delta.pop("tool_calls", None):
            delta.setdefault("content", "")


@OPENAI_COMPAT.read
def thought_tags_are_text(data: bytes) -> bytes:
    """The tags around thoughts are not recognized, so the thoughts are shown as the answer."""
    return data.replace(b"<thought>", b"<thinks>").replace(b"</thought>", b"</thinks>")


@OPENAI_COMPAT.events
def marked_text_is_a_thought(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """The thought mark beside a signature hides the answer."""
    held: list[ev.Text] = []
    for event in events:
        marked = isinstance(event, ev.Annotation) and "extra_content" in event.raw
        for text in held:
            yield ev.Reasoning(text.text, text.signature) if marked and text.text else text
        held = [event] if isinstance(event, ev.Text) and event.signature else []
        if not held:
            yield event
    yield from held


@OPENAI_COMPAT.frame
def error_in_an_array_is_no_error(frame: Frame) -> Frame | None:
    """The client reads an error at the top level of an object, but the body is an array."""
    wrapped = isinstance(frame.json, list) and frame.offset
    return None if wrapped and "error" in str(frame.json) else frame
