"""The cases of a provider's page by feature, without repetitions.

Most cells of a page passed, so a page has common parts once. A batch is consecutive cases of one
spec file whose streams have the same origin and date: file, origin and date are above the batch.
The page has the command once, with placeholders; a cell with another command has its own. The
page's script computes a cell's anchor from its command. The HTML has an anchor only if the computed
anchor would be wrong.
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

from .document import Named
from .layout import Cell, block_key
from .tally import column
from .text import slug, web_link

ANY: Final = "CASE[ADAPTER]"
"""The placeholder for case and adapter in the command of a batch."""
FILE: Final = "FILE"
"""The placeholder for a spec file, without specs folder and ``.yaml``, in the command of a page."""
MAX_NAME: Final = 200

_COMMAND: Final = re.compile(r"([^']*'[^']*::)([^\[\]:']+)\[([^\]']*)\]'")
_PATH: Final = re.compile(r"([^']*'[^/']+/)([^']*)(\.yaml::" + re.escape(ANY) + "')")


@dataclass(frozen=True, slots=True)
class Block:
    """The cells of one case. ``facts`` is the first result; it has everything that all of them have
    in common.

    ``name`` replaces CASE in the command of the batch, or is "" if that has no CASE. ``anchor`` is
    "" if it follows from the command. ``also`` are the indexes of the sections of its other
    features.
    """

    facts: CaseResult
    cells: list[Cell]
    name: str
    anchor: str
    also: list[int]

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
    def shown(self) -> list[Cell]:
        """The other cells, each of which is shown with its anchor."""
        return [cell for cell in self.cells if not is_quiet(cell)]


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive cases with the same command, except for CASE and ADAPTER, and the same origin.

    ``as_before`` is true if the previous batch has the same origin, so that it is shown once.
    """

    command: str
    facts: Cell
    blocks: list[Block]
    as_before: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A feature with the cases whose first feature it is."""

    feature: Named | None
    anchor: str
    batches: list[Batch]

    @property
    def blocks(self) -> list[Block]:
        """Its cases in order."""
        return [block for batch in self.batches for block in batch.blocks]


def sections_of(cells: Sequence[Cell], features: Sequence[Named]) -> list[Section]:
    """The cases of a provider by their first feature, in the order of the features file. Cases
    without a feature come last.
    """
    blocks: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        blocks.setdefault(block_key(cell.result), []).append(cell)
    named = {feature for block in blocks.values() for feature in block[0].result.features}
    listed = [feature for feature in features if feature.name in named]
    places = {feature.name: place for place, feature in enumerate(listed)}
    own: dict[str, list[tuple[str, Block]]] = {}
    for block in blocks.values():
        first, *others = dict.fromkeys(block[0].result.features) or [""]
        own.setdefault(first, []).append(_block(block, [places[other] for other in others]))
    sections = [
        Section(feature, feature_anchor(feature.name), _batches(own.get(feature.name, [])))
        for feature in listed
    ]
    return [*sections, Section(None, "feature:none", _batches(own[""]))] if "" in own else sections


def sources_of(sections: Iterable[Section]) -> dict[str, int]:
    """All addresses of documentation on a page, of features and of cases, numbered from 1."""
    addresses: dict[str, int] = {}
    for section in sections:
        links = [section.feature.link] if section.feature else []
        for address in (*links, *(block.facts.source for block in section.blocks)):
            if web_link(address):
                addresses.setdefault(address, len(addresses) + 1)
    return addresses


def form_of(sections: Iterable[Section]) -> str:
    """The most frequent command of the batches of a page, with `FILE`, or "" if there is none."""
    forms = Counter(
        _split_file(batch.command)[0] for section in sections for batch in section.batches
    )
    return min((form for form in forms if form), key=lambda form: (-forms[form], form), default="")


def file_of(batch: Batch, form: str) -> str:
    """The value of `FILE` that makes the command of the page the one of the batch, or ""."""
    own_form, file = _split_file(batch.command)
    return file if own_form == form else ""


def feature_anchor(feature: str) -> str:
    """The anchor of a feature. Its colon makes it different from anchors of cases."""
    return f"feature:{slug(feature)}"


def _block(cells: Sequence[Cell], also: list[int]) -> tuple[str, Block]:
    """A block, and the command of its batch."""
    command, name = _command([cell.result for cell in cells])
    case = cells[0].case
    follows = case == _follows(command, name, cells[0].result.provider)
    block = Block(cells[0].result, list(cells), name, "" if follows else case, also)
    block.cells.sort(key=_order)
    return command, block


def _order(cell: Cell) -> tuple[Any, ...]:
    """Quiet cells first, passed before others; cells that are not quiet keep their order."""
    quiet = is_quiet(cell)
    return (
        (not quiet, -VERDICTS[cell.result.verdict].order, cell.result.reason) if quiet else (True,)
    )


def _batches(blocks: Iterable[tuple[str, Block]]) -> list[Batch]:
    batches: list[Batch] = []
    before: tuple[object, ...] = ()
    for (line, command, _), group in groupby(blocks, key=_batch_key):
        members = [block for _, block in group]
        as_before = bool(command) and line == before
        batches.append(Batch(command, members[0].cells[0], members, as_before))
        before = line
    return batches


def _batch_key(entry: tuple[str, Block]) -> tuple[tuple[object, ...], str, str]:
    """The common part of a batch: its line about the origin, its command, and for a block without
    a name its anchor, so that it is a batch of its own.
    """
    command, block = entry
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
    """The command of a block with `ANY`, and the name of its case; if the commands of its cells do
    not have one form, all of them as lines and "".
    """
    lines = "\n".join(dict.fromkeys(filter(None, (result.command for result in results))))
    forms = set()
    for result in results:
        match = _COMMAND.fullmatch(result.command)
        if (
            match is None
            or match[3] != column(result)
            or len(match[2]) > MAX_NAME
            or printable_lines(match[2]) != match[2]
        ):
            return lines, ""
        forms.add((f"{match[1]}{ANY}'", match[2]))
    return forms.pop() if len(forms) == 1 else (lines, "")


def _split_file(command: str) -> tuple[str, str]:
    """Split a command: itself with `FILE` in place of the spec, and the path of that spec.

    The path has neither its first folder nor ``.yaml``. A command of another form gives two "".
    """
    match = _PATH.fullmatch(command)
    if match is None or len(command) > 2 * MAX_NAME or printable_lines(command) != command:
        return "", ""
    return match[1] + FILE + match[3], match[2]


def _follows(command: str, name: str, provider: str) -> str:
    """The anchor that the script of the page makes from a command: the spec file without specs
    folder and provider, and the case.
    """
    match = _PATH.fullmatch(printable_lines(command)) if name else None
    return slug(f"{match[2].removeprefix(f'{provider}/')}.{name}") if match else ""


def is_quiet(cell: Cell) -> bool:
    """Whether a list can show the cell by its name alone: it has only a verdict and a reason, and
    its anchor follows from its name.
    """
    result = cell.result
    says_more = (
        result.findings
        or result.link
        or result.first_layer
        or (result.reason and result.verdict == "passed")
    )
    return not says_more and cell.anchor == f"{cell.case}.{cell.name}"
