"""Counts of cells that were judged by aspects, and groups of equal losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol, get_args

from harness.facts import ASPECTS, RED, Finding
from harness.judging.explain import judge_command
from harness.judging.judge_results import AdapterResults
from harness.judging.rows import Row
from harness.providers.second_turn import SecondTurnAspect
from harness.stream.printable import listed

from .causes import (
    MOST_EXCEPTIONS,
    Cause,
    Shared,
    find_causes,
    is_silent,
    plainest_at,
    plainest_first,
    share_property,
)

BLOCKS: Final = {
    "documented": "Documented wire",
    "sessions": "Sessions",
    "variant": "Variants",
    "second_turn": "Second turn",
    "second_turn_of_variants": "Second turn of variants",
    "questions": "Requests",
}
"""The sections of cells, with their titles."""
BLOCK_MEANINGS: Final = {
    "documented": "Answers in the form of the public documentation of the wire.",
    "sessions": "Sessions of the Live API: the turns, and the messages that the adapter sends.",
    "variant": (
        "Answers in forms that some servers send and the documentation does not describe. An"
        " adapter may refuse them, so a loss here is shown but is never red."
    ),
    "second_turn": (
        "The request that the adapter sends after the answer, with the results of its calls."
    ),
    "second_turn_of_variants": "The request after a variant. A loss is never red.",
    "questions": "The requests that the adapter makes of what an application asks for.",
}
VARIANT_BLOCKS: Final = ("variant", "second_turn_of_variants")
"""The sections in which nothing is red."""
JUDGED_BLOCKS: Final = tuple(block for block in BLOCKS if block not in VARIANT_BLOCKS)
"""The sections in which a loss is red."""
FIRST_TURNS: Final = ("documented", "sessions")
"""The sections of what an adapter makes of a recorded exchange."""
VERDICTS: Final = ("kept", "lost", "wrong", "raised", "not_carried", "not_asked")
"""The verdicts of an aspect, in the order of columns."""
MEANINGS: Final = {
    "kept": "The adapter gives the same fact as the wire.",
    "lost": "The wire has the fact, and the adapter does not give it.",
    "wrong": "The adapter gives something different from the wire.",
    "raised": "The adapter reports an error that the wire does not have, or it crashed.",
    "not_carried": "The fact is lost, and the loss is declared.",
    "not_asked": "The adapter could not be asked for the fact, or the answer failed before it.",
}
COMPARED: Final = frozenset({"kept", *RED})
"""The verdicts of an aspect that was compared."""
UNREPORTED: Final = frozenset({"calls-unreported", "counts-unreported"})
"""The reasons of lost facts for which the event model has a place."""
MOST_PAIRS: Final = 6
"""The number of pairs of reasons to end that a finding names."""
NEEDLESS_ERROR: Final = "needless_error"
MAX_SENTENCE: Final = 160
"""Characters of a finding in a summary."""
FOR_A_PROGRAM: Final = frozenset({"thoughts", "finish", "usage", "blocked"})
"""Aspects that a program acts on. Their losses are declared one by one."""
NEVER_DECLARED: Final = frozenset({"text", "calls", "error", "unfinished", "hangs", "sent"})
"""The aspects for which every event model has a place, or needs none."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Cells of one block in which an aspect has the same verdict for the same reason, apart from
    values and numbers. All answers are streamed, or all are unary, except those to questions.
    """

    aspect: str
    verdict: str
    cells: list[Row] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    """The finding of each cell."""
    shared: Shared | None = None
    """The property of the wire that these cells share, and no other has."""

    @property
    def sentence(self) -> str:
        """The verdict or the crash, the number of cells, and the reason in the first cell."""
        words, note = f"{self.aspect} {self.verdict}".replace("_", " "), self._words
        if self.findings[0].is_crash and self.aspect == NEEDLESS_ERROR:
            words, _, note = note.partition(": ")
        head = " ".join(filter(None, (words, number_of(self.cells))))
        return ": ".join(filter(None, (head, self._contrast, note)))

    @property
    def note(self) -> str:
        """The reason in the first cell, after the property that all these cells share."""
        return ": ".join(filter(None, (self._contrast, self._words)))

    @property
    def _words(self) -> str:
        """The reason in the first cell; the pairs of reasons to end, if there are several."""
        pairs = Counter(map(_pair_of, self.findings))
        if len(pairs) == 1:
            return self.findings[0].note
        return listed([f"{pair} ×{number:,}" for pair, number in pairs.most_common()], MOST_PAIRS)

    @property
    def _contrast(self) -> str:
        return f"{self.shared.subject}, right {self.shared.contrast}" if self.shared else ""

    def add(self, cell: Row, finding: Finding) -> None:
        """Add a cell with its finding."""
        self.cells.append(cell)
        self.findings.append(finding)

    def begin_with_plainest(self) -> None:
        """Move the plainest typical cell to the front, because it is the one that is shown. It has
        the most frequent pair of reasons to end.
        """
        pairs = [*map(_pair_of, self.findings)]
        most = max(pairs, key=pairs.count)
        places = [at for at, pair in enumerate(pairs) if pair == most]
        at = places[plainest_at([self.cells[at] for at in places], typical=True)]
        self.cells.insert(0, self.cells.pop(at))
        self.findings.insert(0, self.findings.pop(at))


def number_of(cells: Sequence[Row]) -> str:
    """Return ``in 2 cells``, or ``in 2 questions`` for those of questions; "" for one."""
    noun, number = "cells", len(cells)
    if cells[0].turn == "question":
        noun, number = "questions", len({cell.question for cell in cells})
    return f"in {number:,} {noun}" if number > 1 else ""


def _pair_of(finding: Finding) -> str:
    """Return the reasons to end of both sides, ``MAX_TOKENS → stop``; "" for another aspect."""
    if finding.subject != "finish" or not finding.wire:
        return ""
    return f"{finding.wire} → {finding.adapter or 'no reason'}"


@dataclass(frozen=True, slots=True)
class Square:
    """The cells of one aspect in a table: the number of red cells, of all compared cells, and of
    the others.
    """

    red: int
    compared: int
    not_carried: int
    not_asked: int
    anchor: str
    """The place of the red cells, "" if there are none."""

    @property
    def other(self) -> str:
        """The numbers of the other cells in words."""
        numbers = {"not carried": self.not_carried, "not asked": self.not_asked}
        return ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number)


def in_sections(cells: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the cells of each section."""
    sections: dict[str, list[Row]] = {name: [] for name in BLOCKS}
    for cell in cells:
        sections[cell.section].append(cell)
    return sections


class WithAspects(Protocol):
    """A cell of any kind with verdicts of aspects."""

    @property
    def aspects(self) -> Mapping[str, str]: ...


def by_aspect(cells: Iterable[WithAspects]) -> dict[str, Counter[str]]:
    """Return the verdicts of each aspect that some cell has, in the order of the aspects."""
    counts: dict[str, Counter[str]] = {}
    for cell in cells:
        for aspect, verdict in cell.aspects.items():
            counts.setdefault(aspect, Counter())[verdict] += 1
    return {aspect: counts[aspect] for aspect in in_order(counts)}


def in_order(aspects: Iterable[str]) -> list[str]:
    """Return each aspect once, in the order of the aspects; others come last."""
    given = dict.fromkeys(aspects)
    known = dict.fromkeys((*ASPECTS, *get_args(SecondTurnAspect), *given))
    return [aspect for aspect in known if aspect in given]


class Findings:
    """The findings of some cells: the causes that many of them have in common, then the different
    losses, and the different reasons why a cell could not be judged. Each is found once.
    """

    def __init__(self, cells: Iterable[Row]) -> None:
        self.cells: Final = [*cells]

    @cached_property
    def causes(self) -> list[Cause]:
        """The causes that many cells have in common."""
        return find_causes({cell.place: cell for cell in self.cells}.values())

    @cached_property
    def caused(self) -> set[str]:
        """The places of the cells with such a cause."""
        return {cell.place for cause in self.causes for cell in cause.cells}

    @cached_property
    def losses(self) -> list[Loss]:
        """The losses, wrong values and exceptions. Those of an aspect are together, the most
        frequent reason first. The aspects with an exception come first, then those whose first loss
        has the most cells. A needless error is one loss, not one for each aspect that is missing
        because of it. A loss that several cases show on the same answer counts once. Cells with a
        common cause are left out.
        """
        streams = {cell.place: cell for cell in self.cells}.values()
        losses: dict[tuple[object, ...], Loss] = {}
        seen: set[tuple[object, ...]] = set()
        for cell in self.cells:
            if cell.place in self.caused:
                continue
            for finding in cell.red_findings:
                key = (*finding.group, cell.unary and cell.turn != "question")
                if (*key, cell.place) in seen or finding.subject not in cell.aspects:
                    continue
                if not is_of_error(cell, finding.subject):
                    seen.add((*key, cell.place))
                    losses.setdefault(key, Loss(finding.subject, finding.verdict)).add(
                        cell, finding
                    )
        groups = list(losses.values())
        for number, loss in enumerate(groups):
            loss.begin_with_plainest()
            judged = [cell for cell in streams if cell.aspects.get(loss.aspect) in COMPARED]
            groups[number] = replace(loss, shared=share_property(loss.aspect, loss.cells, judged))
        ranks: dict[str, tuple[bool, int]] = {}
        for loss in groups:
            ranks[loss.aspect] = min(_rank(loss), ranks.get(loss.aspect, _rank(loss)))
        order = {aspect: place for place, aspect in enumerate(in_order(ranks))}
        return sorted(
            groups,
            key=lambda loss: (
                ranks[loss.aspect],
                order[loss.aspect],
                _rank(loss),
                loss.cells[0].place,
            ),
        )

    @cached_property
    def errors(self) -> list[list[Row]]:
        """The cells that could not be judged, by the reason. Equal reasons differ only in
        values.
        """
        errors: dict[tuple[str, ...], list[Row]] = {}
        for cell in self.cells:
            if cell.verdict == "error":
                group = cell.findings[0].group if cell.findings else (cell.reason,)
                errors.setdefault(group, []).append(cell)
        return [plainest_first(alike) for alike in errors.values()]

    def __len__(self) -> int:
        return len(self.causes) + len(self.losses) + len(self.errors)

    def __iter__(self) -> Iterator[tuple[str, Row, Finding | None]]:
        """Yield the sentence, the first cell and its finding for each finding, in the order
        shown.
        """
        for cause in self.causes:
            yield cause.sentence, cause.cells[0], None
        for alike in self.errors:
            yield alike[0].reason, alike[0], None
        for loss in self.losses:
            yield loss.sentence, loss.cells[0], loss.findings[0]


def _rank(loss: Loss) -> tuple[bool, int]:
    """Return a sort key: exceptions first, then the losses in the most cells."""
    return loss.verdict != "raised", -len(loss.cells)


def hints_of(cells: Iterable[Row]) -> dict[str, str]:
    """Return how to declare an aspect that is lost in every cell that has it, by aspect. There is
    no hint for an aspect that every event model has, for a fact that the native events have, for
    counts of which some are given, for ids without calls, and for an adapter that gives nothing of
    many answers with text or calls.
    """
    own = {cell.place: cell for cell in cells}
    unread = [
        cell
        for cell in own.values()
        if is_silent(cell) and not RED.isdisjoint(map(cell.aspects.get, ("text", "calls")))
    ]
    if len(unread) * MOST_EXCEPTIONS > sum(cell.compared for cell in own.values()):
        return {}
    counts = by_aspect(own.values())
    reported = {
        finding.subject
        for cell in own.values()
        for finding in cell.findings
        if finding.reason in UNREPORTED or _has_counts(finding)
    }
    if not counts.get("calls", Counter())["kept"]:
        reported.add("ids")  # an id is lost with its call
    if not any(numbers["kept"] for numbers in counts.values()):
        return {}
    hints = {}
    for aspect, numbers in counts.items():
        compared = sum(numbers[verdict] for verdict in COMPARED)
        if 1 < numbers["lost"] == compared and aspect not in reported | NEVER_DECLARED:
            hints[aspect] = (
                f"lost in all {compared:,} cells; if the event model has no place for it:"
                f" --losses {aspect}"
            )
    return hints


def hint_of_all(aspects: Iterable[str]) -> str:
    """Return how to declare the losses of all opaque aspects at once; "" for fewer than two."""
    opaque = [aspect for aspect in aspects if aspect not in FOR_A_PROGRAM]
    if len(opaque) < 2:
        return ""
    words = f"{', '.join(opaque).replace('_', ' ')}: lost wherever the wire has them"
    return f"{words}; if the event model has no place: --losses '{', '.join(opaque)}'"


def _has_counts(finding: Finding) -> bool:
    """Return whether the adapter reports some of the token counts."""
    counts = finding.adapter if finding.reason == "counts" else None
    return isinstance(counts, dict) and any(counts.values())


def is_of_error(cell: Row, aspect: str) -> bool:
    """Return whether an aspect is missing because of the cell's needless error, which is a loss
    itself.
    """
    raised = cell.aspects.get(aspect) == cell.aspects.get(NEEDLESS_ERROR) == "raised"
    return raised and aspect != NEEDLESS_ERROR


def red_aspects(counts: Mapping[str, int]) -> int:
    """Return the number of red verdicts."""
    return sum(counts.get(verdict, 0) for verdict in RED)


def square(counts: Mapping[str, int], anchor: str = "") -> Square:
    """Return the square of these counts of verdicts."""
    red = red_aspects(counts)
    not_carried, not_asked = counts.get("not_carried", 0), counts.get("not_asked", 0)
    return Square(red, counts.get("kept", 0) + red, not_carried, not_asked, anchor if red else "")


def command_of(adapter: AdapterResults, cell: Row, finding: Finding | None = None) -> str:
    """Return a shell line that judges the adapter on this exchange alone, with the cuts that show
    the finding; without one, the first finding of the cell.
    """
    return judge_command(adapter.argument or adapter.target, cell, finding)
