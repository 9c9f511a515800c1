"""Reads the facts of a session from its events, as one answer: those of Gemini's messages."""

from __future__ import annotations

from harness.stream.json_codec import Json

from ..gemini.facts import GeminiFacts


class LiveFacts(GeminiFacts):
    """One connection: see `harness.providers.provider.FactsReader`."""

    def _counts_of(self, usage: dict[str, Json]) -> dict[str, int]:
        counts = super()._counts_of(usage)
        # The Live API calls the output ``responseTokenCount``, and on Vertex AI as everywhere.
        if (output := counts.pop("responseTokenCount", None)) is not None:
            counts["candidatesTokenCount"] = output
        return counts
