"""Two runs, cell by cell: what is fixed, broken, new and gone, and where a verdict stands but rests
on other evidence.

A cell is known by its place in the specs and its adapter, not by its provider or its line, which
may move. Verdicts stand on steps, from what fails to what holds; up a step is fixed, down a step is
broken, whoever announced it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.conformance.results import VERDICTS, CaseResult, Verdict, sort_key

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
    """How a kind of change is shown."""

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
        "It is judged as before, but the stream, what came of it or the findings are others.",
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One cell that is not as it was; ``base`` is None for a new one, ``head`` for one that is
    gone.
    """

    kind: Kind
    base: CaseResult | None
    head: CaseResult | None

    @property
    def cell(self) -> CaseResult:
        """The cell as it is now, or as it last was."""
        found = self.head or self.base
        assert found is not None
        return found

    @property
    def words(self) -> str:
        """``passed → failed``, or the one verdict that there is."""
        verdicts = [VERDICTS[side.verdict].word for side in (self.base, self.head) if side]
        return " → ".join(dict.fromkeys(verdicts))

    @property
    def red(self) -> bool:
        """Whether it ends a comparison red: broken, or new and red."""
        return self.kind == "broken" or (self.kind == "new" and VERDICTS[self.cell.verdict].red)


def compare_runs(base: Run, head: Run) -> list[Change]:
    """Every cell that differs, by kind, then by place."""
    before, after = _by_cell(base.results), _by_cell(head.results)
    changes = [
        change
        for key in before.keys() | after.keys()
        if (change := _change(before.get(key), after.get(key))) is not None
    ]
    order = {kind: number for number, kind in enumerate(KINDS)}
    return sorted(changes, key=lambda change: (order[change.kind], sort_key(change.cell)))


def count_kinds(changes: Iterable[Change]) -> dict[Kind, int]:
    """How many of each kind, all kinds named."""
    counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for change in changes:
        counts[change.kind] += 1
    return counts


def _by_cell(results: Iterable[CaseResult]) -> Mapping[tuple[object, ...], CaseResult]:
    cells: dict[tuple[object, ...], CaseResult] = {}
    for result in sorted(results, key=sort_key):
        key: tuple[object, ...] = (result.spec, result.case, result.layer, result.adapter)
        number = 1
        while (*key, number) in cells:  # two roots of specs may have a file of the same name
            number += 1
        cells[(*key, number)] = result
    return cells


def _change(base: CaseResult | None, head: CaseResult | None) -> Change | None:
    if base is None or head is None:
        return Change("new" if base is None else "gone", base, head)
    before, after = STEPS[base.verdict], STEPS[head.verdict]
    if before != after:
        return Change("broken" if after < before else "fixed", base, head)
    same = base.verdict == head.verdict and _rests_on(base) == _rests_on(head)
    return None if same else Change("changed", base, head)


def _rests_on(result: CaseResult) -> tuple[object, ...]:
    """What a verdict rests on; not times, which a recording made anew has others of."""
    evidence = result.evidence
    streams = [one.digest for one in (*evidence.before, evidence.stream) if one] if evidence else []
    return (
        streams,
        evidence.digest if evidence else "",
        result.end,
        result.findings,
        result.findings_total,
        result.first_layer,
    )
