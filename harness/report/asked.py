"""The questions about requests and failing services, one by one: the verdict of each as a stream
and unary, its findings, and the reasons why others were not asked. And the answers to a question of
several cases, side by side: the aspects that a wire does not have, and those that an adapter does
not keep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.facts import ASPECTS, RED
from harness.judging.rows import VERDICTS, Row, Verdict

from .layout import PlacedResult
from .tally import words_of_counts, worst
from .text import slug

MOST_SENTENCES: Final = 4
"""Findings of one question that are listed."""

Marks = Sequence[tuple[Verdict, int]]


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question of one provider."""

    name: str
    asks: str
    """Its subject, as one sentence."""
    provider: str
    """The title of the provider."""
    anchor: str
    marks: tuple[Marks, Marks]
    """The verdicts of its cells as a stream and unary, with their numbers."""
    sentences: Sequence[tuple[str, str]]
    """Its findings, each with the link to the findings of its aspect; "" without one."""
    more: int
    """The number of findings that are not listed."""


@dataclass(frozen=True, slots=True)
class AskedQuestions:
    """The questions of one adapter."""

    title: str
    words: str
    """The number of questions that passed, of those that were asked."""
    questions: Sequence[AskedQuestion]
    not_asked: Sequence[tuple[str, Sequence[str]]]
    """Each reason, with the names of the questions."""


def asked_questions(
    cells: Iterable[PlacedResult], providers: Mapping[str, str], columns: Mapping[str, str]
) -> list[AskedQuestions]:
    """Return the questions of each adapter that has some, by name."""
    of_adapter: dict[str, list[Row]] = {name: [] for name in columns}
    for cell in cells:
        if cell.result.section == "questions":
            of_adapter[cell.name].append(cell.result)
    several = len({cell.provider for own in of_adapter.values() for cell in own}) > 1
    return [
        _of_adapter(columns[name], own, providers if several else {})
        for name, own in of_adapter.items()
        if own
    ]


def _of_adapter(title: str, cells: Sequence[Row], providers: Mapping[str, str]) -> AskedQuestions:
    by_name: dict[tuple[str, str], list[Row]] = {}
    for cell in cells:
        by_name.setdefault((cell.question, cell.provider), []).append(cell)
    asked = {
        key: [cell for cell in own if cell.verdict != "not-run"] for key, own in by_name.items()
    }
    questions = [_question(own, providers) for own in asked.values() if own]
    verdicts = Counter(worst(cell.verdict for cell in own) for own in asked.values() if own)
    words = words_of_counts(
        {str(verdict): count for verdict, count in verdicts.items()}, "question"
    )
    unasked = [own[0] for key, own in by_name.items() if not asked[key]]
    return AskedQuestions(title, words, questions, _reasons(unasked, by_name, providers))


def _reasons(
    unasked: Sequence[Row],
    by_name: Collection[tuple[str, str]],
    providers: Mapping[str, str],
) -> list[tuple[str, Sequence[str]]]:
    """Return the reasons with the names of the questions, which have their providers unless the
    reason is that of all.
    """
    of_reason: dict[str, dict[str, list[str]]] = {}
    for cell in unasked:
        of_reason.setdefault(cell.reason, {}).setdefault(cell.question, []).append(cell.provider)
    numbers = Counter(name for name, _ in by_name)
    return [
        (
            reason,
            [
                name
                if len(own) == numbers[name]
                else f"{name} ({', '.join(providers[each] for each in own)})"
                for name, own in names.items()
            ],
        )
        for reason, names in of_reason.items()
    ]


def _question(cells: Sequence[Row], providers: Mapping[str, str]) -> AskedQuestion:
    first = cells[0]
    links: dict[str, str] = {}
    for cell in cells:
        if cell.verdict == "error":
            links.setdefault(cell.reason, "")
        for finding in cell.red_findings:
            if finding.subject in cell.aspects:
                names = (cell.adapter, "questions", finding.subject)
                links.setdefault(finding.sentence, "#" + ".".join(map(slug, names)))
    return AskedQuestion(
        first.question,
        first.requirement,
        providers.get(first.provider, ""),
        ".".join(map(slug, ("asked", first.adapter, first.provider, first.question))),
        (
            _marks(cell for cell in cells if not cell.unary),
            _marks(cell for cell in cells if cell.unary),
        ),
        [*links.items()][:MOST_SENTENCES],
        max(len(links) - MOST_SENTENCES, 0),
    )


def _marks(cells: Iterable[Row]) -> Marks:
    counts = Counter(cell.verdict for cell in cells)
    return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]


_ASKED: Final = frozenset({"kept", "not_carried", *RED})
"""The verdicts that an aspect can have if the wire has it and the adapter was asked for it."""


@dataclass(frozen=True, slots=True)
class AnswerMark:
    """One aspect of the answers of one provider."""

    kept: int
    """The number of adapters that keep it."""
    declared: tuple[PlacedResult, ...]
    """The cells of adapters that declare its loss."""
    red: tuple[PlacedResult, ...]
    """The cells of adapters that lose it or get it wrong."""


@dataclass(frozen=True, slots=True)
class SharedQuestion:
    """A question that several providers answer."""

    name: str
    answers: Sequence[tuple[str, PlacedResult]]
    """For each provider its title and the cells of its case."""
    rows: Sequence[tuple[str, Sequence[AnswerMark | None]]]
    """For each aspect that any of the wires has, a mark for each provider; None if its wire does
    not have the aspect.
    """


def questions(cells: Sequence[PlacedResult], providers: Mapping[str, str]) -> list[SharedQuestion]:
    """Return the questions that more than one provider answers, by name."""
    asked: dict[str, dict[str, list[PlacedResult]]] = {}
    for cell in cells:
        if cell.result.answered:
            of_provider = asked.setdefault(cell.result.question, {})
            of_provider.setdefault(cell.result.provider, []).append(cell)
    return [
        _shared(name, {key: answered[key] for key in providers if key in answered}, providers)
        for name, answered in sorted(asked.items())
        if len(answered) > 1
    ]


def _shared(
    name: str, answered: Mapping[str, Sequence[PlacedResult]], providers: Mapping[str, str]
) -> SharedQuestion:
    named = {name for cells in answered.values() for cell in cells for name in cell.result.answered}
    rows = [
        (aspect, [_answer_mark(aspect, cells) for cells in answered.values()])
        for aspect in (*ASPECTS, *sorted(named - {*ASPECTS}))
    ]
    return SharedQuestion(
        name,
        [(providers[key], cells[0]) for key, cells in answered.items()],
        [(aspect, marks) for aspect, marks in rows if any(marks)],
    )


def _answer_mark(aspect: str, cells: Sequence[PlacedResult]) -> AnswerMark | None:
    verdicts = [(cell.result.answered.get(aspect), cell) for cell in cells]
    if not any(verdict in _ASKED for verdict, _ in verdicts):
        return None
    return AnswerMark(
        sum(verdict == "kept" for verdict, _ in verdicts),
        tuple(cell for verdict, cell in verdicts if verdict == "not_carried"),
        tuple(cell for verdict, cell in verdicts if verdict in RED),
    )
