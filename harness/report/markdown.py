"""A summary in Markdown, for the summary of a CI step: the headline, providers × adapters, what
changed, and what is not passed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.conformance.results import VERDICTS
from harness.stream.printable import excerpt, printable_lines

from .compare import KINDS, Change, count_kinds
from .document import Header
from .layout import Cell
from .pages import Names
from .tally import Tally, by_pair, column, headline, rests_on, tally

MAX_LISTED: Final = 40
"""Cells of one list: a step's summary may be a mebibyte, and nobody reads that."""

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~@$&-])")


def markdown(
    cells: Sequence[Cell], names: Names, changes: Sequence[Change] | None, header: Header
) -> str:
    """The Markdown text."""
    results = [cell.result for cell in cells]
    lines = [
        "## Gemini compatibility",
        "",
        _text(" ".join(headline(results, names.providers, names.columns, header.unread))),
        "",
    ]
    lines += [f"Rests on {_text(rests_on(results).replace('`', ''))}.", ""]
    lines += [f"- not read: {_text(problem)}" for problem in header.unread[:MAX_LISTED]]
    lines += [*_more(len(header.unread)), ""] if header.unread else []
    tallies = {pair: tally(found) for pair, found in by_pair(results).items()}
    if tallies:
        columns = [one for one in names.columns if any(found == one for _, found in tallies)]
        lines += [
            "| Provider | " + " | ".join(_text(names.columns[one]) for one in columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        for name, title in names.providers.items():
            row = [_square(tallies.get((name, one))) for one in columns]
            lines.append(f"| {_text(title)} | " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join([*lines, *_changes(changes), *_not_passed(cells, names)]).rstrip("\n") + "\n"


def _square(counted: Tally | None) -> str:
    if counted is None:
        return "no case"
    others = [
        f"{VERDICTS[verdict].symbol} {VERDICTS[verdict].counted(number)}"
        for verdict, number in counted.counts.items()
        if verdict != "passed"
    ]
    features = (
        f"{counted.passing} of {counted.features} features"
        if counted.features
        else f"{counted.cells} cells"
    )
    return "<br>".join([features, *others])


def _changes(changes: Sequence[Change] | None) -> list[str]:
    if changes is None:
        return []
    counted = count_kinds(changes)
    lines = [
        "### Since the baseline",
        "",
        ", ".join(f"{number} {KINDS[kind].word}" for kind, number in counted.items()) + ".",
        "",
    ]
    listed = [change for change in changes if change.kind in ("broken", "fixed")]
    lines += [
        f"- {KINDS[change.kind].symbol} {change.kind}: {_cell_of(change)} ({_text(change.words)})"
        for change in listed[:MAX_LISTED]
    ]
    return [*lines, *_more(len(listed)), ""]


def _cell_of(change: Change) -> str:
    return _text(f"{change.cell.spec} {change.cell.case} [{column(change.cell)}]")


def _not_passed(cells: Sequence[Cell], names: Names) -> list[str]:
    listed = [cell for cell in cells if cell.result.verdict not in ("passed", "not-carried")]
    if not listed:
        return []
    listed.sort(key=lambda cell: cell.verdict.order)
    lines = ["### What is not passed", ""]
    for cell in listed[:MAX_LISTED]:
        where = _text(f"{names.providers[cell.result.provider]} → {cell.title}")
        said = _text(excerpt(cell.result.requirement, 200))
        why = f" {_text(excerpt(cell.gist, 300))}" if cell.gist else ""
        lines.append(f"- {cell.verdict.symbol} **{cell.verdict.word}** {where}: {said}{why}")
    return [*lines, *_more(len(listed))]


def _more(number: int) -> list[str]:
    return [f"- and {number - MAX_LISTED:,} more"] if number > MAX_LISTED else []


def _text(text: str) -> str:
    """Text that no Markdown takes for its own: one line, every special character escaped."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", printable_lines(text))).strip()
