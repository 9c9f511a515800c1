"""Faults of unified-llm adapters.

The Go code from which the event model comes had them, or its siblings in Python and TypeScript had
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

from harness.dialects.unified_llm.protocol import FINISH_REASONS
from harness.stream import events as ev
from harness.stream.framing import Frame

from .pipeline import Items, Table, Wrapper

UNIFIED_LLM = Table("unified-llm")
OF_THE_SERVER = (ev.Media, ev.Code, ev.CodeResult, ev.ServerCall, ev.ServerResult)

NOTHING, EMPTY = "nothing in the answer was understood", "the answer has no content"
"""The beginnings of the messages of an answer in which nothing was understood."""


def of_type(payloads: Items, *types: str) -> Iterator[dict[str, Any]]:
    return (payload for payload in payloads if payload["type"] in types)


def calls(payloads: Items) -> Iterator[dict[str, Any]]:
    """Every tool call in the payloads, including those of the Response."""
    yield from (payload["tool_call"] for payload in payloads if "tool_call" in payload)
    for finish in of_type(payloads, "FINISH"):
        yield from (
            part["tool_call"]
            for part in finish["response"]["message"]["content"]
            if part["kind"] == "tool_call"
        )


def is_counted(call_id: str) -> bool:
    """Whether the call had no id on the wire. Faults of every call are narrowed to these calls,
    since older wires had no others.
    """
    return re.fullmatch("call_[0-9]+", call_id) is not None


class OwnReason(Wrapper):
    """Reports the wire's own reason although there is a call, if `is_hidden` is true."""

    reason = "other"
    """The reason in the last finish or block event."""

    def feed(self, event: ev.Event) -> Items:
        if isinstance(event, ev.Finish) and event.candidate <= 0:
            self.reason = FINISH_REASONS[event.reason]
        return super().feed(event)

    def close(self) -> Items:
        payloads = super().close()
        for finish in of_type(payloads, "FINISH"):
            if finish["finish_reason"]["reason"] == "tool_calls" and self.is_hidden(payloads):
                set_reason(finish, self.reason)
        return payloads

    def is_hidden(self, payloads: Items) -> bool:
        raise NotImplementedError


def set_reason(finish: dict[str, Any], reason: str) -> None:
    """Sets another reason in FINISH and in its Response."""
    for holder in (finish, finish["response"]):
        holder["finish_reason"] = {**holder["finish_reason"], "reason": reason}


# The Go code


@UNIFIED_LLM.payloads
def id_is_the_name(payloads: Items) -> Items:
    """A call without an id gets the tool's name as its id, so two calls of a tool share it (the Go
    code).
    """
    for call in calls(payloads):
        call["id"] = call["name"] if is_counted(call["id"]) else call["id"]
    return payloads


@UNIFIED_LLM.payloads
def text_sent_only_at_its_end(payloads: Items) -> Items:
    """Text is sent in one delta at its end, here text that is followed by something (the Go code
    awaits the whole answer).
    """
    last = payloads[-2].get("text_id") if len(payloads) > 1 else None
    changed: Items = []
    for payload in payloads:
        before = changed[-1] if changed else {}
        if payload["type"] == before.get("type") == "TEXT_DELTA" and payload["text_id"] != last:
            before["delta"] += payload["delta"]
        else:
            changed.append(payload)
    return changed


@UNIFIED_LLM.event
def error_in_the_stream_swallowed(event: ev.Event) -> ev.Event | None:
    """An error, here one of the server, gives an empty response that looks whole (the Go code's
    stream).
    """
    return None if isinstance(event, ev.Error) and (event.code or 0) >= 500 else event


@UNIFIED_LLM.payloads
def cut_swallowed(payloads: Items) -> Items:
    """A broken connection gives a response that looks whole (the Go code's stream)."""
    return [
        {
            "type": "FINISH",
            "finish_reason": {"reason": "stop"},
            "response": {"message": {"role": "assistant", "content": []}},
        }
        if payload["type"] == "ERROR" and payload["error"]["type"] == "StreamError"
        else payload
        for payload in payloads
    ]


@UNIFIED_LLM.payloads
def every_400_is_context_length(payloads: Items) -> Items:
    """A bad key, a bad schema, a missing signature: every 400 is a prompt that is too long (the Go
    code).
    """
    for payload in of_type(payloads, "ERROR"):
        if payload["error"].get("status_code") == 400:
            payload["error"]["type"] = "ContextLengthError"
    return payloads


@UNIFIED_LLM.payloads
def other_statuses_are_plain_errors(payloads: Items) -> Items:
    """404, 408, 409 and 504 have no class of their own and count as final (the Go code)."""
    for payload in of_type(payloads, "ERROR"):
        if payload["error"].get("status_code") in (404, 408, 409, 504):
            payload["error"] |= {"type": "ProviderError", "retryable": False}
    return payloads


@UNIFIED_LLM.payloads
def every_429_is_a_rate_limit(payloads: Items) -> Items:
    """An exhausted daily quota is reported as a rate limit that can be retried (the Go code)."""
    for payload in of_type(payloads, "ERROR"):
        if payload["error"]["type"] == "QuotaExceededError":
            payload["error"] |= {"type": "RateLimitError", "retryable": True}
    return payloads


@UNIFIED_LLM.payloads
def wait_dropped(payloads: Items) -> Items:
    """The waiting time from RetryInfo or Retry-After is dropped (the Go code)."""
    for payload in of_type(payloads, "ERROR"):
        payload["error"].pop("retry_after", None)
    return payloads


@UNIFIED_LLM.event
def blocked_prompt_is_an_untyped_error(event: ev.Event) -> ev.Event:
    """A blocked prompt is an opaque error instead of a content filter (the Go code)."""
    return ev.Error(f"blocked: prompt: {event.reason}") if isinstance(event, ev.Blocked) else event


@UNIFIED_LLM.event
def filtered_answer_is_an_untyped_error(event: ev.Event) -> ev.Event:
    """An answer that SAFETY or RECITATION ends is an opaque error (the Go code's SDK)."""
    filtered = isinstance(event, ev.Finish) and event.raw in ("SAFETY", "RECITATION")
    return ev.Error("blocked: candidate") if filtered else event


@UNIFIED_LLM.events
def usage_of_the_first_frame(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """The first counts are kept, although they are running totals (the Go code's SDK)."""
    seen = False
    for event in events:
        if not (seen and isinstance(event, ev.Usage)):
            yield event
        seen = seen or isinstance(event, ev.Usage)


@UNIFIED_LLM.event
def no_thought_tokens(event: ev.Event) -> ev.Event:
    """The tokens of thoughts are not counted (the Go code)."""
    if isinstance(event, ev.Usage):
        event.reasoning = None
    return event


@UNIFIED_LLM.event
def no_cached_tokens(event: ev.Event) -> ev.Event:
    """The tokens from a cache are not counted (the Go code)."""
    if isinstance(event, ev.Usage):
        event.cached = None
    return event


@UNIFIED_LLM.event
def signature_lost(event: ev.Event) -> ev.Event:
    """No signature is passed to the caller, so none can be sent back (the Go code)."""
    if isinstance(event, ev.Text | ev.Reasoning | ev.CallStart | ev.NamelessCall):
        event.signature = None
    return event


@UNIFIED_LLM.event
def other_parts_ignored(event: ev.Event) -> ev.Event | None:
    """Images, files, code and server tools are dropped (the Go code)."""
    return None if isinstance(event, OF_THE_SERVER) else event


@UNIFIED_LLM.event
def other_candidates_vanish(event: ev.Event) -> ev.Event | None:
    """Only the first candidate is read, and the others are dropped silently (the Go code)."""
    return None if getattr(event, "candidate", 0) > 0 else event


@UNIFIED_LLM.payloads
def no_arguments_are_null(payloads: Items) -> Items:
    """A call without arguments has null instead of an empty object (the Go code)."""
    for call in calls(payloads):
        if call.get("arguments") == {}:
            call["arguments"] = None
    return payloads


@UNIFIED_LLM.payloads
def calls_only_in_the_response(payloads: Items) -> Items:
    """The stream has no events for a call without an id; only the Response contains it (the Go code
    reports no call at all).
    """
    return [
        payload
        for payload in payloads
        if "tool_call" not in payload or not is_counted(payload["tool_call"]["id"])
    ]


@UNIFIED_LLM.event
def malformed_is_stop(event: ev.Event) -> ev.Event:
    """A malformed call looks like a regular end (the Go code)."""
    if isinstance(event, ev.Finish) and event.reason == "malformed":
        event.reason = "stop"
    return event


# Its siblings


@UNIFIED_LLM.event
def unknown_reason_is_stop(event: ev.Event) -> ev.Event:
    """A finish reason that is not in the table is a regular end (a sibling in Python)."""
    if isinstance(event, ev.Finish) and event.reason in ("other", "continuation"):
        event.reason = "stop"
    return event


@UNIFIED_LLM.payloads
def no_reason_is_stop(payloads: Items) -> Items:
    """An answer without a finish reason, even one without candidates, has ended well (a sibling in
    TypeScript).
    """
    for finish in of_type(payloads, "FINISH"):
        if finish["finish_reason"] == {"reason": "other"}:
            set_reason(finish, "stop")
    return payloads


@UNIFIED_LLM.payloads
def nothing_understood_is_finished(payloads: Items) -> Items:
    """An answer in which nothing was understood is finished with the reason other (a sibling in
    Python).
    """
    for at, payload in enumerate(payloads):
        if (
            payload["type"] == "ERROR"
            and payload["error"]["type"] == "StreamError"
            and payload["error"]["message"].startswith((NOTHING, EMPTY))
        ):
            response = {"id": "r", "model": "", "provider": "gemini", "warnings": []}
            message = {"role": "assistant", "content": []}
            finish = {"finish_reason": {"reason": "other"}}
            payloads[at] = {
                "type": "FINISH",
                **finish,
                "response": {**response, "message": message, **finish},
            }
    return payloads


@UNIFIED_LLM.event
def blocked_is_stop(event: ev.Event) -> ev.Event:
    """A blocked prompt is an empty answer that ended well (a sibling in TypeScript)."""
    return (
        ev.Finish("stop", event.reason, event.message) if isinstance(event, ev.Blocked) else event
    )


@UNIFIED_LLM.event
def two_reasons_are_filters(event: ev.Event) -> ev.Event:
    """Only SAFETY and RECITATION count as a content filter (a sibling in Python)."""
    if (
        isinstance(event, ev.Finish)
        and event.reason == "content_filter"
        and event.raw not in ("SAFETY", "RECITATION")
    ):
        event.reason = "other"
    return event


@UNIFIED_LLM.event
def recitation_is_no_filter(event: ev.Event) -> ev.Event:
    """Only SAFETY counts as a content filter, and RECITATION does not (a sibling in TypeScript)."""
    if isinstance(event, ev.Finish) and event.raw == "RECITATION":
        event.reason = "other"
    return event


@UNIFIED_LLM.event
def malformed_is_other(event: ev.Event) -> ev.Event:
    """A malformed call is no error (a sibling in Python)."""
    if isinstance(event, ev.Finish) and event.reason == "malformed":
        event.reason = "other"
    return event


@UNIFIED_LLM.wrapper
class CallsDontChangeTheReason(OwnReason):
    """In a stream a call without an id leaves the reason at stop, so the tool is never run (a
    sibling in Python).
    """

    def is_hidden(self, payloads: Items) -> bool:
        return all(is_counted(call["id"]) for call in calls(payloads))


@UNIFIED_LLM.event
def thoughts_are_text(event: ev.Event) -> ev.Event:
    """The thought flag is ignored, so thoughts are part of the answer's text (siblings in Python
    and TypeScript).
    """
    return (
        ev.Text(event.text, event.signature, event.candidate)
        if isinstance(event, ev.Reasoning)
        else event
    )


@UNIFIED_LLM.payloads
def thoughts_open_a_text_block(payloads: Items) -> Items:
    """A thought opens a block of text that stays empty (a sibling's test guards against this)."""
    opened: Items = []
    for payload in payloads:
        opened += (
            [{"type": "TEXT_START", "text_id": "text_1"}]
            if payload["type"] == "REASONING_START"
            else []
        )
        opened.append(payload)
    return opened


@UNIFIED_LLM.payloads
def call_end_without_arguments(payloads: Items) -> Items:
    """TOOL_CALL_END of a call without an id lacks the arguments (a sibling in TypeScript)."""
    for payload in of_type(payloads, "TOOL_CALL_END"):
        if is_counted(payload["tool_call"]["id"]):
            payload["tool_call"]["arguments"] = {}
    return payloads


@UNIFIED_LLM.payloads
def delta_with_the_whole_call(payloads: Items) -> Items:
    """A call that came whole is sent like a streamed one: a delta with all its arguments (a sibling
    in Python).
    """
    changed: Items = []
    for payload in payloads:
        if payload["type"] == "TOOL_CALL_END" and is_counted(payload["tool_call"]["id"]):
            changed.append(
                {
                    **payload,
                    "type": "TOOL_CALL_DELTA",
                    "delta": json.dumps(payload["tool_call"]["arguments"]),
                }
            )
        changed.append(payload)
    return changed


@UNIFIED_LLM.events
def over_at_the_first_reason(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """FINISH is sent at the first finish reason, and later content from the server is lost (a
    sibling in Python).
    """
    for event in events:
        yield event
        if isinstance(event, ev.Finish) and event.candidate <= 0:
            return


@UNIFIED_LLM.event
def total_is_a_sum(event: ev.Event) -> ev.Event:
    """The total is the sum of input and output, without the thoughts that the wire's own total
    includes (a sibling in Python).
    """
    if isinstance(event, ev.Usage) and event.input is not None and event.output is not None:
        event.total = event.input + event.output
    return event


@UNIFIED_LLM.event
def missing_counts_are_zero(event: ev.Event) -> ev.Event:
    """Cached tokens are reported as 0 if the wire has no count for them (siblings in Python and
    TypeScript).
    """
    if isinstance(event, ev.Usage) and event.reasoning is not None:
        event.cached = event.cached or 0
    return event


@UNIFIED_LLM.frame
def broken_json_skipped(frame: Frame) -> Frame | None:
    """A message that is not JSON is skipped without an error (all three siblings)."""
    return frame if frame.raw is None or frame.partial else None


@UNIFIED_LLM.payloads
def started_twice(payloads: Items) -> Items:
    """STREAM_START is sent again if the model or the reply's id comes late or changes (a sibling's
    test guards against this).
    """
    again: Items = []
    for payload in payloads:
        again.append(payload)
        raw = payload.get("raw")
        if isinstance(raw, dict) and raw.keys() & {"modelVersion", "responseId"}:
            again.append({"type": "STREAM_START"})
    return again


@UNIFIED_LLM.payloads
def text_not_ended_before_the_end(payloads: Items) -> Items:
    """TEXT_END depends on a finish reason, so text of an answer without one has no end before
    FINISH (a sibling in Python).
    """
    finish = payloads[-1]
    unreasoned = (
        finish["type"] == "FINISH" and "raw" not in finish["finish_reason"] and len(payloads) > 1
    )
    return (
        [*payloads[:-2], finish] if unreasoned and payloads[-2]["type"] == "TEXT_END" else payloads
    )


@UNIFIED_LLM.payloads
def text_ended_inside_the_call(payloads: Items) -> Items:
    """The block of text before a call is closed only after the start of the call (a sibling's test
    guards against this).
    """
    for at in range(len(payloads) - 1):
        if payloads[at]["type"] == "TEXT_END" and payloads[at + 1]["type"] == "TOOL_CALL_START":
            payloads[at], payloads[at + 1] = payloads[at + 1], payloads[at]
    return payloads


@UNIFIED_LLM.payloads
def later_text_has_no_block(payloads: Items) -> Items:
    """Text after the first block is sent only in deltas, without start and end (a sibling in Python
    has no blocks at all).
    """
    return [
        payload
        for payload in payloads
        if not (payload["type"] in ("TEXT_START", "TEXT_END") and payload["text_id"] != "text_1")
    ]


chance = count(0x5F3759DF)


@UNIFIED_LLM.payloads
def ids_by_chance(payloads: Items) -> Items:
    """A call without an id gets a random one, so the same recording never replays to the same
    events (all three siblings).
    """
    given = {
        call["id"]: f"call_{next(chance):08x}" for call in calls(payloads) if is_counted(call["id"])
    }
    for call in calls(payloads):
        call["id"] = given.get(call["id"], call["id"])
    return payloads


@UNIFIED_LLM.events
def invalid_call_without_arguments(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call whose arguments are not a JSON object becomes a call without arguments."""
    for event in events:
        yield ev.CallEnd(event.call, {}) if isinstance(event, ev.CallInvalid) else event
