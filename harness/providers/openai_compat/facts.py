"""Reads the facts of Chat Completions from their events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.facts import Facts
from harness.stream.events import (
    Annotation,
    CallEnd,
    CallInvalid,
    CallPiece,
    CallStart,
    CallText,
    Error,
    Event,
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

from ..event_facts import EventFacts, note_counts
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
        self._signed_calls = 0
        self._unclosed = 0
        """The number of calls since the latest content that ends a call."""
        self._interrupted = False
        self._reads |= {
            CallPiece: self._call_text,
            Incomplete: self._incomplete,
            Mark: self._mark,
            Media: self._media,
        }

    def close(self, events: Iterable[Event]) -> Facts:
        facts = super().close(events)
        self._note_content()
        facts.unclosed_calls = self._unclosed if self._interrupted or facts.errors else 0
        if self._has_mark and not (facts.thoughts or facts.tagged):
            facts.others.add("thought")
        facts.ends_in_thought &= self._content is None
        return facts

    # ---------------------------------------------------------------- content

    def _text(self, event: Text) -> None:
        super()._text(event)
        if event.text:
            self.facts.refused |= event.refusal
            self.facts.ends_in_thought = False
            self._end_calls(event.text)
        self._sign("text", event.signature)

    def _reasoning(self, event: Reasoning) -> None:
        super()._reasoning(event)
        self.facts.ends_in_thought = True
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
            self.facts.tagged = "".join(self._content or ())

    def _sign(self, kind: str, signature: str | None) -> None:
        if signature is not None:
            self.facts.signatures.append((kind, signature))

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self.facts.ends_in_thought = False
        if event.signature is not None:  # those of calls come first
            self.facts.signatures.insert(self._signed_calls, ("call", event.signature))
            self._signed_calls += 1

    def _call_text(self, event: CallText | CallPiece) -> None:
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
            self.facts.pieces += self._arguments

    def _media(self, event: Media) -> None:
        self.facts.media += 1
        self.facts.add_opaque("media", event.data)
        self.facts.others |= names_in(event.raw)

    # ---------------------------------------------------------------- beside the content

    def _metadata(self, event: Metadata) -> None:
        self.facts.others |= {_NAMES.get(name) or camel(name) for name in event.raw}
        self.facts.add_billing("service_tier", event.raw.get("service_tier"))

    def _annotation(self, event: Annotation) -> None:
        raw, facts = event.raw, self.facts
        if event.name == "part" and "extra_content" in raw:
            self._has_mark = True
        elif event.name == "part" and "audio" in raw:
            facts.others |= names_in(raw["audio"])
        else:
            super()._annotation(event)
        for citation in objects_in(raw.get("annotations")):
            cited = citation.get("url_citation")
            facts.add_opaque("citations", cited.get("url") if isinstance(cited, dict) else None)
        if isinstance(logprobs := raw.get("logprobs"), dict):
            self._note_logprobs(logprobs.get("content"))

    def _finish(self, event: Finish) -> None:
        super()._finish(event)
        self._unclosed = 0

    def _error(self, event: Error) -> None:
        self._note_content()
        self.facts.unclosed_calls = self._unclosed
        super()._error(event)

    def _incomplete(self, event: Incomplete) -> None:
        self._interrupted = True

    def _unknown(self, event: Unknown) -> None:
        raw, others = event.raw, self.facts.others
        if event.where == "frame":
            super()._unknown(event)
        elif event.where == "content part":
            others |= names_in(raw)
        elif isinstance(raw, dict) and event.where == "call without a beginning":
            others |= present(raw, {"index", "id", "type", "function", "custom"})
            for inner in objects_in([raw.get("function"), raw.get("custom")]):
                others |= present(inner, {"name"})
        elif isinstance(raw, dict) and event.where not in ("choice", "call"):
            names = _NAMES if event.where.startswith("field ") else {}
            others |= {names.get(name, name) for name in present(raw, set())}


def count_chat(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of one ``usage``."""
    note_counts(facts, read_usage(usage))
