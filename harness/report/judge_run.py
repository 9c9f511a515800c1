"""The results of ``harness judge`` as a run, of which a page is made like that of any other run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from harness.judging.judge_results import AdapterResults, JudgeResults, Unjudged
from harness.judging.rows import Row
from harness.providers import PROVIDERS

from .compare import refuse_strangers
from .document import Header, Judged, Named, Run
from .layout import ReportError

JSON: Final = "judge.json"
"""The file name of the results in a report of ``harness judge``."""


def merge_results(documents: Sequence[JudgeResults]) -> JudgeResults:
    """Return all adapters of several documents, in the order of their names. Adapters with the same
    name, target and version become one, which has the cells of both. Of two results of one cell the
    later one is used, unless its run did not reach the cell. Cells of two suites have no suite.
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
        suite=after.suite if after.suite == before.suite else "",
        cells=_merged_cells(before.cells, after.cells),
        second_turn=_merged_cells(before.second_turn, after.second_turn),
        questions=_merged_questions(before.questions, after.questions),
    )
    shown = {
        finding.wire
        for cell in merged.all_cells
        for finding in cell.findings
        if finding.reason == "declared"
    }
    unused = dict.fromkeys((*before.unused_losses, *after.unused_losses))
    return replace(merged, unused_losses=tuple(loss for loss in unused if loss not in shown))


def _merged_cells(before: Sequence[Row], after: Sequence[Row]) -> tuple[Row, ...]:
    cells = {cell.place: cell for cell in before}
    for cell in after:
        if cell.judged or cell.place not in cells:
            cells[cell.place] = cell
    return tuple(cells.values())


def _merged_questions(before: Sequence[Row], after: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows of both. A question that one run has judged is not missing, although the
    other one ended before it knew its rows.
    """
    rows = _merged_cells(before, after)
    judged = {row.question for row in rows if row.judged}
    return tuple(row for row in rows if row.judged or row.question not in judged)


def compared_runs(base: JudgeResults, head: JudgeResults) -> list[tuple[Run, Run]]:
    """Return two runs for each adapter of ``head``: its baseline, which is the adapter of the same
    name, and itself. If both have only one adapter, these two are compared. Raises `ReportError` if
    the baseline does not have the adapter, or none of its cells.
    """
    known = {adapter.name: adapter for adapter in base.adapters}
    is_pair = len(known) == len(head.adapters) == 1
    runs = []
    for adapter in head.adapters:
        before = next(iter(known.values())) if is_pair else known.get(adapter.name)
        if before is None:
            names = ", ".join(known) or "no adapter"
            raise ReportError(
                f"the baseline does not have {adapter.name}; it has {names}: name the adapter as"
                " 'NAME = TARGET'"
            )
        pair = (replace(before, name=adapter.name), adapter)
        old, new = (run_of(JudgeResults((side,))) for side in pair)
        refuse_strangers(old, new)
        runs.append((old, new))
    return runs


def run_of(document: JudgeResults) -> Run:
    """Return the run with these results. Raises `ReportError` for two adapters with the same name
    and version.
    """
    adapters = document.adapters
    versions = Counter((adapter.name, adapter.version) for adapter in adapters)
    for (name, version), number in versions.items():
        if number > 1:
            raise ReportError(
                f"{number} adapters have the name {name} {version}; use one name for each:"
                " 'NAME = TARGET'"
            )
    names = Counter(adapter.name for adapter in adapters)
    keys = [
        f"{adapter.name} {adapter.version}" if names[adapter.name] > 1 else adapter.name
        for adapter in adapters
    ]
    header = Header(
        providers=tuple(
            Named(name, provider.title, order)
            for order, (name, provider) in enumerate(PROVIDERS.items())
        ),
        adapters=tuple(
            Named(key, adapter.name, order)
            for order, (key, adapter) in enumerate(zip(keys, adapters, strict=True))
        ),
        judged=tuple(map(_judged, keys, adapters)),
        skipped=document.skipped,
    )
    rows = (
        replace(row, adapter=key)
        for key, adapter in zip(keys, adapters, strict=True)
        for row in adapter.all_cells
    )
    return Run(header, list(rows))


def _judged(key: str, adapter: AdapterResults) -> Judged:
    return Judged(
        key,
        adapter.argument or adapter.target,
        adapter.target,
        adapter.version,
        adapter.day,
        adapter.folder,
        adapter.unused_losses,
        adapter.suite,
        adapter.rules,
        adapter.fixed,
    )
