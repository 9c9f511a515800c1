"""Compares two runs cell by cell: broken, fixed, new, gone, or the same verdict for other evidence.

A cell that a run did not reach is an error in that run.

A cell is identified by its spec, case and adapter, not by its provider or line, which may change.
Each verdict has a step, from failing to passing. A cell that moves up is fixed; a cell that moves
down is broken, even if the failure is marked as known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.judging.results import VERDICTS, Result, Verdict, sort_key

from .document import Run

Kind = Literal["broken", "fixed", "new", "gone", "changed"]

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


KINDS: Final[dict[Kind, KindWords]] = {
    "broken": KindWords("broken", "▼", "The verdict is worse than in the baseline."),
    "fixed": KindWords("fixed", "▲", "The verdict is better than in the baseline."),
    "new": KindWords("new", "+", "The baseline does not have this cell."),
    "gone": KindWords("gone", "−", "Only the baseline has this cell."),
    "changed": KindWords(
        "changed evidence",
        "≠",
        "The verdict is the same, but the stream, the outcome or the findings changed.",
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A cell that changed; ``base`` is None for a new cell, ``head`` for one that is gone."""

    kind: Kind
    base: Result | None
    head: Result | None

    @property
    def cell(self) -> Result:
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
    def red(self) -> bool:
        """Whether the change makes a comparison red: broken, or new and red."""
        return self.kind == "broken" or (self.kind == "new" and VERDICTS[self.cell.verdict].red)


def compare_runs(base: Run, head: Run) -> list[Change]:
    """All changes from one run to another, by kind, then by place."""
    before, after = _by_cell(base.results), _by_cell(head.results)
    changes = [
        change
        for key in before.keys() | after.keys()
        if (change := _change(before.get(key), after.get(key))) is not None
    ]
    order = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(changes, key=lambda change: (order[change.kind], sort_key(change.cell)))


def count_kinds(changes: Iterable[Change]) -> dict[Kind, int]:
    """The number of changes of each kind, with an entry for every kind."""
    counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for change in changes:
        counts[change.kind] += 1
    return counts


def _by_cell(results: Iterable[Result]) -> Mapping[tuple[object, ...], Result]:
    cells: dict[tuple[object, ...], Result] = {}
    for result in sorted(results, key=sort_key):
        key: tuple[object, ...] = (result.spec, result.case, result.layer, result.adapter)
        number = 1
        while (*key, number) in cells:  # two specs folders may have a file of the same name
            number += 1
        cells[(*key, number)] = result
    return cells


def _change(base: Result | None, head: Result | None) -> Change | None:
    if base is None or head is None:
        return Change("new" if base is None else "gone", base, head)
    before, after = STEPS[base.verdict], STEPS[head.verdict]
    if before != after:
        return Change("broken" if after < before else "fixed", base, head)
    same = base.verdict == head.verdict and _evidence(base) == _evidence(head)
    return None if same else Change("changed", base, head)


def _evidence(result: Result) -> tuple[object, ...]:
    """The evidence of a verdict, without times, which change with each recording."""
    evidence = result.evidence
    streams = (*evidence.before, evidence.stream) if evidence else ()
    digests = [stream.digest for stream in streams if stream]
    return (
        digests,
        evidence.digest if evidence else "",
        result.end,
        result.findings,
        result.findings_total,
        result.first_layer,
    )
