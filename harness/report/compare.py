"""Compares two runs cell by cell: broken, fixed, new, gone, or the same verdict for other evidence.

A cell that the later run did not reach is an error in that run. A cell that the earlier run did not
reach is new.

The cell of a case is identified by its spec, case and adapter, not by its provider or line, which
may change. A cell without a case is identified by its exchange and adapter, a question by its name,
wire and adapter. Each verdict has a step, from failing to passing. A cell that moves up is fixed; a
cell that moves down is broken, even if the failure is marked as known.

Cells of facts are also compared aspect by aspect. An aspect got worse if it is lost, wrong or
raised now, and was not before, or if it was kept before, and is declared, not asked or absent now.
It got better if it was red before and is kept, declared or absent now; an aspect that is only not
asked any more did not get better. A cell with a worse aspect is broken. Variants of the wire are
left out, because nothing in them is red.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.facts import RED, RUN, Finding
from harness.judging.explain import judge_command
from harness.judging.rows import VERDICTS, Row, Verdict, sort_key
from harness.stream.printable import printable

from .document import Run
from .layout import ReportError
from .tally import column

ChangeKind = Literal["broken", "fixed", "new", "gone", "changed"]

STEPS: Final[dict[Verdict, int]] = {
    "error": 0,
    "failed": 0,
    "not-run": 1,
    "unreviewed": 1,
    "known-failing": 2,
    "warning": 2,
    "not-carried": 3,
    "fixed": 4,
    "passed": 4,
}


@dataclass(frozen=True, slots=True)
class KindWords:
    """The word, the symbol and the explanation of a kind of change."""

    word: str
    symbol: str
    sentence: str


KINDS: Final[dict[ChangeKind, KindWords]] = {
    "broken": KindWords("broken", "▼", "The verdict is worse than in the baseline."),
    "fixed": KindWords("fixed", "▲", "The verdict is better than in the baseline."),
    "new": KindWords("new", "+", "The baseline does not have this cell."),
    "gone": KindWords("gone", "−", "Only the baseline has this cell."),
    "changed": KindWords(
        "same verdict with other details",
        "≠",
        "The verdict is the same, but the stream, the outcome or the findings changed.",
    ),
}


_ABSENT: Final = "absent"
"""The verdict of an aspect that a cell does not have."""
_ERROR: Final = "error"
"""The verdict of a cell that could not be judged, also used as the name of an aspect."""


@dataclass(frozen=True, slots=True)
class AspectChange:
    """An aspect of a cell that got worse or better."""

    aspect: str
    before: str
    after: str
    finding: Finding | None = None
    """The present finding, if there is one."""

    @property
    def is_worse(self) -> bool:
        """Whether the aspect got worse; else it got better."""
        return _is_worse(self.before, self.after)

    @property
    def sentence(self) -> str:
        """The change in words, with the reason for the new verdict."""
        before, after = (verdict.replace("_", " ") for verdict in (self.before, self.after))
        note = self.finding.note if self.finding else ""
        words = f"{self.aspect.replace('_', ' ')}: {before} → {after}"
        return f"{words}: {note}" if note else words


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that changed."""

    kind: ChangeKind
    base: Row | None
    """None for a new cell."""
    head: Row | None
    """None for a cell that is gone."""
    aspects: tuple[AspectChange, ...] = ()
    """The aspects that got worse or better, those that got worse first."""

    @property
    def cell(self) -> Row:
        """The present cell, or the former one if it is gone."""
        result = self.head or self.base
        assert result is not None
        return result

    @property
    def words(self) -> str:
        """The verdicts: ``passed → failed``, or the only one."""
        verdicts = [VERDICTS[side.verdict].word for side in (self.base, self.head) if side]
        return " → ".join(dict.fromkeys(verdicts))

    @property
    def place(self) -> str:
        """The name of the cell: its case, or its exchange, with its column."""
        cell = self.cell
        second = ", second turn" if cell.turn == "second" else ""
        name = f"{cell.spec}::{cell.case}" if cell.case else f"{cell.place}{second}"
        if cell.turn == "question":
            name = cell.label
        return f"{name}[{column(cell)}]"

    @property
    def red(self) -> bool:
        """Whether the change makes a comparison red: broken, or new and red."""
        return self.kind == "broken" or (self.kind == "new" and VERDICTS[self.cell.verdict].red)


def compare_runs(base: Run, head: Run) -> list[CellChange]:
    """Return all changes from one run to another, by kind, then by place."""
    before, after = _by_cell(base.results, judged=True), _by_cell(head.results)
    changes = [
        change
        for key in before.keys() | after.keys()
        if (change := _change(before.get(key), after.get(key))) is not None
    ]
    order = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(changes, key=lambda change: (order[change.kind], sort_key(change.cell)))


def count_kinds(changes: Iterable[CellChange]) -> dict[ChangeKind, int]:
    """Return the number of changes of each kind, with an entry for every kind."""
    counts: dict[ChangeKind, int] = dict.fromkeys(KINDS, 0)
    for change in changes:
        counts[change.kind] += 1
    return counts


def counted_kinds(changes: Iterable[CellChange]) -> str:
    """Return ``1 broken, 0 fixed, 2 new, 0 gone, 0 same verdict with other details``."""
    counts = count_kinds(changes).items()
    return ", ".join(f"{number:,} {KINDS[kind].word}" for kind, number in counts)


def changes_text(
    changes: Collection[CellChange],
    commands: Mapping[str, str],
    kinds: Collection[ChangeKind] = tuple(KINDS),
) -> str:
    """Return the changes of these kinds as text for a terminal, and the number of changes of each
    kind. ``commands``: the argument of ``harness judge`` for each adapter, if it is not its name.
    """
    lines = []
    for change in changes:
        if change.kind not in kinds:
            continue
        lines.append(f"{KINDS[change.kind].word}: {change.place} ({change.words})")
        lines += [f"  {aspect.sentence}" for aspect in change.aspects]
        if change.kind == "broken" and change.aspects:
            cell = change.cell
            argument = commands.get(cell.adapter, cell.adapter)
            lines.append(f"  run: {judge_command(argument, cell, change.aspects[0].finding)}")
    return "\n".join(printable(line) for line in (*lines, counted_kinds(changes))) + "\n"


def refuse_strangers(base: Run, head: Run) -> None:
    """Raise `ReportError` if the runs have no cell in common, so that nothing can be compared."""
    before, after = _by_cell(base.results, judged=True), _by_cell(head.results)
    if not before.keys().isdisjoint(after):
        return
    names = " and ".join(dict.fromkeys(map(column, head.results))) or "no adapter"
    raise ReportError(
        f"the baseline has none of the cells of {names} that were judged now: it has"
        f" {_example(before)}, judged was {_example(after)}; name the same cassettes in the"
        " same way"
    )


def _example(cells: Mapping[tuple[object, ...], Row]) -> str:
    first = next(iter(cells.values()), None)
    return CellChange("gone", first, None).place if first else "nothing"


def _by_cell(results: Iterable[Row], *, judged: bool = False) -> Mapping[tuple[object, ...], Row]:
    """Return the results by the names of their cells. ``judged``: only those that the run
    reached.
    """
    cells: dict[tuple[object, ...], Row] = {}
    numbers: Counter[tuple[object, ...]] = Counter()
    for result in sorted(results, key=sort_key):
        if judged and not result.judged:
            continue
        numbers[result.cell] += 1  # two specs folders may have a file of the same name
        cells[(*result.cell, numbers[result.cell])] = result
    return cells


def _change(base: Row | None, head: Row | None) -> CellChange | None:
    if base is None or head is None:
        return CellChange("new" if base is None else "gone", base, head)
    aspects = tuple(sorted(_aspects(base, head), key=lambda aspect: not aspect.is_worse))
    before, after = STEPS[base.verdict], STEPS[head.verdict]
    if not head.case or head.turn == "question":  # its verdict is that of its aspects
        before = after = 0
    if after < before or (aspects and aspects[0].is_worse):
        return CellChange("broken", base, head, aspects)
    if after > before or aspects:
        return CellChange("fixed", base, head, aspects)
    same = base.verdict == head.verdict and _evidence(base) == _evidence(head)
    return None if same else CellChange("changed", base, head)


def _aspects(before: Row, after: Row) -> Iterator[AspectChange]:
    """Yield the aspects that got worse or better. If one of the cells could not be judged, only the
    errors are compared.
    """
    if after.layer != "facts" or after.block == "variant":
        return
    verdicts = [_ERROR if cell.verdict == _ERROR else "judged" for cell in (before, after)]
    if _ERROR in verdicts:
        if verdicts[0] != verdicts[1]:
            error = next((item for item in after.findings if item.subject == RUN), None)
            yield AspectChange(_ERROR, verdicts[0], verdicts[1], error)
        return
    findings = {finding.subject: finding for finding in after.findings}
    is_unasked = after.turn == "question" and after.verdict == "not-run"
    absent = "not_asked" if is_unasked else _ABSENT  # a question that is not asked has one aspect
    is_other_answer = _digests(before) != _digests(after)
    for aspect in dict.fromkeys((*before.aspects, *after.aspects)):
        old, new = before.aspects.get(aspect, _ABSENT), after.aspects.get(aspect, absent)
        # Another answer may have other aspects, which is no change of the adapter.
        if is_other_answer and _ABSENT in (old, new):
            continue
        if _is_worse(old, new) or (_is_red(old) and not _is_red(new) and new != "not_asked"):
            yield AspectChange(aspect, old, new, findings.get(aspect))


def _is_worse(before: str, after: str) -> bool:
    if _is_red(after):
        return not _is_red(before)
    return before == "kept" and after in ("not_carried", "not_asked", _ABSENT)


def _is_red(verdict: str) -> bool:
    return verdict in RED or verdict == _ERROR


def _digests(result: Row) -> list[str]:
    """Return the digests of the streams of a cell, without times, which change with each
    recording.
    """
    evidence = result.evidence
    streams = (*evidence.before, evidence.stream) if evidence else ()
    return [stream.digest for stream in streams if stream]


def _evidence(result: Row) -> tuple[object, ...]:
    """Return the evidence of a verdict."""
    return (
        _digests(result),
        result.evidence.digest if result.evidence else "",
        result.end,
        result.findings,
        result.findings_total,
        result.first_layer,
    )
