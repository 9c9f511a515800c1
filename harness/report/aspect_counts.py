"""Counts of cells that were judged by aspects, and groups of equal losses."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, get_args

from harness.facts import ASPECTS, RED
from harness.judging.aspect_results import AdapterResults, AspectCell, without_values
from harness.providers.oracle import SecondTurnAspect
from harness.stream.printable import plural

BLOCKS: Final = {
    "documented": "Documented wire",
    "variant": "Variants",
    "second_turn": "Second turn",
    "second_turn_of_variants": "Second turn of variants",
}
"""The sections of cells, with their titles."""
BLOCK_MEANINGS: Final = {
    "documented": "Answers in the form of the public documentation of the wire.",
    "variant": (
        "Answers in forms that some servers send and the documentation does not describe. An"
        " adapter may refuse them, so a loss here is shown but is never red."
    ),
    "second_turn": (
        "The request that the adapter sends after the answer, with the results of its calls."
    ),
    "second_turn_of_variants": "The request after a variant. A loss is never red.",
}
_NUMBERED: Final = re.compile(r"\b(event|fact) [0-9]+|( is )[a-z]+ .*?(?=; expected )", re.DOTALL)
VERDICTS: Final = ("kept", "lost", "wrong", "raised", "not_carried", "not_asked")
"""The verdicts of an aspect, in the order of columns."""
MEANINGS: Final = {
    "kept": "The adapter gives the same fact as the wire.",
    "lost": "The wire has the fact, and the adapter does not give it.",
    "wrong": "The adapter gives something different from the wire.",
    "raised": "The adapter reports an error, and the wire has none.",
    "not_carried": "The fact is lost, and the loss is declared.",
    "not_asked": "The adapter could not be asked for the fact.",
}
NEEDLESS_ERROR: Final = "needless_error"
_VERDICTS_OF_CELLS: Final = ("passed", "failed", "error", "skipped")


@dataclass(frozen=True, slots=True)
class Loss:
    """Cells of one block in which an aspect has the same verdict for the same reason, apart from
    values and numbers. All answers are streamed, or all are unary.
    """

    aspect: str
    verdict: str
    cells: list[AspectCell] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The verdict, the number of cells, and the reason in the first cell."""
        words = f"{self.aspect} {self.verdict}".replace("_", " ")
        note = self.cells[0].notes.get(self.aspect)
        head = f"{words} in {len(self.cells):,} cells" if len(self.cells) > 1 else words
        return f"{head}: {note}" if note else head


@dataclass(frozen=True, slots=True)
class Square:
    """The cells of one aspect in a table: the number of red cells, of all compared cells, and of
    the others. ``anchor``: the place of the red cells, "" if there are none.
    """

    red: int
    compared: int
    other: int
    anchor: str

    @property
    def kept(self) -> int:
        """The number of cells in which the aspect is kept."""
        return self.compared - self.red

    @property
    def words(self) -> str:
        """The counts in words."""
        if not self.compared:
            return "not carried or not asked"
        return f"{self.kept:,} of {self.compared:,}"


class WithAspects(Protocol):
    """A cell of any kind with verdicts of aspects."""

    @property
    def aspects(self) -> Mapping[str, str]: ...


def by_aspect(cells: Iterable[WithAspects]) -> dict[str, Counter[str]]:
    """The verdicts of each aspect that some cell has, in the order of the aspects."""
    counts: dict[str, Counter[str]] = {}
    for cell in cells:
        for aspect, verdict in cell.aspects.items():
            counts.setdefault(aspect, Counter())[verdict] += 1
    order = dict.fromkeys((*ASPECTS, *get_args(SecondTurnAspect), *counts))
    return {aspect: counts[aspect] for aspect in order if aspect in counts}


def losses_of(cells: Iterable[AspectCell]) -> list[Loss]:
    """The losses, wrong values and exceptions, by aspect; the most frequent reason first. A
    needless error is one loss, not one for each aspect that is missing because of it.
    """
    losses: dict[tuple[str, str, str, bool], Loss] = {}
    for cell in cells:
        for aspect in cell.red:
            if is_of_error(cell, aspect):
                continue
            verdict = cell.aspects[aspect]
            key = (aspect, verdict, without_values(cell.notes.get(aspect, "")), cell.unary)
            losses.setdefault(key, Loss(aspect, verdict)).cells.append(cell)
    red_cells = (cell for loss in losses.values() for cell in loss.cells)
    order = {aspect: number for number, aspect in enumerate(by_aspect(red_cells))}
    return sorted(
        losses.values(),
        key=lambda loss: (order[loss.aspect], -len(loss.cells), loss.cells[0].name),
    )


def is_of_error(cell: AspectCell, aspect: str) -> bool:
    """Whether an aspect is missing because of the cell's needless error, which is a loss itself."""
    raised = cell.aspects[aspect] == cell.aspects.get(NEEDLESS_ERROR) == "raised"
    return raised and aspect != NEEDLESS_ERROR


def number_of_findings(cells: Sequence[AspectCell]) -> int:
    """The number of different losses, and of different reasons why a cell could not be judged."""
    return len(losses_of(cells)) + len(errors_of(cells))


def errors_of(cells: Iterable[AspectCell]) -> dict[str, list[AspectCell]]:
    """The cells that could not be judged, by the reason. Reasons that differ only in the number of
    an event or fact, or in an unexpected value, count as one.
    """
    errors: dict[str, list[AspectCell]] = {}
    for cell in cells:
        if cell.error:
            errors.setdefault(_NUMBERED.sub(r"\1\2", cell.error), []).append(cell)
    return {alike[0].error: alike for alike in errors.values()}


def count_words(cells: Sequence[AspectCell]) -> str:
    """``300 of 340 cells passed, 38 failed, 2 errors``."""
    counts = Counter(cell.verdict for cell in cells)
    number = f"{counts['passed']:,} of {plural(len(cells), 'cell')} passed"
    others = [
        f"{counts[verdict]:,} {verdict}{'s' if verdict == 'error' and counts[verdict] > 1 else ''}"
        for verdict in _VERDICTS_OF_CELLS[1:]
        if counts[verdict]
    ]
    return ", ".join([number, *others])


def red_aspects(counts: Mapping[str, int]) -> int:
    """The number of red verdicts."""
    return sum(counts.get(verdict, 0) for verdict in RED)


def square(counts: Mapping[str, int], anchor: str = "") -> Square:
    """The square of these counts of verdicts."""
    red = red_aspects(counts)
    compared = counts.get("kept", 0) + red
    return Square(red, compared, sum(counts.values()) - compared, anchor if red else "")


def command_of(adapter: AdapterResults, cell: AspectCell, aspect: str = "") -> str:
    """A shell line that judges the adapter on this exchange alone, with the cuts that show the
    finding of ``aspect``, or the cell's error.
    """
    argument = shlex.quote(adapter.argument or adapter.target)
    cuts = cell.cuts(aspect)
    options = f" --cuts {cuts}" if cuts else ""
    return f"harness judge {argument} --cassettes {shlex.quote(cell.name)}{options}"
