"""The cases of a provider's page by feature. Consecutive cases whose streams have the same origin,
date and end are a batch, which shows these once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from harness.judging.rows import VERDICTS, Row, Verdict

from .document import Named, shared_command
from .layout import PlacedResult
from .text import slug, web_link


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
