"""Reads the facts of a session from its events, as one answer: those of Gemini's messages."""

from __future__ import annotations

from ..gemini.facts import GeminiFacts


class LiveFacts(GeminiFacts):
    """One connection: see `harness.providers.provider.FactsReader`."""

    def _count(self) -> None:
        super()._count()
        # The Live API calls the output ``responseTokenCount``, and on Vertex AI as everywhere.
        if (output := self.facts.usage.pop("responseTokenCount", None)) is not None:
            self.facts.usage["candidatesTokenCount"] = output
