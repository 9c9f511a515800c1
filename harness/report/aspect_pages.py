"""The page of adapters that were judged by aspects: a table of adapters × aspects, and the cells of
each count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.structs import replace

from harness.judging.judge_results import AdapterResults, JudgeResults, Unjudged
from harness.judging.results import Result
from harness.stream.printable import plural

from .aspect_counts import (
    BLOCK_MEANINGS,
    BLOCKS,
    MEANINGS,
    NEEDLESS_ERROR,
    Loss,
    Square,
    by_aspect,
    command_of,
    count_words,
    describe_raw,
    errors_of,
    is_of_error,
    losses_of,
    number_of_findings,
    red_aspects,
    square,
)
from .layout import ReportError
from .render import fill
from .tally import NOTHING_COMPARED
from .text import slug

TITLES: Final = {
    "frames": "Wire",
    "native": "Native events",
    "facts": "Facts",
    "requests": "Request",
}
"""The titles of the layers of an excerpt."""
PAGE: Final = "index.html"
JSON: Final = "judge.json"
"""The file names of a report: the page, and its results."""
MOST_CELLS: Final = 400
"""Cells of one loss that are listed."""
MOST_WITH_EVIDENCE: Final = 3
"""The number of cells of one loss whose evidence is shown. They have the same reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One adapter in one block."""

    adapter: AdapterResults
    anchor: str
    words: list[str]
    squares: list[Square | None]
    errors: int


@dataclass(frozen=True, slots=True)
class Table:
    """One block: adapters × aspects."""

    name: str
    title: str
    meaning: str
    aspects: list[str]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Section:
    """The losses of one aspect. ``of_error``: the number of cells in which the aspect is missing
    because of a needless error, whose losses are at ``error_anchor``.
    """

    aspect: str
    anchor: str
    losses: list[Loss]
    of_error: int
    error_anchor: str


@dataclass(frozen=True, slots=True)
class Detail:
    """The losses in one block of one adapter, by aspect."""

    adapter: AdapterResults
    block: str
    title: str
    anchor: str
    aspects: list[Section]
    errors: list[list[Result]]


def aspects_page(results: JudgeResults) -> str:
    """The page of these results, which have several adapters where files are merged."""
    return fill("aspects", page_values(results), "")


def page_values(results: JudgeResults) -> dict[str, Any]:
    """The values of the page, without any HTML. Raises `ReportError` for two adapters with the same
    name and version.
    """
    adapters = results.adapters
    named = Counter((adapter.name, adapter.version) for adapter in adapters)
    for (name, version), number in named.items():
        if number > 1:
            raise ReportError(
                f"{number} adapters have the name {name} {version}; use one name for each:"
                " 'NAME = TARGET'"
            )
    return {
        "headline": " ".join(_sentences(results)),
        "tables": [table for block in BLOCKS if (table := _table(block, adapters)).rows],
        "details": [
            detail
            for adapter in adapters
            for block in BLOCKS
            if (detail := _detail(adapter, block)).aspects or detail.errors
        ],
        "adapters": adapters,
        "skipped": results.skipped,
        "verdicts": MEANINGS,
        "command": command_of,
        "most_cells": MOST_CELLS,
        "most_with_evidence": MOST_WITH_EVIDENCE,
        "json": JSON,
        "titles": TITLES,
    }


def merge_results(documents: Sequence[JudgeResults]) -> JudgeResults:
    """All adapters of several documents, in the order of their names. Adapters with the same name,
    target and version become one, which has the cells of both. Of two results of one cell the later
    one is used, unless its run did not reach the cell.
    """
    adapters: dict[tuple[str, str, str], AdapterResults] = {}
    skipped: dict[Unjudged, None] = {}
    for document in documents:
        for adapter in document.adapters:
            key = (adapter.name, adapter.target, adapter.version)
            before = adapters.get(key)
            adapters[key] = adapter if before is None else _merged(before, adapter)
        skipped |= dict.fromkeys(document.skipped)
    ordered = sorted(adapters.values(), key=lambda adapter: (adapter.name, adapter.version))
    return JudgeResults(tuple(ordered), tuple(skipped))


def _merged(before: AdapterResults, after: AdapterResults) -> AdapterResults:
    merged = replace(
        after,
        cells=_merged_cells(before.cells, after.cells),
        second_turn=_merged_cells(before.second_turn, after.second_turn),
    )
    shown = {
        finding.wire
        for cell in merged.cells
        for finding in cell.findings
        if finding.reason == "declared"
    }
    unused = dict.fromkeys((*before.unused_losses, *after.unused_losses))
    return replace(merged, unused_losses=tuple(loss for loss in unused if loss not in shown))


def _merged_cells(before: Sequence[Result], after: Sequence[Result]) -> tuple[Result, ...]:
    cells = {cell.place: cell for cell in before}
    for cell in after:
        if cell.judged or cell.place not in cells:
            cells[cell.place] = cell
    return tuple(cells.values())


def _sentences(results: JudgeResults) -> list[str]:
    """The sentences at the top of the page. What keeps a run from being green comes first."""
    first = [f"{results.partial}."] if results.partial else []
    first += [] if results.compared else [NOTHING_COMPARED]
    return [*first, _headline(results.adapters), *describe_raw(results.adapters)]


def _headline(adapters: Sequence[AdapterResults]) -> str:
    if len(adapters) != 1:
        return f"{plural(len(adapters), 'adapter')}. A red number in a table leads to its findings."
    (adapter,) = adapters
    sections = adapter.sections
    numbers = {
        block: number_of_findings(sections[block]) for block in ("documented", "second_turn")
    }
    findings = f"{plural(numbers['documented'], 'finding')} there"
    if numbers["second_turn"]:
        findings += f" and {plural(numbers['second_turn'], 'finding')} in the second turn"
    return (
        f"{adapter.name}, version {adapter.version}: {count_words(sections['documented'])} on the"
        f" documented wire. It has {findings}."
    )


def _table(block: str, adapters: Sequence[AdapterResults]) -> Table:
    with_cells = [adapter for adapter in adapters if adapter.sections[block]]
    aspects = list(by_aspect(cell for adapter in with_cells for cell in adapter.sections[block]))
    rows = [_row(block, adapter, aspects) for adapter in with_cells]
    return Table(block, BLOCKS[block], BLOCK_MEANINGS[block], aspects, rows)


def _row(block: str, adapter: AdapterResults, aspects: Sequence[str]) -> Row:
    cells = adapter.sections[block]
    counts = by_aspect(cells)
    squares = [
        square(counts[aspect], _anchor(adapter, block, aspect)) if aspect in counts else None
        for aspect in aspects
    ]
    errors = sum(map(len, errors_of(cells)))
    words = [*count_words(cells).split(", "), plural(number_of_findings(cells), "finding")]
    return Row(adapter, _anchor(adapter, block), words, squares, errors)


def _detail(adapter: AdapterResults, block: str) -> Detail:
    cells = adapter.sections[block]
    losses = losses_of(cells)
    sections = [
        Section(
            aspect,
            _anchor(adapter, block, aspect),
            [loss for loss in losses if loss.aspect == aspect],
            sum(aspect in cell.aspects and is_of_error(cell, aspect) for cell in cells),
            _anchor(adapter, block, NEEDLESS_ERROR),
        )
        for aspect, counts in by_aspect(cells).items()
        if red_aspects(counts)
    ]
    anchor = _anchor(adapter, block)
    return Detail(adapter, block, BLOCKS[block], anchor, sections, errors_of(cells))


def _anchor(adapter: AdapterResults, *names: str) -> str:
    return ".".join(slug(name) for name in (adapter.name, adapter.version, *names))
