"""The cases of a provider's page, feature by feature, with what many of them share written once.

Most of a page is that something passed. Cases of one spec file whose streams are alike in origin
and date are a batch: its file and that line stand once, above them, and the command that runs a
case of a file once on the page; a cell that differs has its own. Anchors are made by the page's
script where they follow from the command, as here, and written where not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from harness.conformance.results import VERDICTS, CaseResult, Verdict
from harness.stream.printable import printable_lines

from .layout import Cell, Feature, block_key
from .tally import column
from .text import slug, web_link

ANY: Final = "CASE[ADAPTER]"
"""What stands in a batch's command for the names of case and adapter."""
FILE: Final = "FILE"
"""What stands in a page's command for the name of a spec file, without its folder of specs and
``.yaml``.
"""
MAX_NAME: Final = 200

_COMMAND: Final = re.compile(r"([^']*'[^']*::)([^\[\]:']+)\[([^\]']*)\]'")
_PATH: Final = re.compile(r"([^']*'[^/']+/)([^']*)(\.yaml::" + re.escape(ANY) + "')")


@dataclass(frozen=True, slots=True)
class Block:
    """One requirement: the first of its results speaks for what all share.

    ``name`` stands for CASE in the batch's command; empty where that is no such command. ``anchor``
    is empty where it follows from the command. ``also`` are the places, among the sections of the
    page, of the features that it names after its first.
    """

    facts: CaseResult
    cells: list[Cell]
    name: str
    anchor: str
    also: list[int]

    @property
    def quiet(self) -> list[tuple[Verdict, str, list[str]]]:
        """Verdict, reason and names of the cells of which nothing else is to be said: they come
        first, those that passed before all.
        """
        groups = groupby(
            (cell for cell in self.cells if is_quiet(cell)),
            key=lambda cell: (cell.result.verdict, cell.result.reason),
        )
        return [
            (verdict, reason, [cell.name for cell in cells]) for (verdict, reason), cells in groups
        ]

    @property
    def shown(self) -> list[Cell]:
        """The other cells: each is written out, with its anchor."""
        return [cell for cell in self.cells if not is_quiet(cell)]


@dataclass(frozen=True, slots=True)
class Batch:
    """Requirements in a row that have in common their command, but for CASE and ADAPTER, and where
    their streams are from.

    ``as_before``: the streams are from where those of the batch before it are, so that the line
    above that one speaks for both.
    """

    command: str
    facts: Cell
    blocks: list[Block]
    as_before: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A feature: the cases whose first feature it is; those that name it further on say so
    (``also``).
    """

    feature: Feature | None
    anchor: str
    batches: list[Batch]

    @property
    def blocks(self) -> list[Block]:
        """Its requirements in their order."""
        return [block for batch in self.batches for block in batch.blocks]


def sections_of(cells: Sequence[Cell], features: Sequence[Feature]) -> list[Section]:
    """A provider's cases under their first feature, features in the order of their file; those
    without one come last.
    """
    blocks: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        blocks.setdefault(block_key(cell.result), []).append(cell)
    named = {feature for found in blocks.values() for feature in found[0].result.features}
    listed = [feature for feature in features if feature.id in named]
    places = {feature.id: place for place, feature in enumerate(listed)}
    own: dict[str, list[tuple[str, Block]]] = {}
    for found in blocks.values():
        first, *others = dict.fromkeys(found[0].result.features) or [""]
        own.setdefault(first, []).append(_block(found, [places[one] for one in others]))
    sections = [
        Section(one, feature_anchor(one.id), _batches(own.get(one.id, []))) for one in listed
    ]
    return [*sections, Section(None, "feature:none", _batches(own[""]))] if "" in own else sections


def sources_of(sections: Iterable[Section]) -> dict[str, int]:
    """Every address of documentation on a page, numbered: of the features, and of the cases that
    have another.
    """
    addresses: dict[str, int] = {}
    for section in sections:
        links = [section.feature.link] if section.feature else []
        for address in (*links, *(block.facts.source for block in section.blocks)):
            if web_link(address):
                addresses.setdefault(address, len(addresses) + 1)
    return addresses


def form_of(sections: Iterable[Section]) -> str:
    """The command that most batches of a page have, with `FILE` where they differ; empty where none
    has one of that form.
    """
    forms = Counter(_filed(batch.command)[0] for section in sections for batch in section.batches)
    return min((form for form in forms if form), key=lambda form: (-forms[form], form), default="")


def file_of(batch: Batch, form: str) -> str:
    """What stands for `FILE` in the page's command to make it that of the batch; empty where
    nothing does.
    """
    own, file = _filed(batch.command)
    return file if own == form else ""


def feature_anchor(feature: str) -> str:
    """The colon keeps features apart from cases, whose anchors have none."""
    return f"feature:{slug(feature)}"


def _block(cells: Sequence[Cell], also: list[int]) -> tuple[str, Block]:
    """A requirement, and the command that its batch shall have."""
    command, name = _command([cell.result for cell in cells])
    case = cells[0].case
    follows = case == _follows(command, name, cells[0].result.provider)
    block = Block(cells[0].result, list(cells), name, "" if follows else case, also)
    block.cells.sort(key=_order)
    return command, block


def _order(cell: Cell) -> tuple[Any, ...]:
    """Quiet cells first, those that passed before all; others as they came."""
    quiet = is_quiet(cell)
    return (
        (not quiet, -VERDICTS[cell.result.verdict].order, cell.result.reason) if quiet else (True,)
    )


def _batches(blocks: Iterable[tuple[str, Block]]) -> list[Batch]:
    batches: list[Batch] = []
    before: tuple[object, ...] = ()
    for (line, command, _), found in groupby(blocks, key=_alike):
        several = [block for _, block in found]
        batches.append(
            Batch(command, several[0].cells[0], several, bool(command) and line == before)
        )
        before = line
    return batches


def _alike(one: tuple[str, Block]) -> tuple[tuple[object, ...], str, str]:
    """What a batch has in common: all that its line says; its command; and one that is not like
    others is by itself.
    """
    command, block = one
    cell = block.cells[0]
    result = cell.result
    place = ("", 0) if result.spec in command else (result.spec, result.line)
    line = (
        cell.marks,
        cell.day,
        result.end,
        bool(result.cassette),
        result.origin is None,
        result.level,
        place,
    )
    return line, command, "" if block.name else cell.case


def _command(results: Sequence[CaseResult]) -> tuple[str, str]:
    """The commands of a block's cells as one, with `ANY` where they differ, and what it says for
    CASE; else all of them and nothing.
    """
    spelled = set()
    for result in results:
        found = _COMMAND.fullmatch(result.command)
        if (
            found is None
            or found[3] != column(result)
            or len(found[2]) > MAX_NAME
            or printable_lines(found[2]) != found[2]
        ):
            return "\n".join(
                dict.fromkeys(result.command for result in results if result.command)
            ), ""
        spelled.add((f"{found[1]}{ANY}'", found[2]))
    return (
        spelled.pop()
        if len(spelled) == 1
        else ("\n".join(dict.fromkeys(result.command for result in results)), "")
    )


def _filed(command: str) -> tuple[str, str]:
    """A batch's command with `FILE` in it, and what that stands for; empty where it has not that
    form.
    """
    found = _PATH.fullmatch(command)
    if found is None or len(command) > 2 * MAX_NAME or printable_lines(command) != command:
        return "", ""
    return found[1] + FILE + found[3], found[2]


def _follows(command: str, name: str, provider: str) -> str:
    """The anchor that the page's script makes of a command: file without its folder of specs and
    its provider, and case.
    """
    found = _PATH.fullmatch(printable_lines(command)) if name else None
    return slug(f"{found[2].removeprefix(f'{provider}/')}.{name}") if found else ""


def is_quiet(cell: Cell) -> bool:
    """It has no more to say than its verdict and why, and an anchor that follows from its name, so
    that the name can stand in a list.
    """
    result = cell.result
    says_more = (
        result.findings
        or result.link
        or result.first_layer
        or (result.reason and result.verdict == "passed")
    )
    return not says_more and cell.anchor == f"{cell.case}.{cell.name}"
