"""The summary of a sweep: counts and examples of its rows. The summaries of parts can be merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from .row import StreamRow

EXAMPLES: Final = 3
"""The number of rows that are kept as examples of a reason. They are the first by id, in any order
of the parts.
"""
MOST_REASONS: Final = 500
"""The number of different reasons that are kept. Rows with other reasons are only counted."""


class Example(Struct, frozen=True):
    """A row as an example."""

    id: str
    source: str
    sentence: str
    group: str = ""


class ReasonCount(Struct):
    """Red or failed rows with the same group: their sentences differ only in values."""

    rows: int = 0
    examples: list[Example] = field(default_factory=list)


class Summary(Struct):
    """Counts of rows."""

    rows: int = 0
    red: int = 0
    """The number of rows that make the sweep fail."""
    variants: int = 0
    """The number of failed rows with an answer that is not the documented wire."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Rows by verdict."""
    aspects: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    """Rows by provider, aspect and verdict."""
    worse: dict[str, int] = field(default_factory=dict)
    """Rows by an aspect that the baseline kept and the adapter does not keep."""
    better: dict[str, int] = field(default_factory=dict)
    """Rows by an aspect that the adapter keeps and the baseline did not keep."""
    laws: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows by the number of a law and its verdict."""
    reasons: dict[str, dict[str, dict[str, ReasonCount]]] = field(default_factory=dict)
    """Examples by verdict, layer and reason."""
    other_reasons: int = 0
    """The number of rows with a reason beyond `MOST_REASONS`."""

    @property
    def compared(self) -> bool:
        """Whether a fact of some stream, or a law, was compared."""
        laws = (word for words in self.laws.values() for word in words)
        return not {"passed", "failed"}.isdisjoint((*self.verdicts, *laws))

    @classmethod
    def of(cls, verdicts: Iterable[StreamRow]) -> Summary:
        """Return the summary of rows."""
        summary = cls()
        for verdict in verdicts:
            summary.add(verdict)
        return summary

    def add(self, verdict: StreamRow) -> None:
        """Count one row."""
        self.rows += 1
        self.red += verdict.red
        self.variants += bool(verdict.variants)
        _merge(self.verdicts, {verdict.verdict: 1})
        counts = {aspect: {word: 1} for aspect, word in verdict.aspects.items()}
        _merge(self.aspects, {verdict.provider or "": counts})
        _merge(self.worse, Counter(verdict.worse))
        _merge(self.better, Counter(verdict.better))
        _merge(self.laws, {law: {word: 1} for law, word in verdict.laws.items()})
        if verdict.sentence:
            group = verdict.group or verdict.sentence
            example = Example(verdict.id, verdict.source, verdict.sentence, group)
            word = "variant" if verdict.variants else verdict.verdict
            self._add_reason(word, verdict.layer, ReasonCount(1, [example]))

    def merge(self, other: Summary) -> None:
        """Add the counts of another summary."""
        self.rows += other.rows
        self.red += other.red
        self.variants += other.variants
        self.other_reasons += other.other_reasons
        for name in ("verdicts", "aspects", "worse", "better", "laws"):
            _merge(getattr(self, name), getattr(other, name))
        for word, layers in other.reasons.items():
            for layer, reasons in layers.items():
                for reason in reasons.values():
                    self._add_reason(word, layer, reason)

    def _add_reason(self, word: str, layer: str, reason: ReasonCount) -> None:
        reasons = self.reasons.setdefault(word, {}).setdefault(layer, {})
        key = reason.examples[0].group
        known = reasons.get(key)
        if known is None:
            if len(reasons) >= MOST_REASONS:
                self.other_reasons += reason.rows
                return
            reasons[key] = ReasonCount(reason.rows, reason.examples[:EXAMPLES])
            return
        known.rows += reason.rows
        examples = [*known.examples, *reason.examples]
        known.examples = sorted(examples, key=lambda example: (example.id, example.source))
        del known.examples[EXAMPLES:]


def _merge(counts: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add numbers by name, at every depth."""
    for name, number in other.items():
        if isinstance(number, dict):
            _merge(counts.setdefault(name, {}), number)
        else:
            counts[name] = counts.get(name, 0) + number
