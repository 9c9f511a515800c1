"""The page of a sweep: the index of a run, made from counts and examples instead of cells."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from harness.facts import ASPECTS
from harness.sweep.contract import Settings
from harness.sweep.summary import ReasonCount, Summary

from .aspect_counts import square
from .document import Judged
from .findings import FindingEntry, FindingExample, Group, Table, TableRow
from .pages import NOTHING
from .render import fill
from .tally import words_of_counts

PAGE: Final = "_report.html"
MOST_REASONS: Final = 50
"""Reasons of one kind that are shown."""
KINDS: Final = {
    "failed": (
        "Lost, wrong or raised",
        "The wire has the fact, and the adapter gives it differently or not at all.",
    ),
    "error": ("Not judged", "The row or the adapter gave nothing that can be judged."),
    "variant": (
        "Variants",
        "Answers in forms that the public documentation does not describe. A loss here is"
        " never red.",
    ),
    "not-carried": ("Not carried", "Every fact is a declared loss."),
    "not-run": ("Not run", "Nothing was compared."),
    "passed": ("Notes", "Sentences about rows that passed."),
}
"""The kinds of reasons in their order, with title and meaning."""


def sweep_page(summary: Summary, settings: Settings, inputs: Sequence[str]) -> str:
    """Return the page of a summary. The same summary gives the same page."""
    return fill("index", page_values(summary, settings, inputs), "")


def page_values(summary: Summary, settings: Settings, inputs: Sequence[str]) -> dict[str, Any]:
    """Return the values of the page, without any HTML."""
    adapter, against = settings.adapter, settings.against
    sentences = [f"{words_of_counts(summary.verdicts, 'stream')}."]
    if against:
        sentences.append(
            f"Compared with {against.title}: only aspects that it keeps and {adapter.name} does not"
            " keep are red."
        )
    judged = Judged(adapter.name, target=adapter.text, version=adapter.version)
    heading = f"Sweep of {adapter.name}"
    return {
        **NOTHING,
        "title": heading,
        "heading": heading,
        "heading_note": adapter.version,
        "sentences": sentences,
        "noun": "stream",
        "tables": [_table(summary.aspects)] if any(summary.aspects.values()) else [],
        "groups": list(_groups(summary)),
        "against": against.title if against else "",
        "worse": [
            (name, summary.worse.get(name, 0), summary.better.get(name, 0))
            for name in ASPECTS
            if name in summary.worse or name in summary.better
        ],
        "laws": summary.laws,
        "other_reasons": summary.other_reasons,
        "inputs": inputs,
        "adapters": [(judged, adapter.name)],
    }


def most_frequent(reasons: Iterable[ReasonCount]) -> list[ReasonCount]:
    """Return the reasons, the most frequent first."""
    return sorted(reasons, key=lambda reason: (-reason.rows, reason.examples[0].sentence))


def _table(counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Table:
    aspects = [aspect for aspect in ASPECTS if any(aspect in own for own in counts.values())]
    rows = [
        TableRow(
            provider or "not known",
            [square(own[aspect]) if aspect in own else None for aspect in aspects],
        )
        for provider, own in sorted(counts.items())
        if own
    ]
    return Table("aspects", "Aspects", "", "Provider", aspects, rows)


def _groups(summary: Summary) -> Iterator[Group]:
    """Yield the reasons of each kind and layer; the most frequent first."""
    for kind, (title, meaning) in KINDS.items():
        for layer, reasons in sorted(summary.reasons.get(kind, {}).items()):
            ordered = most_frequent(reasons.values())
            shown = [_entry(kind, reason) for reason in ordered[:MOST_REASONS]]
            note = f"first in the {layer}" if layer else ""
            more = len(ordered) - len(shown)
            yield Group(title, f"{kind}.{layer}", note, meaning, entries=shown, more=more)


def _entry(kind: str, reason: ReasonCount) -> FindingEntry:
    number = f"in {reason.rows:,} streams" if reason.rows > 1 else ""
    first = reason.examples[0].sentence
    examples = [
        FindingExample(
            "Stream",
            example.id,
            f"harness show {shlex.quote(example.source)}",
            "" if example.sentence == first else example.sentence,
        )
        for example in reason.examples
    ]
    word = "not judged" if kind == "error" else kind.replace("-", " ")
    return FindingEntry(kind, word, number, first, examples)
