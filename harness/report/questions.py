"""The answers to one question over several providers, side by side.

It distinguishes the aspects that a wire does not have from those that an adapter does not keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.facts import ASPECTS, RED

from .layout import PlacedResult

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
        _question(name, {key: answered[key] for key in providers if key in answered}, providers)
        for name, answered in sorted(asked.items())
        if len(answered) > 1
    ]


def _question(
    name: str, answered: Mapping[str, Sequence[PlacedResult]], providers: Mapping[str, str]
) -> SharedQuestion:
    named = {name for cells in answered.values() for cell in cells for name in cell.result.answered}
    rows = [
        (aspect, [_mark(aspect, cells) for cells in answered.values()])
        for aspect in (*ASPECTS, *sorted(named - {*ASPECTS}))
    ]
    return SharedQuestion(
        name,
        [(providers[key], cells[0]) for key, cells in answered.items()],
        [(aspect, marks) for aspect, marks in rows if any(marks)],
    )


def _mark(aspect: str, cells: Sequence[PlacedResult]) -> AnswerMark | None:
    verdicts = [(cell.result.answered.get(aspect), cell) for cell in cells]
    if not any(verdict in _ASKED for verdict, _ in verdicts):
        return None
    return AnswerMark(
        sum(verdict == "kept" for verdict, _ in verdicts),
        tuple(cell for verdict, cell in verdicts if verdict == "not_carried"),
        tuple(cell for verdict, cell in verdicts if verdict in RED),
    )
