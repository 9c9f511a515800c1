"""The differences between two ledgers, by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .rows import FAULTY, LAWS, Ledger, Row, Value

SHOWN = 4
"""The number of adapters that a line names."""
NONE = Value("–")


class Difference(NamedTuple):
    """One difference between two ledgers."""

    kind: str
    source: str
    """The adapter, the faulty adapter, or the law and its dialect."""
    place: str
    sentence: str = ""
    """The new words, for a reader."""


def differences(
    before: Ledger, now: Ledger, stale: Mapping[str, set[str]] | None = None
) -> Iterator[Difference]:
    """The differences of all rows but those of ``stale`` places, which are not judged now."""
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, {}), now.get(name, {})
        left_out = (stale or {}).get(name, set())
        for key in sorted((old.keys() | new.keys()) - left_out):
            source = key if name in (FAULTY, LAWS) else name
            place = "" if source == key else key
            if key not in new or key not in old:
                what = {FAULTY: "faulty adapter", LAWS: "law"}.get(name, "answer")
                kind = f"{what} {'removed' if key in old else 'added'}"
                yield Difference(kind, source, place)
            else:
                yield from _of_row(name, old[key], new[key], source, place)


def _of_row(name: str, old: Row, new: Row, source: str, place: str) -> Iterator[Difference]:
    for subject in sorted(old.keys() | new.keys()):
        was, value = old.get(subject, NONE), new.get(subject, NONE)
        if was[:3] == value[:3]:
            continue
        if name == FAULTY:
            kind = _kind_of_fault(subject, was, value)
            yield Difference(kind, source, value.values or was.values)
            continue
        if was.verdict != value.verdict:
            kind = f"{subject} {was.verdict} → {value.verdict}"
        elif was.reason != value.reason:
            kind = f"{subject} {value.verdict}: another reason"
        else:
            kind = f"{subject} {value.verdict}: other values"
        yield Difference(kind, source, place, value.sentence)


def _kind_of_fault(subject: str, was: Value, value: Value) -> str:
    if NONE in (was, value):
        return f"faulty adapters: {subject} {'newly' if was is NONE else 'no longer'} red"
    if was.verdict == value.verdict:
        return f"faulty adapters: {subject} red in other places"
    fewer = int(value.verdict) < int(was.verdict)
    return f"faulty adapters: {subject} red in {'fewer' if fewer else 'more'} places"


def by_kind(found: list[Difference]) -> dict[str, list[Difference]]:
    """The differences of each kind, the most frequent kind first."""
    counts = Counter(difference.kind for difference in found)
    kinds: dict[str, list[Difference]] = {
        kind: [] for kind, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    for difference in found:
        kinds[difference.kind].append(difference)
    return kinds


def lines_of(found: list[Difference]) -> Iterator[str]:
    """One line for each kind: its count, that of each adapter, and the first example."""
    for kind, some in by_kind(found).items():
        sources = Counter(difference.source for difference in some).most_common()
        named = ", ".join(f"{source} {count}" for source, count in sources[:SHOWN])
        more = f" and {len(sources) - SHOWN} more" if len(sources) > SHOWN else ""
        first = some[0]
        example = ": ".join(filter(None, [first.place, first.sentence]))
        yield f"{kind} ×{len(some)} ({named}{more})" + (f", e.g. {example}" if example else "")


def entry(day: str, reason: str, found: list[Difference]) -> str:
    """The line about accepted differences."""
    counts = "; ".join(f"{kind} ×{len(some)}" for kind, some in by_kind(found).items())
    return f"- {day}: {reason} ({counts})"
