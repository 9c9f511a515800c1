"""What cells add up to: counts by verdict, features that pass, the streams that a run rests on, and
the sentences that say so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.conformance.results import VERDICTS, CaseResult, Origin, OriginKind, Verdict
from harness.stream.printable import printable_lines

ORIGINS: Final[dict[OriginKind | None, str]] = {
    "recorded": "recorded from a live provider",
    "loopback": "recorded between a real client and a served stream",
    "imported": "imported from recordings of others",
    "written": "written by hand",
    None: "of unknown origin",
}
IN_PART: Final = "in part"
"""Said of a feature, never of a cell."""
_PLACE: Final = re.compile(r":\d+: ")
RECORDED_HINT: Final = "; `harness record` makes those of a live provider"


@dataclass(frozen=True, slots=True)
class Tally:
    """Cells counted: ``counts`` by verdict, passed first, then what deserves a look; ``worst`` is
    the worst verdict of each feature, ``partly`` how many features are carried in part."""

    cells: int
    counts: dict[Verdict, int]
    worst: dict[str, Verdict]
    partly: int

    @property
    def features(self) -> int:
        """How many features the cells are about."""
        return len(self.worst)

    @property
    def passing(self) -> int:
        """How many of them passed in every cell."""
        return sum(verdict == "passed" for verdict in self.worst.values())

    @property
    def share(self) -> int:
        """Passing features of a hundred, never rounded up to all."""
        return 100 * self.passing // self.features if self.features else 0

    def sentence(self) -> str:
        """``41 of 45 features, 1 known failing, 2 in part, 1 not carried``, all counted in
        features.
        """
        found = Counter(self.worst.values())
        found["not-carried"] -= self.partly
        others = {
            verdict: VERDICTS[verdict].counted(found[verdict])
            for verdict in VERDICTS
            if verdict != "passed" and found[verdict]
        }
        if self.partly:
            others["not-carried"] = ", ".join(
                [f"{self.partly:,} {IN_PART}", *filter(None, [others.get("not-carried")])]
            )
        plural = "" if self.features == 1 else "s"
        in_order = [others[verdict] for verdict in VERDICTS if verdict in others]
        return ", ".join([f"{self.passing:,} of {self.features:,} feature{plural}", *in_order])

    @property
    def red(self) -> int:
        """How many cells end a run red."""
        return sum(number for verdict, number in self.counts.items() if VERDICTS[verdict].red)

    @property
    def remaining(self) -> int:
        """How many cells somebody still has to see to, though they aren't red."""
        return (
            self.cells - self.red - self.counts.get("passed", 0) - self.counts.get("not-carried", 0)
        )

    def words(self) -> str:
        """``38 passed, 1 failed, 2 errors``."""
        return (
            ", ".join(VERDICTS[verdict].counted(number) for verdict, number in self.counts.items())
            or "no case"
        )


@dataclass(frozen=True, slots=True)
class Streams:
    """The distinct streams of one origin: how many, the days of the oldest and the newest, what
    made them.
    """

    kind: OriginKind | None
    number: int
    oldest: str
    newest: str
    clients: tuple[str, ...]
    models: tuple[str, ...]
    sources: tuple[str, ...]


def column(result: CaseResult) -> str:
    """The column of the matrices that a result stands in: its adapter, or the layer where there is
    none.
    """
    return result.adapter or result.layer


def tally(results: Sequence[CaseResult]) -> Tally:
    """Count some cells."""
    found = Counter(result.verdict for result in results)
    counts = {verdict: found[verdict] for verdict in ("passed", *VERDICTS) if found[verdict]}
    features = by_feature(results)
    partly = sum(in_part(cells) for cells in features.values())
    return Tally(
        len(results), counts, {feature: worst(cells) for feature, cells in features.items()}, partly
    )


def by_feature(results: Iterable[CaseResult]) -> dict[str, list[CaseResult]]:
    """Cells by feature; one of several features stands at each of them."""
    features: dict[str, list[CaseResult]] = {}
    for result in results:
        for feature in dict.fromkeys(result.features):
            features.setdefault(feature, []).append(result)
    return features


def by_pair(results: Iterable[CaseResult]) -> dict[tuple[str, str], list[CaseResult]]:
    """Cells by provider and column."""
    pairs: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        pairs.setdefault((result.provider, column(result)), []).append(result)
    return pairs


def worst(results: Iterable[CaseResult]) -> Verdict:
    """The verdict among them that deserves a look first."""
    return min((result.verdict for result in results), key=lambda verdict: VERDICTS[verdict].order)


def in_part(results: Sequence[CaseResult]) -> bool:
    """Whether a feature with these cells is carried in part: some passed, and what is not carried
    is the worst of them.
    """
    return worst(results) == "not-carried" and any(result.verdict == "passed" for result in results)


def streams(results: Iterable[CaseResult]) -> list[Streams]:
    """The distinct streams behind the comparisons that ran, by origin; what was not compared rests
    on nothing.
    """
    seen: dict[tuple[str, int], Origin | None] = {}
    for result in results:
        if VERDICTS[result.verdict].compared and result.cassette:
            seen.setdefault((result.cassette, result.exchange), result.origin)
    kinds: dict[OriginKind | None, list[Origin | None]] = {}
    for origin in seen.values():
        kinds.setdefault(origin.kind if origin else None, []).append(origin)
    return [_streams(kind, kinds[kind]) for kind in ORIGINS if kind in kinds]


def headline(
    results: Sequence[CaseResult],
    providers: Mapping[str, str],
    columns: Mapping[str, str],
    unread: Sequence[str] = (),
) -> list[str]:
    """The run in a few plain sentences: what did not even run (``unread``: errors of specs), what
    came out, where to look first.
    """
    if unread:
        number = len(
            {_PLACE.split(problem, maxsplit=1)[0] for problem in unread}
        )  # a spec may have several errors
        said = f"{number:,} specs were not read." if number > 1 else "One spec was not read."
        return [said, *(headline(results, providers, columns) if results else ["Nothing ran."])]
    whole = tally(results)
    if not results:
        return ["Nothing ran: no case was selected."]
    if whole.counts.get("passed") == whole.cells:
        return [f"All {whole.cells:,} cells passed." if whole.cells > 1 else "The one cell passed."]
    others = ", ".join(
        VERDICTS[verdict].counted(number)
        for verdict, number in whole.counts.items()
        if verdict != "passed"
    )
    sentences = [f"{whole.counts.get('passed', 0):,} of {whole.cells:,} cells passed; {others}."]
    tallies = {pair: tally(cells) for pair, cells in by_pair(results).items()}
    (provider, name), first = min(
        tallies.items(), key=lambda item: (-item[1].red, -item[1].remaining, item[0])
    )
    place = f"{providers[provider]} → {columns[name]}"
    if whole.red:
        return [*sentences, f"Look first at {place}: {first.sentence()}."]
    if first.remaining:
        return [
            *sentences,
            "Nothing is red.",
            f"Most remains to be done at {place}: {first.sentence()}.",
        ]
    (provider, name), least = min(tallies.items(), key=lambda item: (item[1].share, item[0]))
    return [
        *sentences,
        "Nothing is red.",
        f"Least is carried at {providers[provider]} → {columns[name]}: {least.sentence()}.",
    ]


def rests_on(results: Sequence[CaseResult]) -> str:
    """The sentence that says what the verdicts are worth, without its full stop: ``46 of 46 streams
    written by hand; …``.
    """
    found = streams(results)
    total = sum(one.number for one in found)
    if not total:
        compared = any(VERDICTS[result.verdict].compared for result in results)
        return (
            "no stream: what was compared are requests, made of prompts"
            if compared
            else "no stream: no comparison ran"
        )
    counted = [f"{one.number:,} {ORIGINS[one.kind]}" for one in found]
    counted[0] = (
        f"{found[0].number:,} of {total:,} stream{'s' if total > 1 else ''}"
        f" {ORIGINS[found[0].kind]}"
    )
    real = {one.kind for one in found} & {"recorded", "imported"}
    return ", ".join(counted) + ("" if real else RECORDED_HINT)


def summary(results: Sequence[CaseResult]) -> str:
    """The lines printed at the end of a run: a line a provider and dialect, then the whole and what
    it rests on. ASCII but for names.
    """
    found = sorted(by_pair(results).items())
    pairs = {
        printable_lines(f"{provider or 'unknown provider'} / {name}"): tally(cells)
        for (provider, name), cells in found
    }
    width = max(map(len, pairs), default=0)
    lines = [f"{pair:<{width}}  {counted.words()}" for pair, counted in pairs.items()]
    cells = f"{len(results):,} cell{'s' if len(results) != 1 else ''}"
    lines.append(
        f"{cells}: {tally(results).words()}" if results else "Nothing ran: no case was selected."
    )
    lines.append(f"Rests on {rests_on(results)}.")
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
