"""A summary in Markdown for a CI step: headline, providers × adapters, changes, other cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from harness.judging.rows import VERDICTS
from harness.stream.printable import excerpt, printable_lines

from .compare import KINDS, CellChange, counted_kinds
from .document import Header
from .layout import PlacedResult
from .pages import ReportNames
from .tally import Tally, by_pair, column, describe_origins, headline, tally

NAME: Final = "summary.md"
"""The file in the folder of a report."""
MAX_LISTED: Final = 40
"""The maximum number of cells in a list: the summary of a CI step may have 1 MiB, and must be short
enough to read.
"""

MAX_TEXT: Final = 60_000
"""The maximum number of characters of one adapter of ``harness judge``."""

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~@$&-])")


def markdown(
    cells: Sequence[PlacedResult],
    names: ReportNames,
    changes: Sequence[CellChange] | None,
    header: Header,
) -> str:
    """Return the Markdown text."""
    results = [cell.result for cell in cells]
    lines = [
        "## Stream conformance",
        "",
        _text(" ".join(headline(results, names.providers, names.columns, header.unread))),
        "",
    ]
    lines += [_text(describe_origins(results).replace("`", "")), ""]
    lines += [f"- not read: {_text(unread.problem)}" for unread in header.unread[:MAX_LISTED]]
    lines += [*_more(len(header.unread)), ""] if header.unread else []
    tallies = {pair: tally(cells_of_pair) for pair, cells_of_pair in by_pair(results).items()}
    if tallies:
        used = {name for _, name in tallies}
        columns = [name for name in names.columns if name in used]
        lines += [
            "| Provider | " + " | ".join(_text(names.columns[name]) for name in columns) + " |",
            "|---" * (len(columns) + 1) + "|",
        ]
        with_case = {name for name, _ in tallies}
        for name, title in names.providers.items():
            if name not in with_case:
                continue
            row = [_square(tallies.get((name, column))) for column in columns]
            lines.append(f"| {_text(title)} | " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join([*lines, *_changes(changes), *_not_passed(cells, names)]).rstrip("\n") + "\n"


def in_markdown(texts: Iterable[str]) -> str:
    """Return the texts that ``harness judge`` prints, one for each adapter, as a summary."""
    blocks = (f"```text\n{excerpt(text, MAX_TEXT)}\n```" for text in map(_without_fences, texts))
    return "\n\n".join(["## Stream conformance", *blocks]) + "\n"


def _without_fences(text: str) -> str:
    return text.rstrip("\n").replace("```", "`` `")


def _square(counted: Tally | None) -> str:
    if counted is None:
        return "no case"
    others = [
        f"{VERDICTS[verdict].symbol} {VERDICTS[verdict].counted(number)}"
        for verdict, number in counted.counts.items()
        if verdict != "passed"
    ]
    features = counted.passing_features if counted.features else f"{counted.cells} cells"
    return f"{features}<br>cells: {', '.join(others)}" if others else features


def _changes(changes: Sequence[CellChange] | None) -> list[str]:
    if changes is None:
        return []
    lines = [
        "### Since the baseline",
        "",
        f"{counted_kinds(changes)}.",
        "",
    ]
    listed = [change for change in changes if change.kind in ("broken", "fixed")]
    lines += [
        f"- {KINDS[change.kind].symbol} {change.kind}: {_cell_of(change)} ({_text(_words(change))})"
        for change in listed[:MAX_LISTED]
    ]
    return [*lines, *_more(len(listed)), ""]


def _words(change: CellChange) -> str:
    return "; ".join([change.words, *(aspect.sentence for aspect in change.aspects)])


def _cell_of(change: CellChange) -> str:
    if change.cell.turn == "question":
        return _text(change.place)
    return _text(f"{change.cell.spec} {change.cell.case} [{column(change.cell)}]")


def _not_passed(cells: Sequence[PlacedResult], names: ReportNames) -> list[str]:
    listed = [cell for cell in cells if cell.result.verdict not in ("passed", "not-carried")]
    if not listed:
        return []
    listed.sort(key=lambda cell: cell.verdict.order)
    lines = ["### Not passed", ""]
    for cell in listed[:MAX_LISTED]:
        where = _text(f"{names.providers[cell.result.provider]} → {cell.title}")
        requirement = _text(excerpt(cell.result.requirement, 200))
        why = f" {_text(excerpt(cell.gist, 300))}" if cell.gist else ""
        lines.append(f"- {cell.verdict.symbol} **{cell.verdict.word}** {where}: {requirement}{why}")
    return [*lines, *_more(len(listed))]


def _more(number: int) -> list[str]:
    return [f"- and {number - MAX_LISTED:,} more"] if number > MAX_LISTED else []


def _text(text: str) -> str:
    """Return text on one line with every special character of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", printable_lines(text))).strip()
