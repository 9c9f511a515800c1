"""Reads the facts of a run of the Gemini CLI from its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.facts import Facts
from harness.stream.events import (
    CallStart,
    Error,
    Event,
    Finish,
    Metadata,
    Notice,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.json_codec import Json

from ..event_facts import EventFacts, note_exit
from ..gemini.raw_values import count_gemini
from ..provider import Answer
from ..wire_values import present, strings

_STREAM_COUNTS: Final = {
    "input_tokens": "promptTokenCount",
    "output_tokens": "candidatesTokenCount",
    "cached": "cachedContentTokenCount",
    "total_tokens": "totalTokenCount",
}
_DOCUMENT_COUNTS: Final = {
    "prompt": "promptTokenCount",
    "candidates": "candidatesTokenCount",
    "thoughts": "thoughtsTokenCount",
    "cached": "cachedContentTokenCount",
    "total": "totalTokenCount",
}


class CliFacts(EventFacts):
    """One run: see `harness.providers.provider.FactsReader`. The order of its text and its calls
    is none of its facts: a run tells each turn as a whole.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._ended_well = False
        self._reads |= {Notice: self._notice, ToolResult: self._tool_result}

    def close(self, events: Iterable[Event]) -> Facts:
        facts = super().close(events)
        facts.ended_well = self._ended_well
        return facts

    def _text(self, event: Text) -> None:
        if not event.role:
            self.facts.add_text(event.text)

    def _call_start(self, event: CallStart) -> None:
        self._open = event.call
        self.facts.calls.append((event.name, {}))
        self.facts.marks.append((event.id, None))

    def _tool_result(self, event: ToolResult) -> None:
        facts = self.facts
        facts.others.add("functionResponse")
        facts.add_result(event.status not in ("", "success") or bool(event.error), event.response)
        facts.add_opaque("server_tools", *strings(event.response), event.error)

    def _notice(self, event: Notice) -> None:
        self.facts.others |= {"severity", "message"} & event.raw.keys()
        self.facts.notices.append(event.message)

    def _metadata(self, event: Metadata) -> None:
        """Note the time of a run; the prompt that it repeats has no fact."""
        self.facts.others |= {"role"} if event.name == "echo" else present(event.raw, set())

    def _usage(self, event: Usage) -> None:
        count_stats(self.facts, event.raw)

    def _finish(self, event: Finish) -> None:
        self.facts.finish, self._ended_well = event.raw, event.reason == "stop"

    def _error(self, event: Error) -> None:
        if isinstance(event.raw, dict) and "exit_code" in event.raw:
            note_exit(self.facts, str(event.raw["exit_code"]), str(event.raw["stderr"]))
        else:
            super()._error(event)

    def _unknown(self, event: Unknown) -> None:
        if event.where not in ("frame", "rest"):
            super()._unknown(event)
        elif not self._is_text:  # a text is noted as a whole
            self._note_unreadable("null")


def count_stats(facts: Facts, stats: dict[str, Json]) -> None:
    """Note statistics in either form: the named counts of all models together, and every other
    whole number at the top level.
    """
    count_gemini(facts, stats)
    models = stats.get("models")
    streamed = not _STREAM_COUNTS.keys().isdisjoint(stats) or not isinstance(models, dict)
    names = _STREAM_COUNTS if streamed else _DOCUMENT_COUNTS
    tokens = (
        [stats]
        if streamed or not isinstance(models, dict)
        else [model.get("tokens") for model in models.values() if isinstance(model, dict)]
    )
    sums: dict[str, int] = {}
    for counts in tokens:
        if not isinstance(counts, dict):
            continue
        for name, wire in names.items():
            if type(counts.get(name)) is int:
                sums[wire] = sums.get(wire, 0) + counts[name]
    facts.usage |= sums
