"""The values of each page for its template, without any HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from harness.judging.rows import VERDICTS, Row, Verdict, VerdictWords
from harness.stream.printable import excerpt, plural

from .asked import asked_questions, questions
from .aspect_counts import FIRST_TURNS, JUDGED_BLOCKS, MAX_SENTENCE, Findings
from .badges import Fingerprint, fingerprint
from .compare import KINDS, CellChange, ChangeKind, KindWords
from .document import RESULTS, Header, Named, plan_of
from .findings import FactsCells, cells_by_facts, finding_groups, tables
from .layout import (
    PlacedResult,
    ReportNames,
    Section,
    feature_anchor,
    group_title,
    page_name,
    sections_of,
    sources_of,
)
from .tally import (
    IN_PART,
    NOTHING_COMPARED,
    Tally,
    by_feature,
    by_pair,
    column,
    describe_origins,
    describe_raw,
    headline,
    in_part,
    streams,
    tally,
    worst,
)
from .text import slug


@dataclass(frozen=True, slots=True)
class Pair:
    """One provider in one column."""

    name: str
    title: str
    anchor: str
    tally: Tally
    drawing: Fingerprint
    sentence: str


@dataclass(frozen=True, slots=True)
class VerdictMark:
    """A feature in one column: its most urgent verdict, the word for it, the number of cells with
    that verdict, and the number of all cells. *In part* counts those that passed.
    """

    name: Verdict
    word: str
    number: int
    cells: int


Rows = list[tuple[str, list[tuple[Named, str, list[VerdictMark | None]]]]]


@dataclass(frozen=True, slots=True)
class Checklist:
    """The features × columns of one provider: rows by group, and the number of features without a
    case.
    """

    title: str
    page: str
    tally: Tally
    columns: list[tuple[str, str]]
    groups: Rows
    missing: int


@dataclass(frozen=True, slots=True)
class Remark:
    """One line of the list of cells not passed: cells of one provider with the same verdict, the
    same reason, and the same requirement or (``alike``) the same column.
    """

    provider: str
    alike: bool
    cells: list[PlacedResult]


_BLOCKS: Final = {
    "documented": "on the documented wire",
    "sessions": "in the sessions",
    "variant": "in variants",
    "second_turn": "in the second turn",
    "second_turn_of_variants": "in the second turn after a variant",
    "questions": "in the requests",
}
TITLE: Final = "Stream conformance"
"""The title of a report of no known project."""
FEW_ADAPTERS: Final = 4
"""From this number, the adapters are the rows of their matrix with the providers."""
MOST_NAMED: Final = 3
"""The number of adapters that a title names."""

NOTHING: Final[Mapping[str, Any]] = {
    "whole": tally(()),
    "changes": None,
    "header": Header(),
    "of_cases": False,
    "other_reasons": 0,
    **dict.fromkeys(("heading_note", "origins_sentence", "against"), ""),
    "columns": (),
    "corner": "",
    "folded": (),
    "laws": {},
    **dict.fromkeys(
        ("rows", "checklists", "tables", "groups", "asked", "questions", "remarks"), ()
    ),
    **dict.fromkeys(
        ("streams", "adapters", "inputs", "worse", "losses", "loss_meanings", "files"), ()
    ),
}
"""The values of an index without any section. A section is shown if it has values."""


def suite_of(header: Header) -> str:
    """Return ``2026.11 (0123456789ab)``; "" if there is no suite, or if adapters have several."""
    suites = {header.suite, *(adapter.suite for adapter in header.judged)} - {""}
    return suites.pop() if len(suites) == 1 else ""


def _suite_and_rules(header: Header) -> list[str]:
    rules = {adapter.rules for adapter in header.judged} - {0}
    suite = suite_of(header)
    return [
        *([f"suite {suite}"] if suite else []),
        *(f"rules {number}" for number in rules if len(rules) == 1),
    ]


def index_page(cells: Sequence[PlacedResult], header: Header, names: ReportNames) -> dict[str, Any]:
    """Return the values of ``index.html``: of a run with cases, of a run of ``harness judge``, or
    of both.
    """
    cases = [cell for cell in cells if cell.page]
    by_facts = cells_by_facts(cells, names.columns, header.judged)
    own = (
        _of_cases(cases, cells, header, names)
        if cases or header.is_of_pytest or not header.judged
        else {}
    )
    title = title_of(header)
    notes = (header.ran, header.commit[:12], *_suite_and_rules(header))
    return {
        **NOTHING,
        "title": title,
        "heading": title,
        "heading_note": ", ".join(filter(None, notes)),
        "sentences": _judged_sentences(cells, header, by_facts),
        "noun": "cell",
        "tables": tables(by_facts),
        "groups": finding_groups(by_facts),
        "asked": asked_questions(cells, names.providers, names.columns),
        "remarks": _remarks(cells, names.providers),
        "adapters": [(adapter, names.columns[adapter.name]) for adapter in header.judged],
        "files": ["judge.json"],
        "header": header,
        **_matrix(cells, names),
        **own,
    }


def title_of(header: Header) -> str:
    """Return the title of a report: its project, else the adapters of ``harness judge``."""
    if header.project:
        return f"{header.project}: stream conformance"
    names = list(dict.fromkeys(adapter.name for adapter in header.judged))
    if names and len(names) <= MOST_NAMED:
        return f"{', '.join(names)}: facts that are kept"
    return TITLE


def _of_cases(
    cases: Sequence[PlacedResult], cells: Sequence[PlacedResult], header: Header, names: ReportNames
) -> dict[str, Any]:
    """Return the values that only a run with cases has."""
    shown_losses = _shown_losses(cells, names)
    results = [cell.result for cell in cases]
    asked = [
        f"Requests of {own.title}: {own.words}."
        for own in asked_questions(cells, names.providers, names.columns)
    ]
    of_cases = cases or header.unread or not asked
    return {
        "of_cases": True,
        "sentences": [
            *(headline(results, names.providers, names.columns, header.unread) if of_cases else ()),
            *asked,
        ],
        "origins_sentence": describe_origins(results) if of_cases else "",
        "whole": tally(results),
        "checklists": [
            checklist(name, [cell for cell in cases if cell.result.provider == name], names)
            for name in names.providers
            if any(cell.result.provider == name for cell in cases)
        ],
        "questions": questions(cases, names.providers),
        "streams": streams(results),
        "losses": [(title, slug(name), losses) for name, title, losses in shown_losses],
        "loss_meanings": sorted(
            {pair for _, _, losses in shown_losses for pair in losses.items() if pair[1]}
        ),
        "files": [RESULTS, "junit.xml", "summary.md"],
    }


def _shown_losses(
    cells: Sequence[PlacedResult], names: ReportNames
) -> list[tuple[str, str, Mapping[str, str]]]:
    """Return the adapters that have a cell: name, title, and the meaning of each declared loss. The
    losses of a user's adapter are in its results, and have no meaning.
    """
    declared: dict[str, dict[str, str]] = {}
    for cell in cells:
        declared.setdefault(cell.name, {}).update(dict.fromkeys(cell.result.declared, ""))
    return [
        (name, title, {**losses, **declared[name]})
        for name, title, losses in names.losses
        if name in declared
    ]


def _matrix(cells: Sequence[PlacedResult], names: ReportNames) -> dict[str, Any]:
    """Return the matrix of adapters × providers; few adapters are its columns. Without cases it has
    the first turns on the documented wire. ``folded`` has the providers without a comparison, with
    their number of cells. A pair without a comparison is an empty square.
    """
    with_case = any(cell.page for cell in cells)
    results = [
        cell.result
        for cell in cells
        if (cell.page if with_case else cell.result.section in FIRST_TURNS)
    ]
    pairs = {
        (pair.name, name): pair
        for name in names.columns
        for pair in _pairs_of(name, results, names)
    }
    judged = {result.provider for result in results}
    providers = {
        name: (title, page_name(name) if with_case else "")
        for name, title in names.providers.items()
        if name in judged
    }
    compared = {provider for (provider, _), pair in pairs.items() if pair.tally.compared}
    shown = [name for name in providers if not compared or name in compared]
    folded = [
        (*heading, sum(pairs[key].tally.cells for key in pairs if key[0] == name))
        for name, heading in providers.items()
        if name not in shown
    ]
    if not with_case and len(shown) == 1 and not folded:
        shown = []
    used = [name for name in names.columns if any(key[1] == name for key in pairs)]
    by_adapter = len(used) >= FEW_ADAPTERS

    def square(provider: str, adapter: str) -> tuple[Pair, str] | None:
        pair = pairs.get((provider, adapter))
        is_blank = pair is None or not (with_case or pair.tally.compared or pair.tally.red)
        return None if pair is None or is_blank else (pair, providers[provider][1])

    of_providers = [providers[name] for name in shown]
    of_adapters = [(names.columns[name], "") for name in used]
    table = [[square(provider, adapter) for provider in shown] for adapter in used]
    if not by_adapter:
        table = [list(row) for row in zip(*table, strict=True)]
        of_providers, of_adapters = of_adapters, of_providers
    return {
        "corner": "Adapter" if by_adapter else "Provider",
        "columns": of_providers,
        "rows": [(*heading, row) for heading, row in zip(of_adapters, table, strict=True)]
        if shown
        else [],
        "folded": folded,
    }


def _judged_sentences(
    cells: Sequence[PlacedResult], header: Header, groups: Sequence[FactsCells]
) -> list[str]:
    """Return the headline of a run of ``harness judge``: why it is incomplete, the numbers, and the
    first finding.
    """
    results = [cell.result for cell in cells]
    plan = plan_of(results)
    sentences = [
        "" if plan.is_whole else f"{plan.sentence}.",
        "" if any(result.compared for result in results) else NOTHING_COMPARED,
        _judged_sentence(header, groups),
        _first_finding(groups, named=len(header.judged) > 1),
    ]
    return [*filter(None, sentences), *describe_raw(results)]


def _first_finding(groups: Sequence[FactsCells], *, named: bool) -> str:
    """Return the first finding as a sentence, as in the terminal; "" if nothing is red."""
    for block in JUDGED_BLOCKS:
        for group in groups:
            for sentence, _, _ in group.findings if group.block == block else ():
                name = f"{group.title}: " if named else ""
                return f"The first finding: {name}{excerpt(sentence, MAX_SENTENCE)}."
    return ""


def _judged_sentence(header: Header, groups: Sequence[FactsCells]) -> str:
    if len(header.judged) != 1:
        adapters = plural(len(header.judged), "adapter")
        return f"{adapters}. A red number in a table leads to its findings."
    (adapter,) = header.judged
    own = {group.block: group.findings for group in groups}
    none = Findings([])
    first = next((block for block in FIRST_TURNS if block in own), "documented")
    findings = f"{plural(len(own.get(first, none)), 'finding')} there"
    for block in ("sessions", "second_turn"):
        if block != first and (number := len(own.get(block, none))):
            findings += f" and {plural(number, 'finding')} {_BLOCKS[block]}"
    if number := len(own.get("questions", none)):
        findings += f"; its requests have {plural(number, 'finding')}"
    title = next(named.title for named in header.adapters if named.name == adapter.name)
    cells = tally(own.get(first, none).cells).words
    return f"{title}, version {adapter.version}: {cells} {_BLOCKS[first]}. It has {findings}."


def provider_page(
    name: str, cells: Sequence[PlacedResult], names: ReportNames, run_title: str
) -> dict[str, Any]:
    """Return the values of one provider's page; ``cells`` are this provider's.
    ``run_title`` is the title of the report.
    """
    results = [cell.result for cell in cells]
    sections = sections_of(cells, names.features)
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(group_title(section.feature), []).append(section)
    return {
        "run_title": run_title,
        "title": names.providers[name],
        "sources": sources_of(sections),
        "whole": tally(results),
        "has_losses": bool(_shown_losses(cells, names)),
        "origins_sentence": describe_origins(results),
        "pairs": [pair for name in names.columns for pair in _pairs_of(name, results, names)],
        "groups": [
            (group, f"group:{slug(group.lower())}", members) for group, members in groups.items()
        ],
        "verdicts": [
            verdict for verdict in VERDICTS if any(result.verdict == verdict for result in results)
        ],
        "levels": sorted({result.level for result in results}),
        "sections": sections,
    }


def checklist(name: str, cells: Sequence[PlacedResult], names: ReportNames) -> Checklist:
    """Return the checklist of one provider; ``cells`` are this provider's."""
    results = [cell.result for cell in cells]
    of_column: dict[str, list[Row]] = {}
    for result in results:
        of_column.setdefault(column(result), []).append(result)
    verdicts = {key: by_feature(own) for key, own in of_column.items()}
    columns = [(key, title) for key, title in names.columns.items() if key in verdicts]
    with_case = by_feature(results)
    groups: dict[str, list[tuple[Named, str, list[VerdictMark | None]]]] = {}
    for feature in names.features:
        if feature.name in with_case:
            marks = [_mark(verdicts[key].get(feature.name, ())) for key, _ in columns]
            row = (feature, feature_anchor(feature.name), marks)
            groups.setdefault(group_title(feature), []).append(row)
    missing = sum(feature.name not in with_case for feature in names.features)
    rows = list(groups.items())
    return Checklist(names.providers[name], page_name(name), tally(results), columns, rows, missing)


def change_list(
    changes: Sequence[CellChange], cells: Sequence[PlacedResult], names: ReportNames
) -> list[tuple[ChangeKind, KindWords, list[tuple[str, CellChange, PlacedResult | None]]]]:
    """Return the changes by kind, with an entry for every kind: the place (``Gemini API →
    anthropic``), the change, and the present cell.
    """
    now = {id(cell.result): cell for cell in cells}
    listed: dict[ChangeKind, list[tuple[str, CellChange, PlacedResult | None]]] = {
        kind: [] for kind in KINDS
    }
    for change in changes:
        result = change.cell
        name = column(result)
        provider = names.providers.get(result.provider, result.provider)
        where = f"{provider} → {names.columns.get(name, name)}"
        listed[change.kind].append((where, change, now.get(id(change.head))))
    return [(kind, KINDS[kind], entries) for kind, entries in listed.items()]


def _pairs_of(name: str, results: Sequence[Row], names: ReportNames) -> list[Pair]:
    """Return the pairs of a column with each provider that has cells in it, named by provider."""
    features = [feature.name for feature in names.features]
    title = names.columns[name]
    pairs = []
    for (provider, column_of_pair), cells in by_pair(results).items():
        if column_of_pair == name:
            counts = tally(cells)
            sentence = f"{names.providers[provider]} → {title}: {counts.sentence()}"
            drawing = fingerprint(features, counts.worst)
            pairs.append(Pair(provider, title, f"in:{slug(name)}", counts, drawing, sentence))
    return pairs


def _mark(verdicts: Sequence[Verdict]) -> VerdictMark | None:
    if not verdicts:
        return None
    most_urgent = worst(verdicts)
    if in_part(verdicts):
        return VerdictMark(most_urgent, IN_PART, verdicts.count("passed"), len(verdicts))
    word = VERDICTS[most_urgent].word
    return VerdictMark(most_urgent, word, verdicts.count(most_urgent), len(verdicts))


def _remarks(
    cells: Sequence[PlacedResult], providers: Mapping[str, str]
) -> list[tuple[Verdict, VerdictWords, str, list[Remark]]]:
    """Return all cells that did not pass, by verdict, with their number in words. Cells not carried
    or not run are grouped by reason, others by requirement.
    """
    remarks: dict[Verdict, dict[tuple[str, ...], Remark]] = {
        verdict: {} for verdict in VERDICTS if verdict != "passed"
    }
    for cell in cells:
        result = cell.result
        listed = cell.page or VERDICTS[result.verdict].order >= VERDICTS["not-carried"].order
        if result.verdict != "passed" and listed:  # the findings have the others
            alike = not cell.page or (
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
            _counted(VERDICTS[verdict], group.values()),
            sorted(group.values(), key=lambda remark: order[remark.cells[0].result.provider]),
        )
        for verdict, group in remarks.items()
        if group
    ]


def _counted(words: VerdictWords, remarks: Iterable[Remark]) -> str:
    """Return the number of cells with their verdict: ``838 not run``, or ``838 not run (778 on the
    documented wire, 60 in variants)``.
    """
    blocks = Counter(cell.result.section for remark in remarks for cell in remark.cells)
    counted = words.counted(blocks.total())
    if blocks.keys() <= {"documented"}:
        return counted
    parts = (f"{blocks[name]:,} {noun}" for name, noun in _BLOCKS.items() if blocks[name])
    return f"{counted} ({', '.join(parts)})"
