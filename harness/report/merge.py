"""Merges several runs into one. The order of the runs does not matter. A repeated run
has no effect. The plan of the merged run has every cell of the plans. A cell that one run did not
reach has its result from another run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from harness.judging.rows import ResultsError, Row, encode_item

from .document import Header, Judged, Named, Run


def merge(runs: Iterable[Run]) -> Run:
    """Return one run with every result of the given runs once. Raises `ResultsError` if two results
    of a cell differ.
    """
    headers = []
    counts: Counter[bytes] = Counter()
    results: dict[bytes, Row] = {}
    for run in runs:
        headers.append(run.header)
        encoded = [encode_item(result) for result in run.results]
        counts |= Counter(encoded)
        results |= zip(encoded, run.results, strict=True)
    for content in _superseded(results):
        del results[content], counts[content]
    cells: dict[tuple[object, ...], Row] = {}
    for result in results.values():
        other = cells.setdefault((*result.cell, result.command), result)
        if other is not result:
            verdicts = " and ".join(sorted({other.verdict, result.verdict}))
            raise ResultsError(
                f"{result.spec}: case {result.case!r} for {result.adapter or result.layer} has"
                f" different results in two runs ({verdicts}); only parts of one run can be merged;"
                " make a report of each run, or compare them with `harness compare`"
            )
    return Run(_merge_headers(headers), [results[content] for content in counts.elements()])


def _superseded(results: Mapping[bytes, Row]) -> list[bytes]:
    """Return the cells that a run did not reach and another run judged. If no run judged a cell,
    only one of its reasons is kept.
    """
    judged = {(*result.cell, result.command) for result in results.values() if result.judged}
    missing = sorted(content for content, result in results.items() if result.missing)
    superseded = []
    for content in missing:
        cell = (*results[content].cell, results[content].command)
        if cell in judged:
            superseded.append(content)
        judged.add(cell)
    return superseded


def _merge_headers(headers: Sequence[Header]) -> Header:
    return Header(
        tools=tuple(sorted({tool for header in headers for tool in header.tools})),
        day=max((header.day for header in headers), default=""),
        providers=_union(header.providers for header in headers),
        adapters=_union(header.adapters for header in headers),
        features=_union(header.features for header in headers),
        losses=_union(header.losses for header in headers),
        unread=tuple(sorted({problem for header in headers for problem in header.unread})),
        judged=_merge_judged(own for header in headers for own in header.judged),
        skipped=tuple(dict.fromkeys(path for header in headers for path in header.skipped)),
        project=_common({header.project for header in headers}),
        commit=_common({header.commit for header in headers}),
        ran=max((header.ran for header in headers), default=""),
        suite=_common({header.suite for header in headers}),
    )


def _merge_judged(adapters: Iterable[Judged]) -> tuple[Judged, ...]:
    """Return each version of an adapter once, with its latest day, in the order of the names."""
    latest: dict[Judged, Judged] = {}
    for adapter in sorted(adapters, key=msgspec.structs.astuple):
        latest[replace(adapter, day="")] = adapter
    return tuple(latest.values())


def _common(names: set[str]) -> str:
    """Return the only name; "" if the runs differ."""
    known = names - {""}
    return known.pop() if len(known) == 1 else ""


def _union(lists: Iterable[Sequence[Named]]) -> tuple[Named, ...]:
    """Return each name once. If two entries of a name differ, the first in sort order is kept."""
    kept: dict[tuple[str, str], Named] = {}
    for named in (named for names in lists for named in names):
        key = (named.of, named.name)
        kept[key] = min(kept.get(key, named), named, key=msgspec.structs.astuple)
    return tuple(sorted(kept.values(), key=lambda named: (named.order, named.of, named.name)))
