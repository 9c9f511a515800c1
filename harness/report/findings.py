"""The tables of adapters × aspects, and the findings behind their numbers.

Both are shown for every cell that was judged by facts: in a run of pytest, and in a run of
``harness judge``. The page of a sweep has the same tables and lists, made from counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final

from harness.adapters.adapter import UNKNOWN
from harness.facts import Finding
from harness.judging.explain import judge_command, sides_of
from harness.judging.rows import VERDICTS, LayerView, Row
from harness.stream.printable import plural

from .aspect_counts import (
    BLOCK_MEANINGS,
    BLOCKS,
    FIRST_TURNS,
    NEEDLESS_ERROR,
    Findings,
    Loss,
    Square,
    by_aspect,
    hint_of_all,
    hints_of,
    is_of_error,
    number_of,
    red_aspects,
    square,
)
from .causes import Cause
from .document import Judged
from .layout import PlacedResult
from .tally import tally
from .text import slug

MOST_CELLS: Final = 400
"""Further cells of one finding that are named."""
MOST_FINDINGS: Final = 200
"""Findings of one aspect that are shown."""
FEW_FINDINGS: Final = 10
"""Up to so many findings are shown open."""
MOST_WITH_EVIDENCE: Final = 3
"""Cells of one finding whose evidence is shown. They have the same reason."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table: its title with a note, the counts of its cells in words, and a square for
    each aspect.
    """

    title: str
    squares: Sequence[Square | None]
    note: str = ""
    words: Sequence[str] = ()
    anchor: str = ""
    """The place of its errors, "" if there are none."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows × aspects."""

    name: str
    title: str
    meaning: str
    head: str
    """The title of the first column."""
    aspects: Sequence[str]
    rows: Sequence[TableRow]
    never_red: bool = False
    """Whether a lost aspect is no fault."""


@dataclass(frozen=True, slots=True)
class FindingExample:
    """One cell with a finding: its sentence if the cells of the finding have different ones, its
    place, and a command that shows it.
    """

    noun: str
    place: str
    command: str
    sentence: str = ""
    words: str = ""
    link: str = ""
    """Its place on the page of its provider."""
    requests: str = ""
    sides: Sequence[str] = ()
    """What a question asked for, and what was sent."""
    log: str = ""
    views: Sequence[LayerView] = ()


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """One finding in some cells."""

    kind: str
    """The class of its mark."""
    word: str
    number: str
    sentence: str
    examples: Sequence[FindingExample]
    also: Sequence[str] = ()
    """The names of further cells."""
    more: int = 0
    """The number of further cells that are not named."""
    remedy: str = ""
    """What to change in the adapter or in the shim."""


@dataclass(frozen=True, slots=True)
class AspectSection:
    """The findings of one aspect."""

    aspect: str
    anchor: str
    entries: Sequence[FindingEntry]
    number: int
    of_error: int = 0
    """The number of cells in which the aspect is missing because of a needless error."""
    error_anchor: str = ""
    """The anchor of the findings of that error."""
    hint: str = ""
    """How to declare the loss of the aspect."""


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one adapter in one block, or of one kind in a sweep."""

    title: str
    anchor: str
    note: str = ""
    meaning: str = ""
    folder: str = ""
    entries: Sequence[FindingEntry] = ()
    """Those that belong to no aspect."""
    sections: Sequence[AspectSection] = ()
    """Those of each aspect."""
    unused_losses: Sequence[str] = ()
    fixed: Sequence[str] = ()
    """A sentence for each known failure that does not fail."""
    hint: str = ""
    """How to declare several losses at once."""
    more: int = 0
    """The number of entries that are not shown."""

    @property
    def is_short(self) -> bool:
        """Whether all findings are shown open."""
        return sum(section.number for section in self.sections) <= FEW_FINDINGS


@dataclass(frozen=True)
class FactsCells:
    """The cells of one adapter in one block."""

    name: str
    title: str
    block: str
    judged: Judged
    cells: list[PlacedResult] = field(default_factory=list)

    @property
    def results(self) -> list[Row]:
        """The result of each cell."""
        return [cell.result for cell in self.cells]

    @cached_property
    def findings(self) -> Findings:
        """The findings of these cells."""
        return Findings(self.results)

    @property
    def streams(self) -> list[PlacedResult]:
        """The first cell of each answer. Several cases may judge one adapter on the same answer."""
        return list({cell.result.place: cell for cell in reversed(self.cells)}.values())[::-1]

    @property
    def run(self) -> list[PlacedResult]:
        """The streams without those of which nothing was asked, such as those of another wire."""
        return [
            cell
            for cell in self.streams
            if cell.result.verdict != "not-run" or {*cell.result.aspects.values()} - {"not_asked"}
        ]

    @property
    def never_red(self) -> bool:
        """Whether a loss in these cells is no fault."""
        return "variant" in self.block

    @property
    def note(self) -> str:
        """The version of the adapter and the day on which it was judged."""
        return " · ".join(filter(None, (self.version, self.judged.day)))

    @property
    def version(self) -> str:
        """The version of the adapter, in words if it is not known."""
        return "version unknown" if self.judged.version == UNKNOWN else self.judged.version

    def anchor(self, *names: str) -> str:
        """Return the anchor of the findings, or of those of an aspect."""
        return ".".join(slug(name) for name in (self.name, self.block, *names))


def cells_by_facts(
    cells: Iterable[PlacedResult], columns: Mapping[str, str], judged: Iterable[Judged]
) -> list[FactsCells]:
    """Return the cells that were judged by facts, by adapter and block."""
    about = {adapter.name: adapter for adapter in judged}
    groups = {
        (name, block): FactsCells(name, title, block, about.get(name, Judged(name)))
        for name, title in columns.items()
        for block in BLOCKS
    }
    for cell in cells:
        if _is_by_facts(cell.result):
            groups[cell.name, cell.result.section].cells.append(cell)
    return [group for group in groups.values() if group.cells]


def _is_by_facts(result: Row) -> bool:
    """Return whether facts of the cell were compared. A case without a comparison does not count,
    unless its answer is a variant.
    """
    if not (result.aspects or result.block):
        return False
    compared = VERDICTS[result.verdict].compared or result.verdict == "error"
    return compared or not result.case or result.block == "variant"


def tables(groups: Sequence[FactsCells]) -> list[Table]:
    """Return the table of each block."""
    return [
        _table(block, own)
        for block in BLOCKS
        if (own := [group for group in groups if group.block == block])
    ]


def _table(block: str, groups: Sequence[FactsCells]) -> Table:
    aspects = list(by_aspect(cell.result for group in groups for cell in group.run))
    rows = [_row(group, aspects) for group in groups]
    never_red = groups[0].never_red
    return Table(block, BLOCKS[block], BLOCK_MEANINGS[block], "Adapter", aspects, rows, never_red)


def _row(group: FactsCells, aspects: Sequence[str]) -> TableRow:
    streams = [cell.result for cell in group.streams]
    counts = by_aspect(cell.result for cell in group.run)
    listed = {loss.aspect for loss in group.findings.losses}
    squares = [
        square(counts[aspect], _target(group, aspect, listed)) if aspect in counts else None
        for aspect in aspects
    ]
    of_cases = any(result.case for result in group.results) and group.block != "questions"
    number = plural(len(streams), "stream") if of_cases else tally(streams).words
    words = [*number.split(", "), plural(len(group.findings), "finding")]
    return TableRow(
        group.title, squares, group.note, words, group.anchor() if group.findings.errors else ""
    )


def _target(group: FactsCells, aspect: str, listed: Iterable[str]) -> str:
    """Return the target of a link to the red cells of an aspect: its findings. Payloads of our
    event models have no findings by facts, so the first of these cells.
    """
    caused = group.findings.caused
    red = [cell for cell in group.cells if red_aspects({cell.result.aspects.get(aspect, ""): 1})]
    if any(cell.result.place in caused for cell in red) and aspect not in listed:
        return f"#{group.anchor()}"
    if aspect in listed or any(is_of_error(cell.result, aspect) for cell in red):
        return f"#{group.anchor(aspect)}"
    return red[0].page_anchor if red else ""


def finding_groups(groups: Iterable[FactsCells]) -> list[Group]:
    """Return the findings of each adapter in each block, without those that have none."""
    groups = [*groups]
    first = {group.name: group for group in reversed(groups)}
    listed = (_group(group, is_first=group is first[group.name]) for group in groups)
    return [
        group
        for group in listed
        if group.entries or group.sections or group.unused_losses or group.fixed
    ]


def _group(group: FactsCells, *, is_first: bool) -> Group:
    """Return the findings of a group. The first one of an adapter names its unused losses."""
    losses = group.findings.losses
    cells = {id(cell.result): cell for cell in group.cells}
    aspects = by_aspect(group.results)
    ordered = dict.fromkeys((*(loss.aspect for loss in losses), *aspects))
    hints = hints_of(group.results) if group.block in FIRST_TURNS else {}
    sections = [
        _section(
            group,
            aspect,
            [loss for loss in losses if loss.aspect == aspect],
            cells,
            hints.get(aspect, ""),
        )
        for aspect in ordered
        if red_aspects(aspects[aspect])
    ]
    judged = group.judged
    return Group(
        f"{group.title}: {BLOCKS[group.block].lower()}",
        group.anchor(),
        group.version,
        folder=judged.folder,
        entries=[
            *(_cause(group, cause, cells) for cause in group.findings.causes),
            *(_error(group, alike, cells) for alike in group.findings.errors),
        ],
        sections=[section for section in sections if section.entries or section.of_error],
        unused_losses=judged.unused_losses if is_first else (),
        fixed=judged.fixed if is_first else (),
        hint=hint_of_all(hints),
    )


def _section(
    group: FactsCells,
    aspect: str,
    losses: Sequence[Loss],
    cells: Mapping[int, PlacedResult],
    hint: str,
) -> AspectSection:
    kind = "variant" if group.never_red else "failed"
    entries = [
        _entry(
            kind,
            loss.verdict.replace("_", " "),
            loss.note,
            loss.cells,
            list(_examples(group, loss.cells, loss.findings, cells)),
        )
        for loss in losses[:MOST_FINDINGS]
    ]
    of_error = sum(is_of_error(cell.result, aspect) for cell in group.streams)
    return AspectSection(
        aspect,
        group.anchor(aspect),
        entries,
        len(losses),
        of_error,
        group.anchor(NEEDLESS_ERROR),
        hint,
    )


def _cause(group: FactsCells, cause: Cause, cells: Mapping[int, PlacedResult]) -> FindingEntry:
    findings = [result.red_findings[0] for result in cause.cells]
    examples = list(_examples(group, cause.cells[:1], findings, cells))
    kind = "variant" if group.never_red else "failed"
    entry = _entry(kind, "lost", cause.sentence, cause.cells, examples)
    return replace(entry, remedy=cause.remedy)


def _error(
    group: FactsCells, alike: Sequence[Row], cells: Mapping[int, PlacedResult]
) -> FindingEntry:
    findings = [result.findings[0] if result.findings else None for result in alike]
    examples = list(_examples(group, alike[:1], findings, cells))
    return _entry("error", "not judged", alike[0].reason, alike, examples)


def _entry(
    kind: str, word: str, sentence: str, alike: Sequence[Row], examples: Sequence[FindingExample]
) -> FindingEntry:
    number = number_of(alike)
    also = [
        result.label if result.turn == "question" else result.place
        for result in alike[len(examples) :]
    ]
    more = len(also) - MOST_CELLS
    return FindingEntry(kind, word, number, sentence, examples, also[:MOST_CELLS], max(more, 0))


def _examples(
    group: FactsCells,
    alike: Sequence[Row],
    findings: Sequence[Finding | None],
    cells: Mapping[int, PlacedResult],
) -> Iterator[FindingExample]:
    """Yield the first cells of a finding with their evidence."""
    first = findings[0].note if findings[0] else ""
    for result, finding in islice(zip(alike, findings, strict=False), MOST_WITH_EVIDENCE):
        sentence = finding.note if finding else ""
        excerpts = result.evidence.excerpts if result.evidence else {}
        variants = f": {', '.join(result.variants)}" if result.variants else ""
        is_question = result.turn == "question"
        words = f", exchange {result.exchange}{', unary' if result.unary else ''}{variants}"
        yield FindingExample(
            "Question" if is_question else "Cassette",
            result.label if is_question else result.cassette,
            judge_command(group.judged.argument or group.name, result, finding),
            "" if sentence == first else sentence,
            f". {result.requirement.removesuffix('.')}" if is_question else words,
            cells[id(result)].page_anchor,
            result.requests,
            sides_of(finding) if is_question and finding else (),
            result.log,
            excerpts.get(finding.subject, ()) if finding else (),
        )
