"""The reader of facts: makes the account of an answer from the events of its wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from harness.facts import CONTINUATION, Facts, Run, arguments_of
from harness.stream.events import (
    Annotation,
    CallEnd,
    CallInvalid,
    CallStart,
    CallText,
    Code,
    CodeResult,
    Error,
    Event,
    Finish,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Start,
    Text,
    Unknown,
    Usage,
)
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, objects_in

from .provider import Answer
from .wire_values import camel, is_empty, names_in, present

_NAMES: Final = {"model": "modelVersion", "id": "responseId"}
"""A fact about the whole answer → the name of its field."""


_COUNTS: Final = {
    "input": "promptTokenCount",
    "output": "candidatesTokenCount",
    "total": "totalTokenCount",
    "cached": "cachedContentTokenCount",
    "cache_write": "cacheWriteTokenCount",
    "reasoning": "thoughtsTokenCount",
}
"""A count of `Usage` → its name."""


def note_counts(facts: Facts, usage: Usage) -> None:
    """Note the counts of an event."""
    for field, name in _COUNTS.items():
        if (count := getattr(usage, field)) is not None:
            facts.usage[name] = count


class EventFacts:
    """Reads the facts of one answer. The subclass of a wire reads the objects that events pass on.

    A last call that has no end is open. The arguments of an open call are those so far.
    """

    def __init__(self, answer: Answer) -> None:
        self.facts = Facts()
        self._answer = answer
        self._open = 0
        """The number of the open call; 0 if none is open."""
        self._call_at = 0
        """The place of the latest call in the order."""
        self._arguments: list[str] = []
        """The pieces of the JSON text of the arguments of the open call."""
        self._part: int | None = None
        """The number of characters of thoughts before the latest part; None if a wire has no parts
        of thoughts.
        """
        self._offset = 0
        self._is_text = False
        """Whether the events are those of a text that is not JSON, which is noted as a whole."""
        self._reads: dict[type[Event], Callable[[Any], None]] = {
            Annotation: self._annotation,
            CallEnd: self._call_end,
            CallInvalid: self._call_invalid,
            CallStart: self._call_start,
            CallText: self._call_text,
            Code: self._code,
            CodeResult: self._code,
            Error: self._error,
            Finish: self._finish,
            Metadata: self._metadata,
            Reasoning: self._reasoning,
            ServerCall: self._server_tool,
            ServerResult: self._server_tool,
            Start: self._start,
            Text: self._text,
            Unknown: self._unknown,
            Usage: self._usage,
        }

    def feed(self, frame: Frame, events: Iterable[Event]) -> None:
        """Read the events of a frame."""
        text = frame.text
        self._is_text, self._offset = text is not None, frame.offset
        if text is not None and text.strip() not in ("", "[DONE]"):
            self._note_unreadable(text)
        self._read(events)

    def close(self, events: Iterable[Event]) -> Facts:
        """Read the events of the end; returns the facts of the whole answer."""
        facts, was_open = self.facts, bool(self._open)
        self._is_text = True
        self._read(events)
        facts.open_call = was_open or bool(self._open)
        self._show_call()
        if self._answer.failed:
            facts.at_error = Facts()  # the status came before the body
        facts.ended_well = not (facts.finish in (None, *CONTINUATION) or facts.is_malformed)
        return facts

    def _read(self, events: Iterable[Event]) -> None:
        for event in events:
            read = self._reads.get(type(event))
            if read is not None and getattr(event, "candidate", 0) <= 0:
                read(event)

    # ---------------------------------------------------------------- content

    def _text(self, event: Text) -> None:
        if event.text:
            self.facts.order.append(Run("text", len(event.text)))
            self.facts.add_text(event.text)

    def _reasoning(self, event: Reasoning) -> None:
        if event.text:
            begins = self._part == len(self.facts.thoughts)
            self.facts.order.append(Run("thought", len(event.text), begins=begins))
            self.facts.add_thought(event.text)
        if event.signature is not None:
            self.facts.signatures.append(("thought", event.signature))

    def _call_start(self, event: CallStart) -> None:
        facts = self.facts
        self._open = event.call
        self._arguments.clear()
        facts.calls.append((event.name, {}))
        facts.marks.append((event.id or None, event.signature))
        facts.places.append(len(facts.text))
        self._call_at = len(facts.order)
        facts.order.append(Run("call"))

    def _call_text(self, event: CallText) -> None:
        self._arguments.append(event.text)
        self.facts.pieces.append(event.text)

    def _call_end(self, event: CallEnd) -> None:
        if event.call == self._open:
            self._open = 0
            self.facts.calls[-1] = (self.facts.calls[-1][0], event.arguments)

    def _call_invalid(self, event: CallInvalid) -> None:
        if event.call != self._open:
            return  # of another candidate
        facts = self.facts
        self._open = 0
        facts.invalid_calls.append((facts.calls[-1][0], event.text))
        for entries in (facts.calls, facts.marks, facts.places):
            entries.pop()
        del facts.order[self._call_at]

    def _show_call(self) -> None:
        """Set the arguments of the open call to those so far."""
        text = "".join(self._arguments)
        if self._open and text.strip():
            self.facts.calls[-1] = (self.facts.calls[-1][0], arguments_of(text))

    def _code(self, event: Code | CodeResult) -> None:
        self.facts.code += 1

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self.facts.server_tools += 1

    # ---------------------------------------------------------------- beside the content

    def _start(self, event: Start) -> None:
        named = {"modelVersion": event.model, "responseId": event.id}
        if event.model is self._answer.model:  # the request names it, not the wire
            del named["modelVersion"]
        self.facts.others |= present(named, set())

    def _metadata(self, event: Metadata) -> None:
        self.facts.others.add(_NAMES.get(event.name) or camel(event.name))

    def _annotation(self, event: Annotation) -> None:
        named = (name for name, value in event.raw.items() if not is_empty(value))
        self.facts.others |= {camel(name) for name in named}

    def _note_logprobs(self, tokens: Json) -> None:
        """Note the log probabilities of tokens, as OpenAI writes them."""
        for token in objects_in(tokens):
            if type(value := token.get("logprob")) in (int, float):
                self.facts.add_opaque("logprobs", str(value))

    def _usage(self, event: Usage) -> None:
        note_counts(self.facts, event)

    def _finish(self, event: Finish) -> None:
        self.facts.finish, self.facts.finish_message = event.raw, event.message

    def _error(self, event: Error) -> None:
        document = event.raw
        if isinstance(document, list) and document:
            document = document[0]
        error = None
        if isinstance(document, dict):
            error = self._error_in(document)
        elif not self._is_text:
            self._note_value(document)
        self.facts.open_call = bool(self._open)
        self._show_call()
        note_error(self.facts, error, self._answer.status)

    def _error_in(self, message: dict[str, Json]) -> Json:
        """Return the error in a message that reports one."""
        return message.get("error", message)

    def _unknown(self, event: Unknown) -> None:
        raw = event.raw
        is_noted = event.where == "frame" and self._is_text and isinstance(raw, str)
        if event.where == "unfinished" or is_noted:
            return
        if not isinstance(raw, dict):
            self._note_value(raw)
        elif event.where.startswith("field "):
            self.facts.others |= {camel(name) for name in raw}
        else:
            self.facts.others |= names_in(raw)

    def _note_value(self, value: Json) -> None:
        """Note a JSON value that is no message."""
        if isinstance(value, list) and value:
            for item in value:
                self._note_value(item)
        else:
            self._note_unreadable(json.dumps(value))

    def _note_unreadable(self, text: str) -> None:
        if not self.facts.unreadable:
            self.facts.unreadable_at = self._offset
        self.facts.unreadable.append(text)


def note_error(facts: Facts, error: Json, http_status: int = 200) -> None:
    """Note an error: its number, its message and its words. An HTTP status that reports a failure
    has priority over the number. Values of other types are not facts.
    """
    given = error if isinstance(error, dict) else {"message": error}
    own = {name: value for name, value in given.items() if type(value) in (str, int)}
    code, status, kind, message = (own.get(key) for key in ("code", "status", "type", "message"))
    number = int(code) if isinstance(code, str) and re.fullmatch("[0-9]{3}", code) else code
    if type(number) is not int:
        number = None
    failed = [http_status] if http_status >= 300 else []
    message = message if isinstance(message, str) else ""
    words = (*failed, code, status, kind, message)
    facts.error_words += [str(word) for word in words if word not in (None, "", 0)]
    facts.add_error(failed[0] if failed else number, message)


def note_exit(facts: Facts, exit_code: str, stderr: str) -> None:
    """Note the error of a program whose exit code alone reports its failure; ``stderr`` may be
    empty.
    """
    facts.error_words += filter(None, [exit_code, stderr])
    facts.add_error(None, ": ".join(filter(None, [f"exit code {exit_code}", stderr])))
