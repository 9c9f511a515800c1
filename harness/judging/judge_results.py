"""The results of ``harness judge`` as plain data: a `Row` for each adapter and exchange.

A report can be made from this document later, on another machine. Its first member is the plan of
the run, so a run that was killed can be read, and shows which cells it did not judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.stream.printable import plural

from .rows import (
    ExchangeRow,
    QuestionRow,
    ResultsError,
    Row,
    RowKind,
    decode_as,
    encode_item,
    unjudged,
)

UNKNOWN: Final = "unknown"
"""The version of an adapter that was not asked for it."""
ENDED: Final = "the run ended before this cell was judged"
EXPECTED: Final = "expected the JSON file that `harness judge --json` writes"


class AdapterResults(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All cells of one adapter."""

    name: str
    target: str
    version: str
    argument: str = ""
    """Its name on the command line, if that is not ``target``."""
    day: str = ""
    """The date on which it was judged, YYYY-MM-DD."""
    unused_losses: tuple[str, ...] = ()
    """The declared losses that concern some cells, but that no cell shows."""
    cells: tuple[ExchangeRow, ...] = ()
    second_turn: tuple[ExchangeRow, ...] = ()
    asked: tuple[str, ...] | None = None
    """In the file of a run: the places of all rows of questions; None if the run ended before they
    were planned, because they depend on the cells.
    """
    questions: tuple[QuestionRow, ...] = ()
    """The rows of the questions about its requests."""
    folder: str = ""
    """The folder in which it was judged, relative to the root of its repository; "" for the root.
    """
    suite: str = ""
    """Version and digest of the suite, if recordings of it were judged."""
    rules: int = 0
    """The version of the rules; 0 in results of an earlier package."""
    fixed: tuple[str, ...] = ()
    """A sentence for each known failure that matches cells of which none fails."""

    @property
    def all_cells(self) -> tuple[Row, ...]:
        """The cells of both turns, and the questions."""
        return (*self.cells, *self.second_turn, *self.questions)

    @property
    def red(self) -> bool:
        """Whether the adapter is red: a planned cell was not judged, an aspect on the documented
        wire or in its second turn is red, or no cell shows a declared loss or a known failure.
        """
        return bool(self.unused_losses or self.fixed) or any(
            cell.missing or (cell.verdict in ("failed", "error") and cell.block == "documented")
            for cell in self.all_cells
        )


class Unjudged(Struct, frozen=True, forbid_unknown_fields=True):
    """A path that was not judged, and the reason."""

    path: str
    reason: str


class PlannedAdapter(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The cells of one adapter that the run selected, each as ``CASSETTE:EXCHANGE``."""

    name: str
    target: str
    argument: str = ""
    cells: tuple[str, ...] = ()
    second_turn: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """The names of the questions that an adapter that sends requests is asked."""


class JudgePlan(Struct, frozen=True, forbid_unknown_fields=True):
    """The cells of a run of ``harness judge``, by adapter, known before the first one is judged."""

    adapters: tuple[PlannedAdapter, ...]


class JudgeResults(Struct, frozen=True, forbid_unknown_fields=True):
    """The results of a run of ``harness judge``, with a result for every planned cell."""

    adapters: tuple[AdapterResults, ...]
    skipped: tuple[Unjudged, ...] = ()

    @property
    def cells(self) -> list[Row]:
        """The cells of all adapters."""
        return [cell for adapter in self.adapters for cell in adapter.all_cells]

    @property
    def partial(self) -> str:
        """``4 of 9 cells were judged``, or "" if all were."""
        cells = self.cells
        judged = sum(cell.judged for cell in cells)
        return (
            ""
            if judged == len(cells)
            else f"{judged:,} of {plural(len(cells), 'cell')} were judged"
        )

    @property
    def compared(self) -> bool:
        """Whether a fact of some cell was compared."""
        return any(cell.compared for cell in self.cells)

    @property
    def red(self) -> bool:
        """Whether an adapter is red."""
        return any(adapter.red for adapter in self.adapters)


class JudgeDocument(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The JSON document of ``harness judge``. ``adapters`` are those of the plan, in its order; the
    run may have ended before the last ones, and before the last cells of one.
    """

    plan: JudgePlan
    adapters: tuple[AdapterResults, ...]
    skipped: tuple[Unjudged, ...] = ()


def encode_results(results: JudgeResults) -> bytes:
    """Return the document of results."""
    planned = (
        PlannedAdapter(
            adapter.name,
            adapter.target,
            adapter.argument,
            tuple(cell.place for cell in adapter.cells),
            tuple(cell.place for cell in adapter.second_turn),
        )
        for adapter in results.adapters
    )
    plan = JudgePlan(tuple(planned))
    return encode_item(JudgeDocument(plan, results.adapters, results.skipped))


def decode_results(data: bytes, name: str) -> JudgeResults:
    """Read a document. A planned cell without a result becomes an error. Raises `ResultsError` with
    a message that begins with ``name``.
    """
    document = decode_as(JudgeDocument, data, name, EXPECTED)
    adapters = []
    for planned, given in zip_longest(document.plan.adapters, document.adapters):
        if planned is None or (
            given and (given.name, given.target) != (planned.name, planned.target)
        ):
            raise ResultsError(
                f"{name}: the plan does not have the adapter {given.name}; {EXPECTED}"
            )
        adapter = given or AdapterResults(planned.name, planned.target, UNKNOWN, planned.argument)
        places, rows = adapter.asked, adapter.questions
        if places is None:  # the run ended before the questions, or had none
            places = tuple(f"questions/{question}:1" for question in planned.questions)
        second_turn = _whole(planned.second_turn, adapter.second_turn, _exchange, name)
        adapters.append(
            replace(
                adapter,
                asked=None,
                questions=_whole(places, rows, _question, name) if places else rows,
                cells=_whole(planned.cells, adapter.cells, _exchange, name),
                second_turn=tuple(replace(row, turn="second") for row in second_turn),
            )
        )
    return JudgeResults(tuple(adapters), document.skipped)


def _whole(
    planned: Sequence[str],
    rows: Sequence[RowKind],
    blank: Callable[[str, int], RowKind],
    name: str,
) -> tuple[RowKind, ...]:
    """Return the rows, with an error for each planned one that the run did not reach. Rows are
    judged in the order of the plan.
    """
    whole = list(rows)
    for place, row in zip_longest(planned, rows):
        if row is None:
            cassette, _, number = place.rpartition(":")
            whole.append(unjudged(blank(cassette, int(number)), ENDED))
        elif row.place != place:
            raise ResultsError(f"{name}: the plan does not have the cell {row.place}; {EXPECTED}")
    return tuple(whole)


def _exchange(cassette: str, number: int) -> ExchangeRow:
    return ExchangeRow("error", cassette=cassette, exchange=number, block="documented")


def _question(place: str, number: int) -> QuestionRow:
    question = place.rpartition("/")[2]
    return QuestionRow(
        "error",
        cassette=place,
        exchange=number,
        block="documented",
        case=question,
        question=question,
    )
