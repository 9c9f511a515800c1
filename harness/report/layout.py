"""The place of every row in a report: its page and its anchor, and the cases of a provider's page
by feature. Consecutive cases whose streams have the same origin, date and end are a batch, which
shows these once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from harness.judging.explain import EXACT, judge_command
from harness.judging.rows import VERDICTS, CaseRow, Row, Verdict, VerdictWords, sort_key
from harness.stream.events import INTERRUPTED

from .document import Named, Run, shared_command
from .tally import column
from .text import slug, web_link

UNKNOWN_PROVIDER: Final = {"": "Provider not known"}
"""The page of results whose cassette cannot be read."""
LAYERS: Final = {"events": "events", "frames": "frames"}
"""Columns for the expectations of a layer, not of a dialect."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


class ReportError(ValueError):
    """The results use a name that the header does not list."""


@dataclass(frozen=True, slots=True)
class PlacedResult:
    """A result at its place. A result without a case, or of a question, is on no page."""

    result: Row
    page: str
    """The page of its case."""
    case: str
    """The anchor of its case on ``page``."""
    anchor: str
    """Its own anchor."""
    title: str
    """The title of its column."""

    @property
    def verdict(self) -> VerdictWords:
        return VERDICTS[self.result.verdict]

    @property
    def marks(self) -> tuple[str, ...]:
        """The kind of origin of its stream, and its end if it was interrupted."""
        kind = self.result.origin.kind if self.result.origin else "origin not known"
        return (kind, self.result.end) if self.result.end in INTERRUPTED else (kind,)

    @property
    def day(self) -> str:
        """The day on which its stream was made, ``YYYY-MM-DD``, or ""."""
        origin = self.result.origin
        return origin.date[:10] if origin and origin.date else ""

    @property
    def name(self) -> str:
        """Its adapter or layer, which its command has in brackets."""
        return column(self.result)

    @property
    def page_anchor(self) -> str:
        """The target of a link to the cell, "" if it is on no page."""
        return f"{self.page}#{self.anchor}" if self.page else ""

    @property
    def label(self) -> str:
        """The name of its case or question, else of its exchange."""
        return self.result.label

    @property
    def judge_command(self) -> str:
        """The command of ``harness judge`` that shows a red finding by facts; "" for others."""
        result = self.result
        red = [finding for finding in result.red_findings if finding.subject in result.aspects]
        return judge_command(result.adapter, result, red[0]) if red else ""

    @property
    def gist(self) -> str:
        """The reason of its verdict in one line, else its first finding."""
        result = self.result
        if result.reason or not result.findings:
            return result.reason
        first = result.findings[0]
        if first.reason in EXACT or first.reason == "law":
            return f"{first.subject}: {first.note or first.reason}"
        return first.sentence


def place(
    results: Sequence[Row], providers: Mapping[str, str], columns: Mapping[str, str]
) -> list[PlacedResult]:
    """Return all results in order, each at its place. Anchors are made from names, so that a link
    stays valid from run to run.
    """
    order = {name: index for index, name in enumerate(columns)}

    def in_order(result: Row) -> tuple[object, ...]:
        return (result.spec, result.line, result.case, order[column(result)], sort_key(result))

    used: set[tuple[str, str]] = set()
    blocks: dict[tuple[object, ...], str] = {}
    cells = []
    for result in sorted(results, key=in_order):
        title = columns[column(result)]
        if not isinstance(result, CaseRow):
            cells.append(PlacedResult(result, "", "", "", title))
            continue
        page = page_name(result.provider)
        key = _block_key(result)
        if key not in blocks:
            folder = f"{result.provider}/"
            spec = result.spec.removeprefix(folder).removesuffix(".yaml")
            blocks[key] = _unique(slug(f"{spec}.{result.case}"), page, used)
        anchor = _unique(f"{blocks[key]}.{slug(column(result))}", page, used)
        cells.append(PlacedResult(result, page, blocks[key], anchor, title))
    return cells


def _block_key(result: CaseRow) -> tuple[object, ...]:
    """Return the common part of the cells of one case on a page, which is shown once above them."""
    case = (
        result.provider,
        result.spec,
        result.line,
        result.case,
        result.requirement,
        result.features,
        result.level,
        result.source,
        result.regression_of,
    )
    return (*case, result.cassette, result.exchange, result.origin, result.end)


def group_title(feature: Named | None) -> str:
    """Return the title of a feature's group: ``Tool calls`` for ``tool-calls.parallel``."""
    if feature is None:
        return "Other"
    words = feature.name.partition(".")[0].replace("-", " ")
    return words[:1].upper() + words[1:]


def page_name(provider: str) -> str:
    """Return the file name of the page of a provider."""
    return f"{provider or 'unknown-provider'}.html"


def check(
    results: Sequence[Row],
    features: Collection[str],
    providers: Collection[str],
    columns: Collection[str],
) -> None:
    """Raise `ReportError` for a name that is not listed, or a provider whose name cannot be a file
    name.
    """
    for name in providers:
        if name and (not _NAME.fullmatch(name) or name in ("index", "unknown-provider")):
            raise ReportError(
                f"provider {name!r}: not a name for a page; expected lower-case letters, digits, -"
                " and _, and not index; rename the provider"
            )
    for result in results:
        place = f"{result.spec}:{result.line}: case {result.case!r}"
        for kind, name, known in (
            ("provider", result.provider, providers),
            ("dialect", column(result), columns),
            *(("feature", feature, features) for feature in result.features),
        ):
            if name not in known:
                listed = ", ".join(sorted(filter(None, known))) or "none"
                raise ReportError(
                    f"{place}: unknown {kind} {name!r}; known ones are {listed}; correct the name"
                    " or add it to the list"
                )


def _unique(anchor: str, page: str, used: set[tuple[str, str]]) -> str:
    free, number = anchor, 1
    while (page, free) in used:
        number += 1
        free = f"{anchor}-{number}"
    used.add((page, free))
    return free


@dataclass(frozen=True, slots=True)
class ReportNames:
    """The titles in a run, in the order to show: providers and columns by name, the features, and
    for each adapter its name, its title and its losses.
    """

    providers: Mapping[str, str]
    columns: Mapping[str, str]
    features: Sequence[Named]
    losses: Sequence[tuple[str, str, Mapping[str, str]]]


def placed(run: Run) -> tuple[ReportNames, list[PlacedResult]]:
    """Return the names and the results. Raises `ReportError` for a name that is not listed."""
    header, results = run.header, run.results
    layers = {
        name: title
        for name, title in LAYERS.items()
        if any(column(result) == name for result in results)
    }
    columns = {adapter.name: adapter.title for adapter in header.adapters} | layers
    providers = {provider.name: provider.title for provider in header.providers}
    if any(not result.provider for result in results):
        providers |= UNKNOWN_PROVIDER
    check(results, {feature.name for feature in header.features}, providers, columns)
    losses = [
        (
            adapter.name,
            adapter.title,
            {loss.name: loss.title for loss in header.losses if loss.of == adapter.name},
        )
        for adapter in header.adapters
    ]
    return ReportNames(providers, columns, header.features, losses), place(
        results, providers, columns
    )


@dataclass(frozen=True, slots=True)
class CaseBlock:
    """The cells of one case."""

    facts: Row
    """The first result; it has everything that all of them have in common."""
    cells: list[PlacedResult]
    command: str
    """Runs the cells."""
    also: list[int]
    """The indexes of the sections of its other features."""

    @property
    def quiet(self) -> list[tuple[Verdict, str, list[str]]]:
        """Verdict, reason and names of the cells that have nothing else to show, passed first."""
        groups = groupby(
            (cell for cell in self.cells if is_quiet(cell)),
            key=lambda cell: (cell.result.verdict, cell.result.reason),
        )
        return [
            (verdict, reason, [cell.name for cell in cells]) for (verdict, reason), cells in groups
        ]

    @property
    def shown(self) -> list[PlacedResult]:
        """The other cells, each of which is shown with its anchor."""
        return [cell for cell in self.cells if not is_quiet(cell)]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive cases with the same line about their streams, which ``facts`` has."""

    facts: PlacedResult
    blocks: list[CaseBlock]


@dataclass(frozen=True, slots=True)
class Section:
    """A feature with the cases whose first feature it is."""

    feature: Named | None
    anchor: str
    batches: list[Batch]

    @property
    def blocks(self) -> list[CaseBlock]:
        """Its cases in order."""
        return [block for batch in self.batches for block in batch.blocks]


def sections_of(cells: Sequence[PlacedResult], features: Sequence[Named]) -> list[Section]:
    """Return the cases of a provider by their first feature, in the order of the features file.
    Cases without a feature come last.
    """
    blocks: dict[str, list[PlacedResult]] = {}
    for cell in cells:
        blocks.setdefault(cell.case, []).append(cell)
    named = {feature for block in blocks.values() for feature in block[0].result.features}
    listed = [feature for feature in features if feature.name in named]
    places = {feature.name: place for place, feature in enumerate(listed)}
    own: dict[str, list[CaseBlock]] = {}
    for members in blocks.values():
        facts = members[0].result
        first, *others = dict.fromkeys(facts.features) or [""]
        also = [places[other] for other in others]
        block = CaseBlock(facts, sorted(members, key=_order), _command(members), also)
        own.setdefault(first, []).append(block)
    sections = [
        Section(feature, feature_anchor(feature.name), _batches(own.get(feature.name, [])))
        for feature in listed
    ]
    return [*sections, Section(None, "feature:none", _batches(own[""]))] if "" in own else sections


def sources_of(sections: Iterable[Section]) -> dict[str, int]:
    """Return all addresses of documentation on a page, of features and of cases, numbered from
    1.
    """
    addresses: dict[str, int] = {}
    for section in sections:
        links = [section.feature.link] if section.feature else []
        for address in (*links, *(block.facts.source for block in section.blocks)):
            if web_link(address):
                addresses.setdefault(address, len(addresses) + 1)
    return addresses


def feature_anchor(feature: str) -> str:
    """Return the anchor of a feature. Its colon makes it different from anchors of cases."""
    return f"feature:{slug(feature)}"


def _order(cell: PlacedResult) -> tuple[Any, ...]:
    """Return the sort key of a cell: quiet cells are first, passed before others; cells that are
    not quiet keep their order.
    """
    quiet = is_quiet(cell)
    return (
        (not quiet, -VERDICTS[cell.result.verdict].order, cell.result.reason) if quiet else (True,)
    )


def _command(cells: Iterable[PlacedResult]) -> str:
    """Return the common command of all cells; if there is none, the commands of all, as lines."""
    results = [cell.result for cell in cells]
    shared = {shared_command(result) for result in results}
    if len(shared) == 1 and "" not in shared:
        return shared.pop()
    return "\n".join(dict.fromkeys(filter(None, (result.command for result in results))))


def _batches(blocks: Iterable[CaseBlock]) -> list[Batch]:
    groups = (list(group) for _, group in groupby(blocks, key=_line))
    return [Batch(members[0].cells[0], members) for members in groups]


def _line(block: CaseBlock) -> tuple[object, ...]:
    """Return the line of a case about its stream."""
    cell, result = block.cells[0], block.facts
    place = ("", 0) if result.spec in result.command else (result.spec, result.line)
    unread = bool(result.cassette), result.origin is None
    return (cell.marks, cell.day, result.end, *unread, result.level, place)


def is_quiet(cell: PlacedResult) -> bool:
    """Return whether a list can show the cell by its name alone: it has only a verdict and a
    reason, and its anchor follows from its name.
    """
    result = cell.result
    says_more = (
        result.findings
        or result.link
        or result.first_layer
        or (result.reason and result.verdict == "passed")
    )
    return not says_more and cell.anchor == f"{cell.case}.{cell.name}"
