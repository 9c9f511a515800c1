"""The page of a sweep: a table of aspects × providers, and examples of losses."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.facts import ASPECTS
from harness.judging.results import VERDICTS
from harness.sweep.contract import Settings
from harness.sweep.summary import Reason, Summary

from .aspect_counts import MEANINGS, square
from .render import fill

PAGE: Final = "_report.html"
MOST_REASONS: Final = 50
"""Reasons of one kind that are shown."""
TITLES: Final = {
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


@dataclass(frozen=True, slots=True)
class Group:
    """The reasons of one kind and layer; the most frequent first."""

    title: str
    meaning: str
    layer: str
    reasons: list[Reason]
    more: int


def sweep_page(summary: Summary, settings: Settings, inputs: Sequence[str]) -> str:
    """The page of a summary. The same summary gives the same page."""
    return fill("sweep", page_values(summary, settings, inputs), "", "aspects")


def page_values(summary: Summary, settings: Settings, inputs: Sequence[str]) -> dict[str, Any]:
    """The values of the page, without any HTML."""
    providers = {name: summary.aspects[name] for name in sorted(summary.aspects)}
    aspects = [
        aspect for aspect in ASPECTS if any(aspect in counts for counts in providers.values())
    ]
    rows = [
        (
            provider or "not known",
            [square(counts[aspect]) if aspect in counts else None for aspect in aspects],
        )
        for provider, counts in providers.items()
        if counts
    ]
    passed = summary.verdicts.get("passed", 0)
    others = [
        words.counted(summary.verdicts[verdict])
        for verdict, words in VERDICTS.items()
        if verdict != "passed" and verdict in summary.verdicts
    ]
    return {
        "settings": settings,
        "sentence": ", ".join([f"{passed:,} of {summary.rows:,} streams passed", *others]),
        "summary": summary,
        "inputs": inputs,
        "aspects": aspects,
        "rows": rows,
        "changes": [
            (name, summary.worse.get(name, 0), summary.better.get(name, 0))
            for name in ASPECTS
            if name in summary.worse or name in summary.better
        ],
        "groups": list(_groups(summary)),
        "verdicts": MEANINGS,
        "command": lambda source: f"harness show {shlex.quote(source)}",
    }


def most_frequent(reasons: Iterable[Reason]) -> list[Reason]:
    """The reasons, the most frequent first."""
    return sorted(reasons, key=lambda reason: (-reason.rows, reason.examples[0].sentence))


def _groups(summary: Summary) -> list[Group]:
    groups = []
    for word, (title, meaning) in TITLES.items():
        for layer, reasons in sorted(summary.reasons.get(word, {}).items()):
            ordered = most_frequent(reasons.values())
            shown = ordered[:MOST_REASONS]
            groups.append(Group(title, meaning, layer, shown, len(ordered) - len(shown)))
    return groups
