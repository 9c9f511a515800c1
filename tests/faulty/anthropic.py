"""Faults of anthropic adapters, except those about ``<tool_code>``.

The proxy from which the event model comes had them. It has two states: the first and the later one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from harness.stream import events as ev
from harness.stream.framing import Frame
from harness.stream.json_path import Assembly

from .pipeline import Items, Json, Table, Wrapper

ANTHROPIC = Table("anthropic")


def parts_of(message: Json) -> Iterator[dict[str, Any]]:
    """The parts of a response, in either spelling."""
    for candidate in message.get("candidates") or []:
        yield from (
            part
            for part in (candidate.get("content") or {}).get("parts") or []
            if isinstance(part, dict)
        )


# Why the message stops


class StopReason(Wrapper):
    """Gives the reason of the last message_delta to `change`."""

    finish = "other"

    def feed(self, event: ev.Event) -> Items:
        if isinstance(event, ev.Finish) and event.candidate <= 0:
            self.finish = event.reason
        return super().feed(event)

    def close(self) -> Items:
        payloads = super().close()
        for payload in payloads:
            if payload["type"] == "message_delta":
                payload["delta"]["stop_reason"] = self.change(payload["delta"]["stop_reason"])
        return payloads

    def change(self, reason: str) -> str:
        raise NotImplementedError


@ANTHROPIC.wrapper
class StopWithCallsIsEndTurn(StopReason):
    """STOP is end_turn although there is a call, here one without an id, so the tool is never run
    (the proxy's first version).
    """

    called = False
    """Whether a call had an id on the wire."""

    def feed(self, event: ev.Event) -> Items:
        self.called = self.called or (isinstance(event, ev.CallStart) and bool(event.id))
        return super().feed(event)

    def change(self, reason: str) -> str:
        hidden = reason == "tool_use" and self.finish == "stop" and not self.called
        return "end_turn" if hidden else reason


@ANTHROPIC.wrapper
class TokenLimitHidesTheCall(StopReason):
    """MAX_TOKENS is max_tokens although there are calls (both states)."""

    def change(self, reason: str) -> str:
        return "max_tokens" if self.finish == "length" else reason


@ANTHROPIC.event
def filter_is_end_turn(event: ev.Event) -> ev.Event:
    """SAFETY and the other filters look like a regular end (the first version)."""
    if isinstance(event, ev.Finish) and event.reason == "content_filter":
        event.reason = "stop"
    return event


@ANTHROPIC.event
def malformed_is_refusal(event: ev.Event) -> ev.Event:
    """A malformed call is reported as a refusal (the later version)."""
    if isinstance(event, ev.Finish) and event.reason == "malformed":
        event.reason = "content_filter"
    return event


@ANTHROPIC.event
def other_is_refusal(event: ev.Event) -> ev.Event:
    """OTHER, LANGUAGE, NO_IMAGE and no stated reason are reported as refusals (the later version)."""
    if isinstance(event, ev.Finish) and event.raw in (
        "OTHER",
        "LANGUAGE",
        "NO_IMAGE",
        "FINISH_REASON_UNSPECIFIED",
    ):
        event.reason = "content_filter"
    return event


@ANTHROPIC.event
def other_without_content_is_end_turn(event: ev.Event) -> ev.Event:
    """An answer without content and with another reason than a stop is an empty answer that ended
    well (both states).
    """
    if isinstance(event, ev.Finish) and event.reason == "other":
        event.reason = "stop"
    return event


@ANTHROPIC.message
def feedback_ignored(message: Json) -> None:
    """A message without candidates is ignored: a blocked prompt is an empty answer that ended well
    (both states).
    """
    message.pop("promptFeedback", None)


@ANTHROPIC.wrapper
class TailTwice(Wrapper):
    """A second finish reason ends the message a second time (both states)."""

    finishes = 0

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        if isinstance(event, ev.Finish) and event.candidate == 0:
            self.finishes += 1
            if self.finishes > 1:
                delta = {"stop_reason": "end_turn", "stop_sequence": None}
                tail = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}
                payloads += [tail, {"type": "message_stop"}]
        return payloads


@ANTHROPIC.payloads
def errors_swallowed(payloads: Items) -> Items:
    """An error in the answer, here of an overloaded server, silently drops the connection (the
    later version).
    """
    return [
        payload
        for payload in payloads
        if payload.get("error", {}).get("type") != "overloaded_error"
    ]


@ANTHROPIC.payloads
def every_error_is_an_api_error(payloads: Items) -> Items:
    """Bad requests, wrong keys and rate limits all become the same gateway error (both states)."""
    for payload in payloads:
        if payload["type"] == "error":
            payload["error"]["type"] = "api_error"
    return payloads


@ANTHROPIC.frame
def broken_json_skipped(frame: Frame) -> Frame | None:
    """A message that is not JSON is skipped without an error (both states)."""
    return frame if frame.raw is None or frame.partial else None


# Counts


@ANTHROPIC.message
def counts_without_candidates_ignored(message: Json) -> None:
    """A message without candidates is ignored, and its counts are lost (both states)."""
    if not message.get("candidates"):
        message.pop("usageMetadata", None)


@ANTHROPIC.events
def counts_after_the_reason_ignored(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """The counts are sent with the finish reason; counts that come later are lost (both
    states).
    """
    finished = False
    for event in events:
        finished = finished or (isinstance(event, ev.Finish) and event.candidate == 0)
        if not (finished and isinstance(event, ev.Usage)):
            yield event


@ANTHROPIC.event
def thoughts_not_counted(event: ev.Event) -> ev.Event:
    """Output is candidatesTokenCount alone, without the tokens of thoughts (both states)."""
    if isinstance(event, ev.Usage):
        event.reasoning = None
    return event


@ANTHROPIC.event
def cached_not_counted(event: ev.Event) -> ev.Event:
    """Cached tokens have no field of their own and count as input (both states)."""
    if isinstance(event, ev.Usage):
        event.cached = None
    return event


@ANTHROPIC.payloads
def counts_invented_at_the_start(payloads: Items) -> Items:
    """message_start claims one output token when the server has not counted any yet (both states)."""
    for payload in payloads:
        if payload["type"] == "message_start" and payload["message"]["usage"]["output_tokens"] == 0:
            payload["message"]["usage"]["output_tokens"] = 1
    return payloads


# Thoughts and signatures


@ANTHROPIC.event
def signed_text_is_a_thought(event: ev.Event) -> ev.Event:
    """Text with a signature is treated as a thought, so the answer is missing in the text (both
    states).
    """
    signed = isinstance(event, ev.Text) and event.signature
    return (
        ev.Reasoning(event.text, event.signature, event.candidate)
        if isinstance(event, ev.Text) and signed
        else event
    )


@ANTHROPIC.payloads
def signature_before_the_thought(payloads: Items) -> Items:
    """A thinking block begins with its signature, but clients expect it at the end (both states)."""
    for at in range(1, len(payloads)):
        before, now = payloads[at - 1].get("delta", {}), payloads[at].get("delta", {})
        if (before.get("type"), now.get("type")) == ("thinking_delta", "signature_delta"):
            payloads[at - 1]["delta"], payloads[at]["delta"] = now, before
    return payloads


@ANTHROPIC.events
def later_signature_of_thoughts_lost(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """In a run of thoughts only the signature of the first part is passed on (both states)."""
    inside = False
    for event in events:
        if isinstance(event, ev.Reasoning):
            event.signature = None if inside else event.signature
        inside = isinstance(event, ev.Reasoning) or (
            inside and isinstance(event, ev.Usage | ev.Metadata)
        )
        yield event


@ANTHROPIC.payloads
def thinking_block_without_its_fields(payloads: Items) -> Items:
    """A thinking block starts without the empty fields that clients append to (both states)."""
    for payload in payloads:
        if payload.get("content_block", {}).get("type") == "thinking":
            payload["content_block"] = {"type": "thinking"}
    return payloads


@ANTHROPIC.events
def signature_inherited(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call without a signature is remembered with the signature of an earlier part (both states)."""
    last = None
    for event in events:
        last = getattr(event, "signature", None) or last
        if isinstance(event, ev.CallStart):
            event.signature = last
        yield event


# Calls


@ANTHROPIC.wrapper
class RepeatedIds(Wrapper):
    """Two calls with the same id both keep it, and their results cannot be distinguished (the later
    state).
    """

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        for payload in payloads:
            block = payload.get("content_block", {})
            if block.get("type") == "tool_use" and block["id"] in self.session.calls:
                block["id"] = self.session.calls[block["id"]].wire_id or block["id"]
        return payloads


@ANTHROPIC.payloads
def one_id_for_all(payloads: Items) -> Items:
    """Calls that came without an id share one (the later version)."""
    for payload in payloads:
        block = payload.get("content_block", {})
        if re.fullmatch("toolu_[0-9]+", block.get("id", "")):
            block["id"] = "toolu_1"
    return payloads


@ANTHROPIC.events
def empty_arguments_dropped(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call without arguments is dropped (the later version)."""
    held: list[ev.Event] = []
    for event in events:
        if isinstance(event, ev.CallStart) or (held and isinstance(event, ev.CallPiece)):
            held.append(event)
        elif isinstance(event, ev.CallEnd) and held and not event.arguments:
            held = []
        else:
            yield from held
            held = []
            yield event
    yield from held


@ANTHROPIC.message
def calls_beside_the_candidates_ignored(message: Json) -> None:
    """``functionCalls`` at the top level of a response is ignored (the later version)."""
    message.pop("functionCalls", None)
    message.pop("function_calls", None)


@ANTHROPIC.message
def text_beside_a_call_ignored(message: Json) -> None:
    """A part with a call and text gives only the call (both states)."""
    for part in parts_of(message):
        if "functionCall" in part:
            part.pop("text", None)


@ANTHROPIC.message
def broken_arguments_are_empty(message: Json) -> None:
    """Arguments in a string that is not a JSON object become an empty object (the first version)."""
    for part in parts_of(message):
        call = part.get("functionCall")
        if (
            isinstance(call, dict)
            and isinstance(call.get("args"), str)
            and not call["args"].startswith("{")
        ):
            call["args"] = {}


@ANTHROPIC.message
def snake_case_calls_ignored(message: Json) -> None:
    """``function_call`` and ``thought_signature`` are not read (the later version)."""
    for part in parts_of(message):
        part.pop("function_call", None)
        part.pop("thought_signature", None)


@ANTHROPIC.message
def snake_case_ends_ignored(message: Json) -> None:
    """``finish_reason`` and ``usage_metadata`` are not read (the later version)."""
    message.pop("usage_metadata", None)
    for candidate in message.get("candidates") or []:
        candidate.pop("finish_reason", None)


@ANTHROPIC.message
def some_snake_case_counts_ignored(message: Json) -> None:
    """``thoughts_token_count`` and ``cached_content_token_count`` are not read, though other counts
    are (the first version).
    """
    for name in ("thoughts_token_count", "cached_content_token_count"):
        (message.get("usage_metadata") or {}).pop(name, None)


@ANTHROPIC.message
def snake_case_feedback_ignored(message: Json) -> None:
    """``prompt_feedback`` is not read (the first version)."""
    message.pop("prompt_feedback", None)


def reassembled(events: Iterator[ev.Event], path_of: Any) -> Iterator[ev.Event]:
    """Streamed calls whose arguments are joined from the pieces for which ``path_of`` gives a path."""
    assembly, streamed = Assembly(), False
    for event in events:
        if isinstance(event, ev.CallStart):
            assembly, streamed = Assembly(), False
        if isinstance(event, ev.CallPiece):
            streamed = True
            path = path_of(event)
            event.path = path or ""
            if path:
                assembly.add(path, event.value)
        if isinstance(event, ev.CallEnd) and streamed:
            event.arguments = assembly.value()
        yield event


@ANTHROPIC.events
def only_strings_in_pieces(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """Streamed arguments lose their numbers, booleans and nulls; only strings arrive (the later
    version).
    """
    return reassembled(events, lambda piece: piece.path if isinstance(piece.value, str) else None)


@ANTHROPIC.events
def paths_split_at_dots(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A path of streamed arguments is split at its dots, so an index or a quoted name becomes part
    of a key (the later version).
    """

    def path_of(piece: ev.CallPiece) -> str:
        steps = re.sub(r"^\$\.?", "", piece.path).split(".")
        return "$" + "".join(f"[{json.dumps(step)}]" for step in steps)

    return reassembled(events, path_of)


@ANTHROPIC.events
def invalid_call_without_arguments(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call whose arguments are not a JSON object becomes a call without arguments."""
    for event in events:
        yield ev.CallEnd(event.call, {}) if isinstance(event, ev.CallInvalid) else event
