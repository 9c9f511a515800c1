"""Counts: cells by verdict, passing features, the origins of streams, and sentences about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.judging.rows import VERDICTS, Row, Verdict
from harness.stream.exchange import Origin, OriginKind
from harness.stream.printable import plural, printable_lines

from .document import Unread

ORIGINS: Final[dict[OriginKind | None, str]] = {
    "recorded": "recorded from a live provider",
    "loopback": "recorded from a real client and a local server",
    "imported": "imported",
    "written": "written by hand",
    None: "of unknown origin",
}
IN_PART: Final = "in part"
"""The word for a feature that is carried in some cells only; it is never used for a cell."""
NOTHING_COMPARED: Final = "Nothing was compared."
RECORD_HINT: Final = "`harness record` records streams from a live provider."


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of some cells."""

    cells: int
    counts: dict[Verdict, int]
    """By verdict, passed first, then in the order of urgency."""
    worst: dict[str, Verdict]
    """The worst verdict of each feature."""
    partly: int
    """The number of features that are carried in part (see `in_part`)."""
    missing: int = 0
    """The number of cells that the run did not reach."""

    @property
    def compared(self) -> bool:
        """Whether a comparison ran in some cell."""
        return any(VERDICTS[verdict].compared for verdict in self.counts)

    @property
    def is_green(self) -> bool:
        """Whether every cell ran, something was compared, and nothing is red."""
        return self.compared and not self.red and not self.missing

    @property
    def progress(self) -> str:
        """``2 of 9 cells ran``."""
        return f"{self.cells - self.missing:,} of {plural(self.cells, 'cell')} ran"

    @property
    def features(self) -> int:
        """The number of features that the cells have."""
        return len(self.worst)

    @property
    def passing(self) -> int:
        """The number of features that passed in every cell that was asked for."""
        return sum(verdict == "passed" for verdict in self.worst.values())

    @property
    def passing_features(self) -> str:
        """``41 of 45 features``."""
        return f"{self.passing:,} of {plural(self.features, 'feature')}"

    @property
    def share(self) -> int:
        """The percentage of passing features, rounded down."""
        return 100 * self.passing // self.features if self.features else 0

    def sentence(self) -> str:
        """Return the numbers of features: ``41 of 45 features, 1 known failing, 2 in part``."""
        numbers = Counter(self.worst.values())
        numbers["not-carried"] -= self.partly
        others = {
            verdict: VERDICTS[verdict].counted(numbers[verdict])
            for verdict in VERDICTS
            if verdict != "passed" and numbers[verdict]
        }
        if self.partly:
            others["not-carried"] = ", ".join(
                [f"{self.partly:,} {IN_PART}", *filter(None, [others.get("not-carried")])]
            )
        in_order = [others[verdict] for verdict in VERDICTS if verdict in others]
        return ", ".join([self.passing_features, *in_order])

    @property
    def red(self) -> int:
        """The number of cells that make a run red."""
        return sum(number for verdict, number in self.counts.items() if VERDICTS[verdict].red)

    @property
    def remaining(self) -> int:
        """The number of cells that are not red and still need work."""
        return (
            self.cells - self.red - self.counts.get("passed", 0) - self.counts.get("not-carried", 0)
        )

    @property
    def words(self) -> str:
        """``260 of 379 cells passed, 117 failed, 2 errors, 450 not run``."""
        return words_of_counts(
            {str(verdict): number for verdict, number in self.counts.items()}, "cell"
        )


@dataclass(frozen=True, slots=True)
class Streams:
    """The distinct streams of one kind of origin: their number, the days of the oldest and the
    newest, and the clients that made them.
    """

    kind: OriginKind | None
    number: int
    oldest: str
    newest: str
    clients: tuple[str, ...]
    models: tuple[str, ...]
    sources: tuple[str, ...]


def column(result: Row) -> str:
    """Return the column of a result in the matrices: its adapter, or its layer if it has none."""
    return result.adapter or result.layer


def tally(results: Sequence[Row]) -> Tally:
    """Count some cells."""
    verdicts = Counter(result.verdict for result in results)
    counts = {verdict: verdicts[verdict] for verdict in ("passed", *VERDICTS) if verdicts[verdict]}
    features = by_feature(results)
    partly = sum(in_part(verdicts) for verdicts in features.values())
    return Tally(
        len(results),
        counts,
        {feature: worst(verdicts) for feature, verdicts in features.items()},
        partly,
        sum(result.missing for result in results),
    )


def words_of_counts(counts: Mapping[str, int], noun: str) -> str:
    """Return the number of cells, or of other things that ``noun`` names, that passed, of those
    that were judged; then the numbers of the other verdicts. A cell that was not run was not
    judged.
    """
    judged = sum(counts.values()) - counts.get("not-run", 0)
    number = f"{counts.get('passed', 0):,} of {plural(judged, noun)} passed"
    if not judged:
        number = f"no {noun} was judged"
    others = [
        words.counted(counts[verdict])
        for verdict, words in VERDICTS.items()
        if counts.get(verdict) and verdict != "passed"
    ]
    return ", ".join([number, *others])


def verdict_of(result: Row, feature: str) -> Verdict:
    """Return the verdict of a cell for one of its features: passed if its declared losses or failed
    aspects concern only other features.
    """
    carried = result.lost_features is not None and feature not in result.lost_features
    return "passed" if carried else result.verdict


def by_feature(results: Iterable[Row]) -> dict[str, list[Verdict]]:
    """Return the verdicts on each feature. A cell with several features has one verdict for each. A
    cell for which an adapter that reports its facts could not be asked counts only if there are no
    other cells.
    """
    features: dict[str, list[Verdict]] = {}
    unasked: dict[str, list[Verdict]] = {}
    for result in results:
        is_asked = result.layer != "facts" or result.verdict != "not-run"
        for feature in dict.fromkeys(result.features):
            verdicts = (features if is_asked else unasked).setdefault(feature, [])
            verdicts.append(verdict_of(result, feature))
    return unasked | features


def by_pair(results: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the cells by provider and column."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for result in results:
        pairs.setdefault((result.provider, column(result)), []).append(result)
    return pairs


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the most urgent of some verdicts."""
    return min(verdicts, key=lambda verdict: VERDICTS[verdict].order)


def in_part(verdicts: Sequence[Verdict]) -> bool:
    """Return whether a feature with these verdicts is carried in part: some cells passed, and no
    verdict is worse than not carried.
    """
    return worst(verdicts) == "not-carried" and "passed" in verdicts


def streams(results: Iterable[Row]) -> list[Streams]:
    """Return the distinct streams of the comparisons that ran, by origin."""
    seen: dict[tuple[str, int], Origin | None] = {}
    for result in results:
        is_answer = result.cassette and result.turn != "question"
        if VERDICTS[result.verdict].compared and is_answer:
            seen.setdefault((result.cassette, result.exchange), result.origin)
    kinds: dict[OriginKind | None, list[Origin | None]] = {}
    for origin in seen.values():
        kinds.setdefault(origin.kind if origin else None, []).append(origin)
    return [_streams(kind, kinds[kind]) for kind in ORIGINS if kind in kinds]


def headline(
    results: Sequence[Row],
    providers: Mapping[str, str],
    columns: Mapping[str, str],
    unread: Sequence[Unread] = (),
) -> list[str]:
    """Return a few sentences about a run: the number of cells that ran, if some did not; the specs
    that could not be read (``unread`` are their errors), the result, the most urgent pair of
    provider and column, and the adapters for which the harness read the wire.
    """
    first = _not_green(tally(results)) if results else []
    rest = _headline(results, providers, columns, unread)
    return [*first, *rest, *describe_raw(results)]


def _not_green(whole: Tally) -> list[str]:
    """Return the sentences about a run that is not green although nothing may be red: a run that
    did not reach all cells, or did not compare anything.
    """
    sentences = [f"{whole.progress}."] if whole.missing else []
    return sentences if whole.compared else [*sentences, NOTHING_COMPARED]


def _headline(
    results: Sequence[Row],
    providers: Mapping[str, str],
    columns: Mapping[str, str],
    unread: Sequence[Unread],
) -> list[str]:
    if unread:
        number = plural(len(unread_specs(unread)), "spec")
        rest = _headline(results, providers, columns, ()) if results else ["Nothing ran."]
        return [f"{number} could not be read.", *rest]
    if not results:
        return ["Nothing ran: no case was selected."]
    whole = tally(results)
    if whole.counts.get("passed") == whole.cells:
        return [f"All {whole.cells:,} cells passed." if whole.cells > 1 else "The one cell passed."]
    counts = f"{whole.words}."
    pairs = {pair: tally(cells) for pair, cells in by_pair(results).items()}

    def sentence(pair: tuple[str, str]) -> str:
        return f"{providers[pair[0]]} → {columns[pair[1]]}: {pairs[pair].sentence()}."

    first = min(pairs, key=lambda pair: (-pairs[pair].red, -pairs[pair].remaining, pair))
    if whole.red:
        return [counts, f"Look first at {sentence(first)}"]
    if pairs[first].remaining:
        return [counts, "Nothing is red.", f"Most work remains at {sentence(first)}"]
    least = min(pairs, key=lambda pair: (pairs[pair].share, pair))
    return [counts, "Nothing is red.", f"The lowest share of passed features: {sentence(least)}"]


def unread_specs(unread: Iterable[Unread]) -> set[str]:
    """Return the paths of the specs with these errors."""
    return {problem.spec for problem in unread}


def describe_origins(results: Sequence[Row]) -> str:
    """Return sentences about the origins of the streams that were compared: ``Origin of the
    recordings: 2 imported, 46 written by hand.``
    """
    groups = streams(results)
    if not groups:
        compared = any(VERDICTS[result.verdict].compared for result in results)
        return "Only requests were compared, no stream." if compared else "No comparison ran."
    parts = (f"{group.number:,} {ORIGINS[group.kind]}" for group in groups)
    sentence = f"Origin of the recordings: {', '.join(parts)}."
    from_providers = {group.kind for group in groups} & {"recorded", "imported"}
    return sentence if from_providers else f"{sentence} {RECORD_HINT}"


def describe_raw(results: Iterable[Row]) -> list[str]:
    """Return a sentence for each adapter that returned messages of the wire as they are. The
    comparison of such a cell says little about the adapter.
    """
    numbers = Counter(result.adapter for result in results if result.raw)
    return [read_for(name, number) for name, number in sorted(numbers.items())]


def read_for(adapter: str, number: int) -> str:
    """Return the sentence about the cells in which an adapter returned messages of the wire."""
    return f"{adapter}: the harness read the wire for it in {plural(number, 'cell')}."


def summary(results: Sequence[Row], unread: Sequence[Unread] = (), written: str = "") -> str:
    """Return the lines printed at the end of a run: first the number of cells that ran, if it is
    not the number of all, and whether nothing was compared. Then one line per provider and column,
    the adapters for which the harness read the wire, the whole run, and the origins of its streams.
    ASCII, except for names. ``unread``: errors of specs that could not be read. ``written``: the
    sentence about the expectations that the run wrote. Then the run did something, even if nothing
    was compared.
    """
    whole = tally(results)
    pairs = {
        printable_lines(f"{provider or 'unknown provider'} / {name}"): tally(cells)
        for (provider, name), cells in sorted(by_pair(results).items())
    }
    width = max(map(len, pairs), default=0)
    lines = _not_green(whole) if results else []
    if written:
        lines = [*(line for line in lines if line != NOTHING_COMPARED), written]
    lines += [f"{pair:<{width}}  {counted.words}" for pair, counted in pairs.items()]
    lines += map(printable_lines, describe_raw(results))
    reason = "the specs could not be read" if unread else "no case was selected"
    lines.append(whole.words if results else f"Nothing ran: {reason}.")
    if whole.compared or not results:
        lines.append(describe_origins(results))
    return "\n".join(lines) + "\n"


def _streams(kind: OriginKind | None, origins: Sequence[Origin | None]) -> Streams:
    known = [origin for origin in origins if origin]
    days = sorted({origin.date[:10] for origin in known if origin.date})
    return Streams(
        kind,
        len(origins),
        days[0] if days else "",
        days[-1] if days else "",
        tuple(sorted({origin.client for origin in known if origin.client})),
        tuple(sorted({origin.model for origin in known if origin.model})),
        tuple(sorted({origin.source for origin in known if origin.source})),
    )
