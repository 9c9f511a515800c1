"""What stands on each page, as plain values for its template: nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.conformance.results import VERDICTS, CaseResult, Verdict, VerdictWords

from .compare import KINDS, Change, Kind, KindWords
from .document import Header
from .fingerprint import Fingerprint, fingerprint
from .layout import Cell, Feature, group_title, page_name
from .sections import Section, feature_anchor, file_of, form_of, sections_of, sources_of
from .tally import (
    IN_PART,
    ORIGINS,
    Tally,
    by_feature,
    by_pair,
    column,
    headline,
    in_part,
    rests_on,
    streams,
    tally,
    worst,
)
from .text import slug


@dataclass(frozen=True, slots=True)
class Names:
    """What a run calls things, in the order to show: providers and columns by name, the checklist,
    and each adapter's losses.
    """

    providers: Mapping[str, str]
    columns: Mapping[str, str]
    features: Sequence[Feature]
    losses: Sequence[tuple[str, str, Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class Pair:
    """One provider through one column."""

    name: str
    title: str
    anchor: str
    tally: Tally
    drawing: Fingerprint
    sentence: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A feature in one column: the verdict that deserves a look first, the word for it, and how
    many of its cells have it.
    """

    name: Verdict
    word: str
    number: int
    cells: int


Rows = list[tuple[str, list[tuple[Feature, str, list[Mark | None]]]]]


@dataclass(frozen=True, slots=True)
class Checklist:
    """One provider's features × columns: rows by group, and the features that no case names."""

    title: str
    page: str
    tally: Tally
    columns: list[tuple[str, str]]
    groups: Rows
    missing: list[str]


@dataclass(frozen=True, slots=True)
class Remark:
    """One line of what is not passed: cells of one provider that have verdict, reason, and
    requirement or (``alike``) column in common.
    """

    provider: str
    alike: bool
    cells: list[Cell]


def index_page(cells: Sequence[Cell], header: Header, names: Names) -> dict[str, Any]:
    """The values of ``index.html``."""
    results = [cell.result for cell in cells]
    pairs = {
        (pair.name, one): pair for one in names.columns for pair in _pairs_of(one, results, names)
    }
    columns = {
        one: title
        for one, title in names.columns.items()
        if any(found == one for _, found in pairs)
    }
    return {
        "sentences": headline(results, names.providers, names.columns, header.unread),
        "rests": rests_on(results),
        "whole": tally(results),
        "columns": columns,
        "rows": [
            (title, page_name(name), [pairs.get((name, one)) for one in columns])
            for name, title in names.providers.items()
        ],
        "checklists": [
            checklist(name, [cell for cell in cells if cell.result.provider == name], names)
            for name in names.providers
        ],
        "remarks": _remarks(cells, names.providers),
        "streams": streams(results),
        "origins": ORIGINS,
        "losses": [
            (title, slug(name), losses) for name, title, losses in names.losses if name in columns
        ],
        "header": header,
    }


def provider_page(name: str, cells: Sequence[Cell], names: Names) -> dict[str, Any]:
    """The values of one provider's page; ``cells`` are this provider's."""
    results = [cell.result for cell in cells]
    sections = sections_of(cells, names.features)
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(group_title(section.feature), []).append(section)
    return {
        "title": names.providers[name],
        "sources": sources_of(sections),
        "whole": tally(results),
        "rests": rests_on(results),
        "pairs": [pair for one in names.columns for pair in _pairs_of(one, results, names)],
        "missing": checklist(name, cells, names).missing,
        "groups": [
            (group, f"group:{slug(group.lower())}", found) for group, found in groups.items()
        ],
        "verdicts": [
            verdict for verdict in VERDICTS if any(result.verdict == verdict for result in results)
        ],
        "levels": sorted({result.level for result in results}),
        "sections": sections,
        "form": form_of(sections),
        "file_of": file_of,
    }


def checklist(name: str, cells: Sequence[Cell], names: Names) -> Checklist:
    """The checklist of one provider; ``cells`` are this provider's."""
    used = [one for one in names.columns if any(column(cell.result) == one for cell in cells)]
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        for feature in dict.fromkeys(cell.result.features):
            found.setdefault((feature, column(cell.result)), []).append(cell)
    there = by_feature(cell.result for cell in cells)
    groups: dict[str, list[tuple[Feature, str, list[Mark | None]]]] = {}
    for one in names.features:
        if one.id in there:
            marks = [_mark(found.get((one.id, name), ())) for name in used]
            groups.setdefault(group_title(one), []).append((one, feature_anchor(one.id), marks))
    missing = [one.title for one in names.features if one.id not in there]
    columns = [(one, names.columns[one]) for one in used]
    return Checklist(
        names.providers[name],
        page_name(name),
        tally([cell.result for cell in cells]),
        columns,
        list(groups.items()),
        missing,
    )


def change_list(
    changes: Sequence[Change], cells: Sequence[Cell], names: Names
) -> list[tuple[Kind, KindWords, list[tuple[str, Change, Cell | None]]]]:
    """Changes by kind, all kinds named: where (``Gemini API → anthropic``), the change, and the
    cell as it is now.
    """
    now = {id(cell.result): cell for cell in cells}
    found: dict[Kind, list[tuple[str, Change, Cell | None]]] = {kind: [] for kind in KINDS}
    for change in changes:
        result = change.cell
        one = column(result)
        where = (
            f"{names.providers.get(result.provider, result.provider)} →"
            f" {names.columns.get(one, one)}"
        )
        found[change.kind].append((where, change, now.get(id(change.head))))
    return [(kind, KINDS[kind], listed) for kind, listed in found.items()]


def _pairs_of(one: str, results: Sequence[CaseResult], names: Names) -> list[Pair]:
    """A column's pairs with each provider that has cells in it; a pair is named by its provider."""
    listed = [feature.id for feature in names.features]
    pairs = []
    for (provider, found), cells in by_pair(results).items():
        if found == one:
            counted = tally(cells)
            sentence = f"{names.providers[provider]} → {names.columns[one]}: {counted.sentence()}"
            drawing = fingerprint(listed, counted.worst)
            pairs.append(
                Pair(provider, names.columns[one], f"in:{slug(one)}", counted, drawing, sentence)
            )
    return pairs


def _mark(cells: Sequence[Cell]) -> Mark | None:
    if not cells:
        return None
    results = [cell.result for cell in cells]
    verdict = worst(results)
    word = IN_PART if in_part(results) else VERDICTS[verdict].word
    return Mark(verdict, word, sum(cell.result.verdict == verdict for cell in cells), len(cells))


def _remarks(
    cells: Sequence[Cell], providers: Mapping[str, str]
) -> list[tuple[Verdict, VerdictWords, int, list[Remark]]]:
    """Everything that isn't passed, by verdict; what is declared in advance or didn't run, by its
    reason rather than by requirement.
    """
    remarks: dict[Verdict, dict[tuple[str, ...], Remark]] = {
        verdict: {} for verdict in VERDICTS if verdict != "passed"
    }
    for cell in cells:
        result = cell.result
        if result.verdict != "passed":
            alike = (
                bool(cell.gist) and VERDICTS[result.verdict].order >= VERDICTS["not-carried"].order
            )
            key = (
                result.provider,
                cell.title if alike else result.requirement,
                cell.gist,
                result.link,
            )
            remark = remarks[result.verdict].setdefault(
                key, Remark(providers[result.provider], alike, [])
            )
            remark.cells.append(cell)
    order = {name: index for index, name in enumerate(providers)}
    return [
        (
            verdict,
            VERDICTS[verdict],
            sum(len(remark.cells) for remark in found.values()),
            sorted(found.values(), key=lambda remark: order[remark.cells[0].result.provider]),
        )
        for verdict, found in remarks.items()
        if found
    ]
