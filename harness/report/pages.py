"""What stands on each page, as plain values for its template: nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results import VERDICTS, CaseResult, Verdict, VerdictWords
from .counting import ORIGINS, Tally, by_feature, by_pair, column, headline, rests_on, streams, tally, worst
from .placing import Cell, Feature, block_key, page_name
from .text import slug


@dataclass(frozen=True, slots=True)
class Mark:
    """A feature in one column: the verdict that deserves a look first, and how many of its cells have it."""

    name: Verdict
    number: int
    cells: int


@dataclass(frozen=True, slots=True)
class Block:
    """One requirement on a provider's page: the first of its results speaks for what all share."""

    facts: CaseResult
    anchor: str
    passed: list[Cell]
    others: list[Cell]
    wire: str
    command: str


@dataclass(frozen=True, slots=True)
class Section:
    """One feature on a provider's page: the cases that stand here, and those that stand under another feature and belong here too."""

    feature: Feature | None
    anchor: str
    blocks: list[Block]
    elsewhere: list[Block]


@dataclass(frozen=True, slots=True)
class Remark:
    """One line of what is not passed: cells of one provider that have verdict, requirement and reason in common."""

    provider: str
    cells: list[Cell]


def index_page(
    cells: Sequence[Cell],
    features: Sequence[Feature],
    providers: Mapping[str, str],
    columns: Mapping[str, str],
    dialects: Mapping[str, str],
    losses: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The values of ``index.html``."""
    results = [cell.result for cell in cells]
    pairs = by_pair(results)
    tallies = {pair: tally(found) for pair, found in pairs.items()}
    return {
        "sentences": headline(results, providers, columns),
        "rests": rests_on(results),
        "whole": tally(results),
        "columns": columns,
        "rows": [(title, page_name(name), [tallies.get((name, one)) for one in columns]) for name, title in providers.items()],
        "matrices": [_matrix(name, title, results, features, columns) for name, title in providers.items()],
        "remarks": _remarks(cells, providers),
        "streams": streams(results),
        "origins": ORIGINS,
        "losses": [(dialects[name], slug(name), losses[name]) for name in dialects if name in losses],
    }


def provider_page(name: str, title: str, cells: Sequence[Cell], features: Sequence[Feature], columns: Mapping[str, str]) -> dict[str, Any]:
    """The values of one provider's page; ``cells`` are this provider's."""
    results = [cell.result for cell in cells]
    sections = _sections(cells, features)
    groups: dict[str, list[Section]] = {}
    for section in sections:
        groups.setdefault(group_title(section.feature), []).append(section)
    pairs = {one: tally(found) for (_, one), found in by_pair(results).items()}
    return {
        "title": title,
        "whole": tally(results),
        "rests": rests_on(results),
        "columns": [(columns[one], pairs[one]) for one in columns if one in pairs],
        "groups": [(group, f"group:{slug(group.lower())}", found) for group, found in groups.items()],
    }


def group_title(feature: Feature | None) -> str:
    """``tool-calls.parallel`` belongs to ``Tool calls``."""
    if feature is None:
        return "Other"
    words = feature.id.partition(".")[0].replace("-", " ")
    return words[:1].upper() + words[1:]


def feature_anchor(feature: str) -> str:
    """The colon keeps features apart from cases, whose anchors have none."""
    return f"feature:{slug(feature)}"


def _matrix(
    name: str, title: str, results: Sequence[CaseResult], features: Sequence[Feature], columns: Mapping[str, str]
) -> tuple[str, str, Tally, list[str], list[tuple[str, list[tuple[Feature, str, list[Mark | None]]]]], list[str]]:
    """One provider's features × columns: title, page, tally, column titles, rows by group, and the features that no case names."""
    mine = [result for result in results if result.provider == name]
    found = by_feature(mine)
    used = [one for one in columns if any(column(result) == one for result in mine)]
    groups: dict[str, list[tuple[Feature, str, list[Mark | None]]]] = {}
    for feature in features:
        if feature.id in found:
            marks = [_mark([result for result in found[feature.id] if column(result) == one]) for one in used]
            groups.setdefault(group_title(feature), []).append((feature, feature_anchor(feature.id), marks))
    missing = [feature.title for feature in features if feature.id not in found]
    return title, page_name(name), tally(mine), [columns[one] for one in used], list(groups.items()), missing


def _mark(results: Sequence[CaseResult]) -> Mark | None:
    if not results:
        return None
    verdict = worst(results)
    return Mark(verdict, sum(result.verdict == verdict for result in results), len(results))


def _remarks(cells: Sequence[Cell], providers: Mapping[str, str]) -> list[tuple[Verdict, VerdictWords, int, list[Remark]]]:
    """Everything that isn't passed, by verdict."""
    remarks: dict[Verdict, dict[tuple[str, ...], Remark]] = {verdict: {} for verdict in VERDICTS if verdict != "passed"}
    for cell in cells:
        result = cell.result
        if result.verdict != "passed":
            key = (result.provider, result.requirement, cell.gist, result.link)
            remark = remarks[result.verdict].setdefault(key, Remark(providers[result.provider], []))
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


def _sections(cells: Sequence[Cell], features: Sequence[Feature]) -> list[Section]:
    """A provider's cases under their first feature, features in the order of their file; those without one come last."""
    blocks: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        blocks.setdefault(block_key(cell.result), []).append(cell)
    own: dict[str, list[Block]] = {}
    elsewhere: dict[str, list[Block]] = {}
    for found in blocks.values():
        block = _block(found)
        first, *others = dict.fromkeys(block.facts.features) or [""]
        own.setdefault(first, []).append(block)
        for other in others:
            elsewhere.setdefault(other, []).append(block)
    sections = [
        Section(feature, feature_anchor(feature.id), own.get(feature.id, []), elsewhere.get(feature.id, []))
        for feature in features
        if feature.id in own or feature.id in elsewhere
    ]
    return [*sections, Section(None, "feature:none", own[""], [])] if "" in own else sections


def _block(cells: list[Cell]) -> Block:
    facts = cells[0].result
    passed = [cell for cell in cells if cell.result.verdict == "passed"]
    others = [cell for cell in cells if cell.result.verdict != "passed"]
    wire = (passed or others)[0].result.wire
    return Block(facts, cells[0].case, passed, others, wire, _command([cell.result for cell in passed]))


def _command(results: Sequence[CaseResult]) -> str:
    """The commands of a block's passed cells, as one with ``[DIALECT]`` where that is all they differ in: most of a page would be these."""
    commands = list(dict.fromkeys(result.command for result in results if result.command))
    spelled = {result.command.replace(f"[{column(result)}]", "[DIALECT]") for result in results}
    return spelled.pop() if len(spelled) == 1 and len(commands) > 1 else "\n".join(commands)
