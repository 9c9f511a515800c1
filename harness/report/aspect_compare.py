"""Compares two runs of ``harness judge``: finds the aspects that got worse and those that got
better.

An aspect got worse if it is lost, wrong or raised now, and was not before. It also got worse if it
was kept before, and is not asked now or has no verdict. It got better if it was red before and is
kept, declared or absent now; an aspect that is only not asked any more did not get better. Variants
of the wire are left out, because nothing in them is red.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from harness.facts import RED, RUN, Finding
from harness.judging.judge_results import AdapterResults, JudgeResults
from harness.judging.results import Result
from harness.stream.printable import plural, printable

from .aspect_counts import command_of
from .layout import ReportError

_ABSENT: Final = "absent"
"""The verdict of an aspect that a cell does not have."""
_ERROR: Final = "error"
"""The verdict of a cell that could not be judged, also used as the name of an aspect."""


@dataclass(frozen=True, slots=True)
class AspectChange:
    """An aspect of a cell that got worse or better."""

    cell: Result
    aspect: str
    before: str
    after: str

    @property
    def finding(self) -> Finding | None:
        """The finding of the aspect in the cell, or that of its error."""
        subject = RUN if self.aspect == _ERROR else self.aspect
        return next((one for one in self.cell.findings if one.subject == subject), None)

    @property
    def sentence(self) -> str:
        """The change in words, with the reason for the new verdict."""
        before, after = (verdict.replace("_", " ") for verdict in (self.before, self.after))
        finding = self.finding
        note = finding.note if finding else ""
        words = f"{self.aspect.replace('_', ' ')}: {before} → {after}"
        return f"{words}: {note}" if note else words


@dataclass(frozen=True, slots=True)
class Comparison:
    """One adapter in two runs. ``new``: the number of cells that the baseline does not have;
    ``left_out``: the number of cells that only the baseline has.
    """

    base: AdapterResults
    head: AdapterResults
    worse: list[AspectChange]
    better: list[AspectChange]
    new: int
    left_out: int


def compare_results(base: JudgeResults, head: JudgeResults) -> list[Comparison]:
    """Compare each adapter with the adapter of the same name. If both runs have only one adapter,
    compare these two. Raises `ReportError` if the baseline does not have the adapter.
    """
    known = {adapter.name: adapter for adapter in base.adapters}
    if len(known) == len(head.adapters) == 1:
        return [_compare(next(iter(known.values())), head.adapters[0])]
    comparisons = []
    for adapter in head.adapters:
        if adapter.name not in known:
            names = ", ".join(known) or "no adapter"
            raise ReportError(
                f"the baseline does not have {adapter.name}; it has {names}: name the adapter as"
                " 'NAME = TARGET'"
            )
        comparisons.append(_compare(known[adapter.name], adapter))
    return comparisons


def comparison_text(comparison: Comparison) -> str:
    """A comparison as text for a terminal."""
    base, head = comparison.base, comparison.head
    lines = [
        f"{head.name}: version {base.version} → {head.version}:"
        f" {len(comparison.worse)} worse, {len(comparison.better)} better"
    ]
    if comparison.new:
        lines.append(f"{plural(comparison.new, 'cell')} not in the baseline: not compared")
    if comparison.left_out:
        lines.append(f"{plural(comparison.left_out, 'cell')} of the baseline: not judged now")
    for title, changes in (("worse", comparison.worse), ("better", comparison.better)):
        lines += ["", f"{title}:"] if changes else []
        for change in changes:
            place = f"cassette {change.cell.cassette}, exchange {change.cell.exchange}"
            lines += [f"- {change.sentence}", f"  {place}"]
            if title == "worse":
                lines.append(f"  run: {command_of(head, change.cell, change.finding)}")
    return "\n".join(printable(line) for line in lines) + "\n"


def _compare(base: AdapterResults, head: AdapterResults) -> Comparison:
    before, after = _cells(base, is_base=True), _cells(head)
    if before.keys().isdisjoint(after):
        raise ReportError(
            f"the baseline has none of the cells of {head.name} that were judged now: it has"
            f" {_example(before)}, judged was {_example(after)}; name the same cassettes in the"
            " same way"
        )
    changes = [
        change
        for key, cell in after.items()
        if key in before and cell.block == "documented"
        for change in _changes(before[key], cell)
    ]
    return Comparison(
        base,
        head,
        [change for change in changes if _is_worse(change.before, change.after)],
        [change for change in changes if not _is_worse(change.before, change.after)],
        len(after.keys() - before.keys()),
        len(before.keys() - after.keys()),
    )


def _example(cells: Mapping[tuple[str, str, int], Result]) -> str:
    return next((cell.place for cell in cells.values()), "nothing")


def _cells(
    adapter: AdapterResults, *, is_base: bool = False
) -> Mapping[tuple[str, str, int], Result]:
    """The cells by their places, without the cells that the run of the baseline did not reach."""
    turns = (("first", adapter.cells), ("second", adapter.second_turn))
    return {
        (turn, cell.cassette, cell.exchange): cell
        for turn, cells in turns
        for cell in cells
        if cell.judged or not is_base
    }


def _changes(before: Result, after: Result) -> Iterator[AspectChange]:
    """The aspects that got worse or better. If one of the cells could not be judged, only the
    errors are compared.
    """
    verdicts = [_ERROR if cell.verdict == _ERROR else "judged" for cell in (before, after)]
    if _ERROR in verdicts:
        if verdicts[0] != verdicts[1]:
            yield AspectChange(after, _ERROR, *verdicts)
        return
    for aspect in dict.fromkeys((*before.aspects, *after.aspects)):
        old, new = (cell.aspects.get(aspect, _ABSENT) for cell in (before, after))
        if _is_worse(old, new) or (_is_red(old) and not _is_red(new) and new != "not_asked"):
            yield AspectChange(after, aspect, old, new)


def _is_worse(before: str, after: str) -> bool:
    if _is_red(after):
        return not _is_red(before)
    return before == "kept" and after in ("not_asked", _ABSENT)


def _is_red(verdict: str) -> bool:
    return verdict in RED or verdict == _ERROR
