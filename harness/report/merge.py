"""Several runs as one: a union, so that it doesn't matter in which order, or how often, shards
come.

Of a cell that several have, it keeps what each of them knows more of: a longer text, the laws that
it was held against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from harness.conformance.results import CaseResult, Evidence, ResultsError

from .budget import SMALLEST, cap
from .document import Header, Named, Run, encode_item


def merge(runs: Iterable[Run]) -> Run:
    """One run of several: every result once. Raises `ResultsError` where two of them judge the same
    cell differently.

    Laws judge no cell, and a run tries them on its first red cells only: where one result has their
    breaches, it speaks for the others.
    """
    found: dict[tuple[str, ...], dict[bytes, CaseResult]] = {}
    counts: Counter[bytes] = Counter()
    headers = []
    for run in runs:
        headers.append(run.header)
        here: Counter[bytes] = Counter()
        for result in run.results:
            content = encode_item(
                _without_breaches(cap(replace(result, wire=""), SMALLEST))
            )  # a file may have kept more than another
            here[content] += 1
            kept = found.setdefault(
                (result.spec, result.case, result.layer, result.adapter, result.command), {}
            )
            kept[content] = _join(kept.get(content, result), result)
        counts |= here
    results = []
    for (spec, case, layer, adapter, _), contents in found.items():
        if len(contents) > 1:
            said = " and ".join(sorted({result.verdict for result in contents.values()}))
            raise ResultsError(
                f"{spec}: case {case!r} for {adapter or layer} is judged differently in two runs"
                f" ({said}); only parts of one run can be merged; make a report of each, or compare"
                " them with `harness compare`"
            )
        results += [result for content, result in contents.items() for _ in range(counts[content])]
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
    """Each name once; where two disagree about it, the one that sorts first speaks, whoever came
    first.
    """
    kept: dict[tuple[str, str], Named] = {}
    for one in (one for names in lists for one in names):
        key = (one.of, one.name)
        kept[key] = min(kept.get(key, one), one, key=msgspec.structs.astuple)
    return tuple(sorted(kept.values(), key=lambda one: (one.order, one.of, one.name)))


def _join(one: CaseResult, other: CaseResult) -> CaseResult:
    """The one that says more, with those breaches of the two that say more."""
    fuller = max(one, other, key=lambda result: _how_much(_without_breaches(result)))
    tried = [
        result.evidence
        for result in (one, other)
        if result.evidence and result.evidence.breaches is not None
    ]
    if fuller.evidence is None or not tried:
        return fuller
    breaches = max(
        tried, key=lambda evidence: _how_much(Evidence(breaches=evidence.breaches))
    ).breaches
    return replace(fuller, evidence=replace(fuller.evidence, breaches=breaches))


def _without_breaches(result: CaseResult) -> CaseResult:
    return replace(result, evidence=result.evidence and replace(result.evidence, breaches=None))


def _how_much(said: Struct) -> tuple[int, bytes]:
    whole = encode_item(said)
    return len(whole), whole
