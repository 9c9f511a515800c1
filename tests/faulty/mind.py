"""Faults of mind programs that a single answer shows.

The agent from which the records come had them in one of its four states.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.dialects.mind.response import timestamp
from harness.stream import events as ev

from .pipeline import Items, Json, Table, Wrapper

MIND = Table("mind")
RATE_LIMIT_WORDS = ("429", "ResourceExhausted", "Rate limit", "quota", "Quota")


# Calls


@MIND.payloads
def text_after_a_call_lost(payloads: Items) -> Items:
    """The parts after a call are not read, and the next answer replaces them (the last state)."""
    called = next(
        (at for at, payload in enumerate(payloads) if payload["type"] == "tool_code"), len(payloads)
    )
    return [
        payload
        for at, payload in enumerate(payloads)
        if at <= called or payload["type"] != "assistant"
    ]


@MIND.payloads
def only_the_first_call(payloads: Items) -> Items:
    """Of parallel calls only the first one is run (the last state)."""
    calls = [at for at, payload in enumerate(payloads) if payload["type"] == "tool_code"]
    return [payload for at, payload in enumerate(payloads) if at not in calls[1:]]


@MIND.payloads
def call_printed_twice(payloads: Items) -> Items:
    """A call after text is printed both by the loop and by the tool (the second state)."""
    changed: Items = []
    for payload in payloads:
        changed += [payload] * (2 if changed and payload["type"] == "tool_code" else 1)
    return changed


@MIND.wrapper
class UndeclaredToolIgnored(Wrapper):
    """A call of a tool that the program doesn't have is skipped without an error (the last state)."""

    def feed(self, event: ev.Event) -> Items:
        declared = {tool.name for tool in self.tools}
        return [
            payload
            for payload in super().feed(event)
            if payload["type"] != "tool_code" or not declared or payload["name"] in declared
        ]


@MIND.wrapper
class ResultBesideACall(Wrapper):
    """A result is printed although a call of the answer has no result yet (the first version has no
    tools).
    """

    text = ""
    failed = False

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        for payload in payloads:
            self.failed = self.failed or payload["type"] == "error"
            if payload["type"] == "assistant":
                self.text += payload["message"]["content"][0]["text"]
        return payloads

    def close(self) -> Items:
        payloads = super().close()
        if payloads or self.failed or not self.text:
            return payloads
        at = timestamp(self.session.at_ms)
        return [{"type": "result", "result": self.text, "timestamp": at}]


@MIND.events
def arguments_in_pieces_lost(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call whose arguments are streamed is run without arguments (all states read only whole
    calls).
    """
    streamed = False
    for event in events:
        streamed = (streamed or isinstance(event, ev.CallPiece)) and not isinstance(
            event, ev.CallStart
        )
        if isinstance(event, ev.CallEnd) and streamed:
            event.arguments = {}
        yield event


# Answers without content


@MIND.payloads
def no_content_is_an_error(payloads: Items) -> Items:
    """An answer without candidates or content crashes the program (the last state)."""
    if [payload["type"] for payload in payloads] == ["result"] and not payloads[0]["result"]:
        words = {"code": "AGENT_ERROR", "message": "'NoneType' object is not subscriptable"}
        return [{"type": "error", **words, "timestamp": payloads[0]["timestamp"]}]
    return payloads


@MIND.event
def block_reason_dropped(event: ev.Event) -> ev.Event:
    """A blocked prompt crashes the program, and the message does not mention the block (the last
    state).
    """
    return (
        ev.Error("'NoneType' object is not subscriptable")
        if isinstance(event, ev.Blocked)
        else event
    )


@MIND.event
def blocked_is_an_empty_answer(event: ev.Event) -> ev.Event | None:
    """A blocked prompt is an answer without text that ended well (the first version)."""
    return None if isinstance(event, ev.Blocked) else event


@MIND.payloads
def incomplete_not_marked(payloads: Items) -> Items:
    """A result is not marked as incomplete (all states)."""
    for payload in payloads:
        payload.pop("incomplete", None)
    return payloads


@MIND.payloads
def no_result_without_text(payloads: Items) -> Items:
    """An answer without text has no result, so its reader waits (the later versions never print one)."""
    return [payload for payload in payloads if payload["type"] != "result" or payload["result"]]


@MIND.payloads
def result_of_the_last_piece(payloads: Items) -> Items:
    """The result of an answer in more than two pieces is its last piece, not the whole text (its
    readers guard against this).
    """
    texts = [
        payload["message"]["content"][0]["text"]
        for payload in payloads
        if payload["type"] == "assistant"
    ]
    for payload in payloads:
        if payload["type"] == "result" and len(texts) > 2:
            payload["result"] = texts[-1]
    return payloads


@MIND.wrapper
class EmptyMessages(Wrapper):
    """A piece without text is a message (the documents forbid this)."""

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        if isinstance(event, ev.Text) and event == ev.Text("", event.signature):
            message = {"content": [{"type": "text", "text": ""}]}
            at = timestamp(self.session.at_ms)
            payloads.append({"type": "assistant", "message": message, "timestamp": at})
        return payloads


# Thoughts


@MIND.event
def thoughts_are_printed(event: ev.Event) -> ev.Event:
    """Thoughts are printed as the answer (the last state)."""
    return (
        ev.Text(event.text, event.signature, event.candidate)
        if isinstance(event, ev.Reasoning)
        else event
    )


# Errors and spelling


@MIND.payloads
def rate_limit_by_its_words(payloads: Items) -> Items:
    """Whether an error is a rate limit depends on words of its message (the last state)."""
    for payload in payloads:
        if payload["type"] == "error":
            limited = any(word in payload["message"] for word in RATE_LIMIT_WORDS)
            payload["code"] = "RATE_LIMIT_EXCEEDED" if limited else "AGENT_ERROR"
    return payloads


@MIND.payloads
def every_error_is_the_agents(payloads: Items) -> Items:
    """No error is a rate limit, so no other model is tried (the third state)."""
    for payload in payloads:
        if payload["type"] == "error":
            payload["code"] = "AGENT_ERROR"
    return payloads


@MIND.wrapper
class ErrorWithoutAType(Wrapper):
    """An error of the API is a record without a type, and its readers hide it (the first three
    states).
    """

    def feed(self, event: ev.Event) -> Items:
        payloads = super().feed(event)
        if isinstance(event, ev.Error):
            return [{"error": payload["message"]} for payload in payloads]
        return payloads


@MIND.event
def cut_is_an_end(event: ev.Event) -> ev.Event | None:
    """An answer that is cut has ended well (all states read whole answers)."""
    return None if isinstance(event, ev.Incomplete) else event


@MIND.message
def only_one_spelling(message: Json) -> None:
    """A call in snake_case is not read as a call (all states read one spelling)."""
    for candidate in message.get("candidates") or []:
        for part in (candidate.get("content") or {}).get("parts") or []:
            if isinstance(part, dict):
                part.pop("function_call", None)


@MIND.events
def invalid_call_without_arguments(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """A call whose arguments are not a JSON object becomes a call without arguments."""
    for event in events:
        yield ev.CallEnd(event.call, {}) if isinstance(event, ev.CallInvalid) else event
