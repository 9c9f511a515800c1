"""Merges several runs into one. The order of the runs does not matter, and neither do repeated
runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from harness.conformance.results import CaseResult, Evidence, ResultsError, encode_item

from .document import Header, Named, Run


def merge(runs: Iterable[Run]) -> Run:
    """One run with every result of the given runs once.

    A run tries the laws on its first red cells only, so two results of a cell may differ in their
    breaches: the longer ones are kept. Raises `ResultsError` if two results of a cell differ in
    anything else.
    """
    cells: dict[tuple[str, ...], dict[bytes, CaseResult]] = {}
    counts: Counter[bytes] = Counter()
    headers = []
    for run in runs:
        headers.append(run.header)
        counts_of_run: Counter[bytes] = Counter()
        for result in run.results:
            content = encode_item(_without_breaches(result))
            counts_of_run[content] += 1
            key = (result.spec, result.case, result.layer, result.adapter, result.command)
            contents = cells.setdefault(key, {})
            contents[content] = max(contents.get(content, result), result, key=_breaches)
        counts |= counts_of_run
    for (spec, case, layer, adapter, _), contents in cells.items():
        if len(contents) > 1:
            verdicts = " and ".join(sorted({result.verdict for result in contents.values()}))
            raise ResultsError(
                f"{spec}: case {case!r} for {adapter or layer} has different results in two runs"
                f" ({verdicts}); only parts of one run can be merged; make a report of each run, or"
                " compare them with `harness compare`"
            )
    results = [
        result
        for contents in cells.values()
        for content, result in contents.items()
        for _ in range(counts[content])
    ]
    return Run(_merge_headers(headers), results)


def _merge_headers(headers: Sequence[Header]) -> Header:
    return Header(
        tools=tuple(sorted({tool for header in headers for tool in header.tools})),
        day=max((header.day for header in headers), default=""),
        providers=_union(header.providers for header in headers),
        adapters=_union(header.adapters for header in headers),
        features=_union(header.features for header in headers),
        losses=_union(header.losses for header in headers),
        unread=tuple(sorted({problem for header in headers for problem in header.unread})),
    )


def _union(lists: Iterable[Sequence[Named]]) -> tuple[Named, ...]:
    """Each name once. If two entries of a name differ, the first in sort order is kept."""
    kept: dict[tuple[str, str], Named] = {}
    for named in (named for names in lists for named in names):
        key = (named.of, named.name)
        kept[key] = min(kept.get(key, named), named, key=msgspec.structs.astuple)
    return tuple(sorted(kept.values(), key=lambda named: (named.order, named.of, named.name)))


def _without_breaches(result: CaseResult) -> CaseResult:
    return replace(result, evidence=result.evidence and replace(result.evidence, breaches=None))


def _breaches(result: CaseResult) -> tuple[int, bytes]:
    """The sort key of a result: the amount of its data about broken laws; None is less
    than none.
    """
    breaches = result.evidence.breaches if result.evidence else None
    encoded = encode_item(Evidence(breaches=breaches))
    return len(encoded), encoded
