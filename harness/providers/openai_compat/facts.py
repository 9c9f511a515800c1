"""Reads the facts of Chat Completions from their events."""

from __future__ import annotations

from typing import Final

from harness.facts import fact as stated
from harness.facts.detail import (
    CallPiece,
    Content,
    EndsInThought,
    Refusal,
    Signature,
    Tagged,
    UnclosedCalls,
)
from harness.stream import events
from harness.stream.events import (
    Annotation,
    CallEnd,
    CallInvalid,
    CallStart,
    CallText,
    Error,
    Finish,
    Incomplete,
    Mark,
    Media,
    Metadata,
    Reasoning,
    Text,
    Unknown,
)
from harness.stream.json_codec import Json, objects_in

from ..event_facts import EventFacts, billing_fact, counts_in, opaque_values
from ..provider import Answer
from ..wire_values import camel, names_in, present
from .usage import read_usage

_NAMES: Final = {"model": "modelVersion", "id": "responseId"}


class ChatFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`. ``tagged``: thoughts are a part of
    the text, and none is sent back.
    """

    def __init__(self, answer: Answer, tagged: bool = False) -> None:
        super().__init__(answer)
        self._content: list[str] | None = [] if tagged else None
        """The pieces of the text, with the tags."""
        self._has_tags = False
        self._has_mark = False
        """Whether a delta without thoughts is marked as a thought."""
        self._ends_in_thought = False
        self._unclosed = 0
        """The number of calls since the latest content that ends a call."""
        self._interrupted = False
        self._reads |= {
            events.CallPiece: self._call_text,
            Incomplete: self._incomplete,
            Mark: self._mark,
            Media: self._media,
        }

    def _note_end(self) -> None:
        self._note_content()
        if self._interrupted:
            self._note_unclosed()
        if self._has_mark and not (
            self._has_tags or any(isinstance(fact, stated.Thought) for fact in self.facts)
        ):
            self._note_names(["thought"])
        if self._ends_in_thought and self._content is None:
            self.facts.append(EndsInThought())

    def _note_unclosed(self) -> None:
        if self._unclosed or any(isinstance(fact, UnclosedCalls) for fact in self.facts):
            self.facts.append(UnclosedCalls(self._unclosed))

    # ---------------------------------------------------------------- content

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.text:
            self.facts += [Refusal()] if event.refusal else []
            self._ends_in_thought = False
            self._end_calls(event.text)
        self._sign("text", event.signature)

    def _reasoning(self, event: Reasoning) -> None:
        super()._reasoning(event)
        self._ends_in_thought = True
        self._end_calls(event.text)

    def _mark(self, event: Mark) -> None:
        if event.name == "tag":
            self._has_tags = True
            self._end_calls(str(event.raw))

    def _end_calls(self, content: str) -> None:
        """Note content, which ends the calls before it."""
        self._unclosed = 0
        if self._content is not None:
            self._content.append(content)

    def _note_content(self) -> None:
        """Set the text with its tags, which matters only if it has tags."""
        if self._has_tags:
            self.facts.append(Tagged("".join(self._content or ())))

    def _sign(self, kind: str, signature: str | None) -> None:
        if signature is not None:
            self.facts.append(Signature(kind, signature))

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self._ends_in_thought = False
        self._sign("call", event.signature)

    def _call_text(self, event: CallText | events.CallPiece) -> None:
        if event.call == self._open:
            self._arguments.append(event.text if isinstance(event, CallText) else str(event.value))

    def _call_end(self, event: CallEnd) -> None:
        if event.call == self._open:
            self._unclosed += 1
            self._note_pieces()
        super()._call_end(event)

    def _call_invalid(self, event: CallInvalid) -> None:
        if event.call == self._open:
            self._note_pieces()
        super()._call_invalid(event)

    def _note_pieces(self) -> None:
        """Note the pieces of the arguments, if they came in several."""
        if len(self._arguments) > 1:
            self.facts += map(CallPiece, self._arguments)

    def _media(self, event: Media) -> None:
        self.facts += (Content("media"), *opaque_values("media", event.data))
        self._note_names(names_in(event.raw))

    # ---------------------------------------------------------------- beside the content

    def _metadata(self, event: Metadata) -> None:
        self._note_names({_NAMES.get(name) or camel(name) for name in event.raw})
        self.facts += billing_fact("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        raw = event.raw
        if event.name == "part" and "extra_content" in raw:
            self._has_mark = True
        elif event.name == "part" and "audio" in raw:
            self._note_names(names_in(raw["audio"]))
        else:
            super()._annotation(event)
        for citation in objects_in(raw.get("annotations")):
            cited = citation.get("url_citation")
            address = cited.get("url") if isinstance(cited, dict) else None
            self.facts += opaque_values("citations", address)
        if isinstance(logprobs := raw.get("logprobs"), dict):
            self._note_logprobs(logprobs.get("content"))

    def _finish(self, event: Finish) -> None:
        super()._finish(event)
        self._unclosed = 0

    def _error(self, event: Error) -> None:
        self._note_content()
        self._note_unclosed()
        self._interrupted = True
        super()._error(event)

    def _incomplete(self, event: Incomplete) -> None:
        self._interrupted = True

    def _unknown(self, event: Unknown) -> None:
        raw = event.raw
        if event.where == "frame":
            super()._unknown(event)
        elif event.where == "content part":
            self._note_names(names_in(raw))
        elif isinstance(raw, dict) and event.where == "call without a beginning":
            self._note_names(present(raw, {"index", "id", "type", "function", "custom"}))
            for inner in objects_in([raw.get("function"), raw.get("custom")]):
                self._note_names(present(inner, {"name"}))
        elif isinstance(raw, dict) and event.where not in ("choice", "call"):
            names = _NAMES if event.where.startswith("field ") else {}
            self._note_names({names.get(name, name) for name in present(raw, set())})


def count_chat(usage: dict[str, Json]) -> dict[str, int]:
    """Return the counts of one ``usage``."""
    return counts_in(read_usage(usage))
