"""Reads the facts of a run of the Gemini CLI from its events."""

from __future__ import annotations

from typing import Final

from harness.facts import detail, fact
from harness.facts.detail import Counts, Result
from harness.stream.events import (
    Finish,
    Metadata,
    Notice,
    ToolResult,
    Usage,
)
from harness.stream.json_codec import Json

from ..event_facts import opaque_values
from ..gemini.raw_values import count_gemini
from ..run_facts import RunFacts
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


class CliFacts(RunFacts):
    """One run: see `harness.providers.provider.FactsReader`."""

    def _tool_result(self, event: ToolResult) -> None:
        self._note_names(["functionResponse"])
        failed = event.status not in ("", "success") or bool(event.error)
        self.facts.append(Result.of(failed, event.response))
        self.facts += opaque_values("server_tools", *strings(event.response), event.error)

    def _notice(self, event: Notice) -> None:
        self._note_names({"severity", "message"} & event.raw.keys())
        self.facts.append(detail.Notice(event.message))

    def _metadata(self, event: Metadata) -> None:
        """Note the time of a run; the prompt that it repeats has no fact."""
        self._note_names(["role"] if event.name == "echo" else present(event.raw, set()))

    def _usage(self, event: Usage) -> None:
        self.facts.append(Counts(count_stats(event.raw)))

    def _finish(self, event: Finish) -> None:
        self.facts.append(fact.Finish(event.raw))
        self._is_success = event.reason == "stop"


def count_stats(stats: dict[str, Json]) -> dict[str, int]:
    """Return the counts of statistics in either form: the named counts of all models together, and
    every other whole number at the top level.
    """
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
    return count_gemini(stats) | sums
