"""The reader of facts: makes the list of facts of an answer from the events of its wire."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from harness.facts import CONTINUATION, Fact, WireFacts, arguments_of, is_malformed
from harness.facts import fact as stated
from harness.facts.detail import (
    Billing,
    CallBegins,
    CallPiece,
    Content,
    Counts,
    ErrorWords,
    Fields,
    FinishMessage,
    GoodEnd,
    InvalidCall,
    Opaque,
    OpenCall,
    PartBegins,
    Signature,
    UnreadablePiece,
)
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


def counts_in(usage: Usage) -> dict[str, int]:
    """Return the counts of an event by their names."""
    counts = ((name, getattr(usage, field)) for field, name in _COUNTS.items())
    return {name: count for name, count in counts if count is not None}


class EventFacts:
    """Reads the facts of one answer, as a list in the order of the wire. The subclass of a wire
    reads the objects that events pass on.

    A last call that has no end is open. The arguments of an open call are those so far.
    """

    signed_calls = False
    """Whether the signatures before a call must be sent back before it."""
    placed_signatures = False
    """Whether the place of a thought's signature in the text matters."""
    covering_signatures = False
    """Whether a thought's signature covers its text."""

    def __init__(self, answer: Answer) -> None:
        self.facts: list[Fact] = []
        self._answer = answer
        self._open = 0
        """The number of the open call; 0 if none is open."""
        self._call = CallBegins(None, "", None)
        """The latest call."""
        self._is_open = False
        """Whether a call was still open when the answer ended."""
        self._arguments: list[str] = []
        """The pieces of the JSON text of the arguments of the open call."""
        self._part_begins = False
        """Whether the next thought begins a part."""
        self._names: set[str] = set()
        """The names of fields that are noted."""
        self._ends: str | None = None
        """The last finish reason."""
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
        self._is_text = text is not None
        if text is not None and text.strip() not in ("", "[DONE]"):
            self._note_unreadable(text)
        self._read(events)

    def close(self, events: Iterable[Event]) -> WireFacts:
        """Read the events of the end; returns the facts of the whole answer."""
        self._is_text = True
        self._is_open = self._open > 0
        self._read(events)
        self._note_open()
        self._note_end()
        if self._answer.failed:  # the status came before the body
            errors = [fact for fact in self.facts if isinstance(fact, stated.Error)]
            self.facts = [*errors[:1], *(f for f in self.facts if f not in errors[:1])]
        if self._ended_well():
            self.facts.append(GoodEnd())
        return WireFacts(self.facts)

    def _note_end(self) -> None:
        """Note the facts that are complete only at the end."""

    def _ended_well(self) -> bool:
        """Return whether the answer reports its end, and reports no failure, no continuation and no
        malformed call.
        """
        kinds = {type(fact) for fact in self.facts}
        without_call = kinds.isdisjoint((CallBegins, InvalidCall)) and is_malformed(self._ends)
        unfit = self._ends in (None, *CONTINUATION) or InvalidCall in kinds or without_call
        return not unfit

    def _read(self, events: Iterable[Event]) -> None:
        for event in events:
            read = self._reads.get(type(event))
            if read is not None and getattr(event, "candidate", 0) <= 0:
                read(event)

    # ---------------------------------------------------------------- content

    def _text(self, event: Text) -> None:
        if event.text:
            self.facts.append(stated.Text(event.text))

    def _reasoning(self, event: Reasoning) -> None:
        signature = event.signature
        if self._part_begins and (event.text or signature is not None):
            self._part_begins = False
            self.facts.append(PartBegins())
        if event.text:
            self.facts.append(stated.Thought(event.text))
        if signature is not None:
            placed, covers = self.placed_signatures, self.covering_signatures
            self.facts.append(Signature("thought", signature, placed, covers))

    def _call_start(self, event: CallStart) -> None:
        self._open = event.call
        self._arguments.clear()
        self._call = CallBegins(event.id or None, event.name, event.signature, self.signed_calls)
        self.facts.append(self._call)

    def _call_text(self, event: CallText) -> None:
        self._arguments.append(event.text)
        self.facts.append(CallPiece(event.text))

    def _call_end(self, event: CallEnd) -> None:
        call, arguments = self._call, event.arguments
        if event.call == self._open:
            self._open = 0
            whole = stated.Call(call.id, call.name, arguments)
            self.facts.append(OpenCall(call.name, arguments) if self._is_open else whole)

    def _call_invalid(self, event: CallInvalid) -> None:
        if event.call == self._open:  # else it is of another candidate
            self._open = 0
            self.facts.append(InvalidCall(self._call.name, event.text))

    def _note_open(self) -> None:
        """Note the open call with the arguments so far, if there is one."""
        if self._open:
            self.facts.append(OpenCall(self._call.name, self._arguments_so_far()))

    def _arguments_so_far(self) -> Json:
        text = "".join(self._arguments)
        return arguments_of(text) if text.strip() else {}

    def _code(self, event: Code | CodeResult) -> None:
        self.facts.append(Content("code"))

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self.facts.append(Content("server_tools"))

    # ---------------------------------------------------------------- beside the content

    def _note_names(self, names: Iterable[str]) -> None:
        """Note the names of fields that no other fact covers."""
        if new := frozenset(names) - self._names:
            self._names |= new
            self.facts.append(Fields(new))

    def _start(self, event: Start) -> None:
        named = {"modelVersion": event.model, "responseId": event.id}
        if event.model is self._answer.model:  # the request names it, not the wire
            del named["modelVersion"]
        self._note_names(present(named, set()))

    def _metadata(self, event: Metadata) -> None:
        self._note_names([_NAMES.get(event.name) or camel(event.name)])

    def _annotation(self, event: Annotation) -> None:
        named = (name for name, value in event.raw.items() if not is_empty(value))
        self._note_names(camel(name) for name in named)

    def _note_logprobs(self, tokens: Json) -> None:
        """Note the log probabilities of tokens, as OpenAI writes them."""
        for token in objects_in(tokens):
            if type(value := token.get("logprob")) in (int, float):
                self.facts += opaque_values("logprobs", str(value))

    def _usage(self, event: Usage) -> None:
        self.facts.append(Counts(counts_in(event)))

    def _finish(self, event: Finish) -> None:
        self._ends = event.raw
        self.facts += (stated.Finish(event.raw), FinishMessage(event.message))

    def _error(self, event: Error) -> None:
        document = event.raw
        if isinstance(document, list) and document:
            document = document[0]
        error = None
        if isinstance(document, dict):
            error = self._error_in(document)
        elif not self._is_text:
            self._note_value(document)
        self._note_open()
        self.facts += error_facts(error, self._answer.status)

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
            self._note_names(camel(name) for name in raw)
        else:
            self._note_names(names_in(raw))

    def _note_value(self, value: Json) -> None:
        """Note a JSON value that is no message."""
        if isinstance(value, list) and value:
            for item in value:
                self._note_value(item)
        else:
            self._note_unreadable(json.dumps(value))

    def _note_unreadable(self, text: str) -> None:
        self.facts.append(UnreadablePiece(text))


def opaque_values(aspect: str, *values: Json) -> Iterator[Opaque]:
    """Yield the values of an aspect that are non-blank strings, if there are some."""
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if texts:
        yield Opaque(aspect, tuple(texts))


def billing_fact(name: str, word: Json) -> Iterator[Billing]:
    """Yield how the answer is billed, such as a service tier, if the wire says so."""
    if isinstance(word, str) and word and "unspecified" not in word.lower():
        yield Billing(name, word)


def error_facts(error: Json, http_status: int = 200) -> tuple[ErrorWords, stated.Error]:
    """Return the words and the number with the message of an error. An HTTP status that reports a
    failure has priority over the number. Values of other types are not facts.
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
    said = ErrorWords(tuple(str(word) for word in words if word not in (None, "", 0)))
    return said, stated.Error(failed[0] if failed else number, message)


def exit_facts(exit_code: str, stderr: str) -> tuple[ErrorWords, stated.Error]:
    """Return the error of a program whose exit code alone reports its failure; ``stderr`` may be
    empty.
    """
    said = filter(None, [f"exit code {exit_code}", stderr])
    words = ErrorWords(tuple(filter(None, [exit_code, stderr])))
    return words, stated.Error(None, ": ".join(said))
