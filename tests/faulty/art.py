"""Faults of art adapters in reading answers.

The adapter from which the event model comes had them. It has two states: the first and the later
one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.stream import events as ev

from .pipeline import Items, Json, Table, Wrapper

ART = Table("art")
OF_AN_ANSWER = (ev.Text, ev.Reasoning, ev.CallStart, ev.Usage)


def metadata_of(payloads: Items) -> Iterator[dict[str, Any]]:
    """The data of every METADATA, of which there is at most one."""
    return (payload["data"] for payload in payloads if payload["type"] == "METADATA")


def tokens_of(payloads: Items) -> Iterator[dict[str, Any]]:
    """Every TOKEN."""
    return (payload for payload in payloads if payload["type"] == "TOKEN")


# How an answer ends


def without_error(payloads: Items, begins: str) -> Items:
    """METADATA instead of an ERROR whose message begins with these words."""
    for payload in payloads:
        if payload["type"] == "ERROR" and payload["data"]["message"].startswith(begins):
            payload |= {"type": "METADATA", "data": {"traceId": payload["traceId"]}}
    return payloads


@ART.wrapper
class BlockedOnlyIfUnary(Wrapper):
    """A prompt that is blocked in streaming mode is an empty answer that ended well (both
    states).
    """

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        return (
            without_error(payloads, "Gemini API call blocked")
            if self.session.streamed
            else payloads
        )


@ART.payloads
def no_end_after_blocked(payloads: Items) -> Items:
    """The ERROR of a blocked prompt is the last event: a client that waits for END waits forever
    (both states).
    """
    blocked = (
        len(payloads) > 1
        and payloads[-2]["type"] == "ERROR"
        and "blocked" in payloads[-2]["data"]["message"]
    )
    return payloads[:-1] if blocked else payloads


@ART.payloads
def no_end_after_an_invalid_answer(payloads: Items) -> Items:
    """The ERROR of an answer without content is the last event (both states)."""
    invalid = (
        len(payloads) > 1
        and payloads[-2]["type"] == "ERROR"
        and "Invalid response" in payloads[-2]["data"]["message"]
    )
    return payloads[:-1] if invalid else payloads


@ART.payloads
def nothing_is_an_answer(payloads: Items) -> Items:
    """A stream without any candidate has METADATA and END, like an answer (both states)."""
    return without_error(payloads, "Invalid response structure")


@ART.payloads
def calls_alone_are_invalid(payloads: Items) -> Items:
    """An answer with only tool calls and a finish reason is an invalid response (the first version)."""
    types = [payload["type"] for payload in payloads]
    if types == ["METADATA", "END"] and payloads[0]["data"].get("stopReason") == "STOP":
        data = {
            "name": "Error",
            "message": "Invalid response structure from Gemini SDK: No text content found.",
        }
        payloads[0] |= {"type": "ERROR", "data": data}
    return payloads


@ART.payloads
def metadata_before_an_error(payloads: Items) -> Items:
    """METADATA is before an ERROR that follows text (the tests of the adapter guard against this)."""
    changed: Items = []
    for payload in payloads:
        changed += (
            [{**payload, "type": "METADATA", "data": {}}]
            if payload["type"] == "ERROR" and changed
            else []
        )
        changed.append(payload)
    return changed


@ART.event
def cut_is_an_end(event: ev.Event) -> ev.Event | None:
    """A stream that is cut has ended well (if the SDK raises nothing)."""
    return None if isinstance(event, ev.Incomplete) else event


@ART.event
def error_in_the_stream_swallowed(event: ev.Event) -> ev.Event | None:
    """An error inside an open stream is ignored (if the SDK raises nothing)."""
    return (
        None
        if isinstance(event, ev.Error)
        and "error" in (event.raw if isinstance(event.raw, dict) else ())
        else event
    )


# Counts and times


@ART.events
def counts_of_the_last_frame(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """Only the counts of the last message that has any are reported (both states, in streaming
    mode).
    """
    last: ev.Usage | None = None
    for event in events:
        if isinstance(event, ev.Usage):
            last = event
        else:
            yield event
    if last:
        yield last


@ART.events
def reason_of_the_last_frame(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A reason in an earlier message than the last one is lost (both states, in streaming mode)."""
    reason: ev.Finish | None = None
    for event in events:
        if isinstance(event, ev.Finish) and event.candidate <= 0:
            reason = event
            continue
        reason = None if isinstance(event, OF_AN_ANSWER) else reason
        yield event
    if reason:
        yield reason


@ART.payloads
def thoughts_never_counted(payloads: Items) -> Items:
    """``thinkingTokens`` is read from fields that the wire does not have (the later version)."""
    for data in metadata_of(payloads):
        data.pop("thinkingTokens", None)
    return payloads


@ART.payloads
def counts_invented(payloads: Items) -> Items:
    """An answer with a finish reason but no counts has empty counts (both states, in streaming
    mode).
    """
    for data in metadata_of(payloads):
        if "stopReason" in data and any(payload["type"] == "TOKEN" for payload in payloads):
            data.setdefault("providerRawUsage", {})
    return payloads


@ART.payloads
def counts_in_our_words_alone(payloads: Items) -> Items:
    """``providerRawUsage`` has only those of Gemini's counts that have a field of their own (the
    document forbids this).
    """
    known = {"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"}
    for data in metadata_of(payloads):
        if "promptTokenCount" in data.get("providerRawUsage", ()):
            data["providerRawUsage"] = {
                name: count for name, count in data["providerRawUsage"].items() if name in known
            }
    return payloads


@ART.wrapper
class FirstTokenAtTheFirstFrame(Wrapper):
    """The time of the first token is that of the first message, even of one without text (both
    states).
    """

    first_ms: float | None = None
    begun = False

    def feed(self, event: ev.Event) -> Items:
        if not self.begun:
            self.begun, self.first_ms = True, self.session.at_ms
        return super().feed(event)

    def close(self) -> Items:
        payloads = super().close()
        for data in metadata_of(payloads):
            if self.first_ms is not None:
                data["timeToFirstTokenMs"] = self.first_ms
        return payloads


# Text and thoughts


class Unary(Wrapper):
    """Gives each TOKEN of a unary answer to `change`."""

    def feed(self, event: ev.Event) -> Items:
        return self.changed(super().feed(event))

    def close(self) -> Items:
        return self.changed(super().close())

    def changed(self, payloads: Items) -> Items:
        if not self.session.streamed:
            for token in tokens_of(payloads):
                self.change(token)
        return payloads

    def change(self, token: dict[str, Any]) -> None:
        raise NotImplementedError


@ART.wrapper
class UnaryTextTrimmed(Unary):
    """The text of a unary answer loses the blanks around it (both states)."""

    def change(self, token: dict[str, Any]) -> None:
        token["data"] = token["data"].strip()


@ART.payloads
def streamed_text_trimmed(payloads: Items) -> Items:
    """Each piece of text loses its leading and trailing line ends (the contract of the event model
    forbids this).
    """
    for payload in tokens_of(payloads):
        payload["data"] = payload["data"].strip("\n")
    return payloads


@ART.wrapper
class ATokenForEachPart(Wrapper):
    """Each part of a unary answer is a token of its own (the later version)."""

    def feed(self, event: ev.Event) -> Items:
        self.session.streamed = True
        return super().feed(event)


@ART.wrapper
class OtherKindsIfUnary(Unary):
    """The tokens of the two modes have different types for the same context (both states)."""

    def change(self, token: dict[str, Any]) -> None:
        token["tokenType"] = f"FINAL_SYNTHESIS_{token['tokenType']}"


@ART.event
def thoughts_are_the_answer(event: ev.Event) -> ev.Event:
    """A thought is a token of the answer (the first version)."""
    return (
        ev.Text(event.text, event.signature, event.candidate)
        if isinstance(event, ev.Reasoning)
        else event
    )


@ART.event
def thoughts_dropped(event: ev.Event) -> ev.Event | None:
    """A thought gives no token (the first version, by the SDK's accessor for text)."""
    return None if isinstance(event, ev.Reasoning) else event


@ART.payloads
def empty_tokens(payloads: Items) -> Items:
    """An answer without text has a token without text (the adapter's check guards against this)."""
    empty = [payload["type"] for payload in payloads] == ["METADATA", "END"]
    token = {**payloads[0], "type": "TOKEN", "data": "", "tokenType": "LLM_RESPONSE"}
    return [token, *payloads] if empty else payloads


@ART.message
def text_of_one_part(message: Json) -> None:
    """Of the parts of a message only the first with text is read (the later version fixes this)."""
    for candidate in message.get("candidates") or []:
        texts = [
            part
            for part in (candidate.get("content") or {}).get("parts") or []
            if isinstance(part, dict) and part.get("text")
        ]
        for part in texts[1:]:
            part["text"] = ""


@ART.payloads
def reasons_in_other_words(payloads: Items) -> Items:
    """A reason is not the word of the wire, here for a full answer (the contract of the event model
    forbids this).
    """
    for data in metadata_of(payloads):
        if data.get("stopReason") == "MAX_TOKENS":
            data["stopReason"] = "length"
    return payloads


@ART.payloads
def error_without_its_number(payloads: Items) -> Items:
    """An error of the API has only its message (if the SDK's error is wrapped)."""
    for payload in payloads:
        if payload["type"] == "ERROR":
            payload["data"].pop("code", None)
    return payloads
