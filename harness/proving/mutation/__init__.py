"""Mutation testing: puts known faults into the output of our dialects and of a user's adapters. It
then checks which cases and which laws detect them.

Each mutation operator is one known fault. The operators are applied to the payloads, the request or
the facts of every case that passes. An operator makes a mutant if it can change something. The case
kills the mutant if its expectation finds a mismatch. The case kills a mutant of facts if one of the
case's aspects is red. Otherwise the mutant survives. The laws detect a mutant without an
expectation. For a mutant of facts they check all aspects. An exception does not kill a mutant. A
case that fails without a mutation proves nothing.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import to_builtins

from harness.adapters import ADAPTERS, Adapter, AdapterError, Normalize, Output, RunOptions
from harness.cassettes import Cassette
from harness.dialects import DIALECTS
from harness.judging.aspects import compare_output, judge_output, read_raw_facts
from harness.judging.decide import Terms
from harness.judging.facts_cells import ALWAYS, concerns, result_by_facts
from harness.judging.judge import Cell, Fixture, NormalizedOnce, resolve_fixture, run_cell
from harness.judging.reading import Reading
from harness.judging.rows import CaseRow
from harness.pipeline.conversation import expected_requests
from harness.specs.matching import bindings_of

from .by_laws import make_observer
from .facts import FACTS_OPERATORS, FactsOperator
from .operators import OPERATORS, MutationOperator
from .requests import REQUEST_OPERATORS

__all__ = [
    "ALL",
    "ENOUGH",
    "FACTS_OPERATORS",
    "OPERATORS",
    "REQUEST_OPERATORS",
    "MutationOperator",
    "OperatorResult",
    "Proof",
    "kill_names",
    "named_mutant_fault",
    "prove",
]

ENOUGH: Final = 3
"""The number of cases of our own specs for which an operator must make mutants, in every dialect
that can have its fault.
"""

ALL: Final[tuple[MutationOperator, ...]] = (*OPERATORS, *REQUEST_OPERATORS)

for _dialect in DIALECTS.values():
    if _unknown := {*_dialect.mutations.own, *_dialect.mutations.unsent} - {
        operator.name for operator in ALL
    }:
        raise ValueError(
            f"the mutations of {_dialect.name} name unknown operators: {', '.join(_unknown)}"
        )


@dataclass(slots=True)
class OperatorResult:
    """The mutants that one operator made for one column (a dialect or an adapter): the cases with a
    mutant, the cases that killed their mutant, and the cases with a mutant that a law detects. Each
    case is written as ``spec: case``.
    """

    column: str
    operator: MutationOperator | FactsOperator
    applied: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    noticed: list[str] = field(default_factory=list)

    @property
    def survives(self) -> bool:
        """Whether it made mutants, and no case kills one."""
        return bool(self.applied) and not self.killed


@dataclass(slots=True)
class Proof:
    """The result of mutation testing."""

    results: list[OperatorResult]
    features: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """(column, feature) → the numbers of mutants and of killed mutants."""
    laws: Counter[str] = field(default_factory=Counter)
    """The number of mutants that each law detects."""
    controls: int = 0
    """The number of cells that passed without a mutation."""
    broken: list[str] = field(default_factory=list)
    """The cells of our own dialects that failed without a mutation."""
    survivors: list[str] = field(default_factory=list)
    """Each case that passed with a mutation, the operator, and the laws that detect the mutant."""
    unnoticed: int = 0
    """The number of mutants that neither a case nor a law detects."""
    spared: list[str] = field(default_factory=list)
    """Each case that does not notice the mutation that it names under ``kill``, and the reason."""

    @property
    def faults(self) -> list[str]:
        """One line for each problem of the cases; an empty list if they notice what they can. A
        project has few cases, so an operator that fits none of them is not a fault.
        """
        nothing = [] if self.results and self.controls else ["nothing was mutated"]
        return [*nothing, *self.blind]

    @property
    def blind(self) -> list[str]:
        """The faults of existing cases."""
        return [
            *(f"{name}: fails without a mutation" for name in self.broken),
            *(_line(result, "survives") for result in self.results if result.survives),
            *self.spared,
        ]

    @property
    def unapplied(self) -> list[str]:
        """The operators that made no mutant, because no case contains what they change."""
        return [_line(result, "never applied") for result in self.results if not result.applied]

    @property
    def gaps(self) -> list[str]:
        """The operators with fewer mutants than `ENOUGH`. Our own specs must have no gap."""
        return [
            _line(result, f"applied to {len(result.applied)} of the {ENOUGH} cases that it needs")
            for result in self.results
            if len(result.applied) < ENOUGH
        ]


def _line(result: OperatorResult, fault: str) -> str:
    return f"{result.column}: {result.operator.name}: {fault}"


def prove(
    cells: Iterable[Cell],
    load: Callable[[str], Cassette],
    dialects: Iterable[str] = tuple(DIALECTS),
    adapters: Mapping[str, Adapter] | None = None,
) -> Proof:
    """Mutate the output of our own dialects and of a user's ``adapters`` for these cells. For a
    case without a usable cassette, raises the exceptions of
    `harness.judging.judge.resolve_fixture`.
    """
    given = adapters or {}
    results = {
        (column, operator.name): OperatorResult(column, operator)
        for column in (*dialects, *given)
        for operator in _operators(column, given.get(column))
    }
    wanted = {column for column, _ in results}
    proof = Proof(list(results.values()))
    normalize = NormalizedOnce()
    for cell in cells:
        if (
            cell.column not in wanted
            or cell.column in cell.case.known_failing
            or (cell.layer != "facts" and cell.case.expect[cell.key] is None)
        ):
            continue
        fixture = resolve_fixture(cell.case, load)
        mutants = (
            _mutants_of_facts(cell, fixture, given[cell.column], proof)
            if cell.layer == "facts"
            else _mutants_of_items(cell, fixture, given.get(cell.column), proof, normalize)
        )
        made = {}
        for operator, killed, laws in mutants:
            made[operator] = killed
            _note(proof, cell, results[cell.column, operator], killed, laws)
        if fault := _kill_fault(cell, made):
            proof.spared.append(f"{cell.spec}: {cell.name}: {fault}")
    return proof


def named_mutant_fault(cell: Cell, load: Callable[[str], Cassette]) -> str:
    """Run only the mutation that the case of a cell of our own dialects names under ``kill``: the
    reason why the case does not notice it, or "". Raises as `prove`.
    """
    fixture = resolve_fixture(cell.case, load)
    named = cell.case.kill[cell.key]
    mutants = _mutants_of_items(cell, fixture, None, Proof([]), NormalizedOnce(), only=named)
    return _kill_fault(cell, {name: killed for name, killed, _ in mutants})


def _kill_fault(cell: Cell, made: Mapping[str, bool]) -> str:
    """Return the reason why a case does not notice the mutation that it names, or ""."""
    named = cell.case.kill.get(cell.key, "") if cell.column == cell.key else ""
    if not named or made.get(named):
        return ""
    reason = "the case does not notice it" if named in made else "it changes nothing here"
    return f"kill names {named}, but {reason}"


def kill_names(dialect: str) -> list[str]:
    """Return the mutations that a case may name for a dialect; none for another name."""
    return [operator.name for operator in _operators(dialect, None)] if dialect in DIALECTS else []


def _operators(
    column: str, adapter: Adapter | None
) -> tuple[MutationOperator | FactsOperator, ...]:
    if adapter is None:
        dialect = DIALECTS[column]
        return tuple(operator for operator in ALL if operator.change_for(dialect))
    if adapter.by_facts:
        return FACTS_OPERATORS
    dialect = DIALECTS[adapter.model]
    return tuple(operator for operator in OPERATORS if operator.change_for(dialect))


def _note(proof: Proof, cell: Cell, result: OperatorResult, killed: bool, laws: list[str]) -> None:
    name = f"{cell.spec}: {cell.name}"
    result.applied.append(name)
    if killed:
        result.killed.append(name)
    if laws:
        result.noticed.append(name)
    if not killed:
        beside = f" (noticed by {', '.join(laws)})" if laws else ""
        proof.survivors.append(f"{name}: {result.operator.name}{beside}")
    proof.unnoticed += not (killed or laws)
    proof.laws.update(laws)
    for feature in cell.case.features:
        mutants, kills = proof.features.get((cell.column, feature), (0, 0))
        proof.features[cell.column, feature] = (mutants + 1, kills + killed)


Mutant = tuple[str, bool, list[str]]
"""The name of the operator, whether the case kills the mutant, and the laws that detect it."""


def _mutants_of_items(
    cell: Cell,
    fixture: Fixture,
    adapter: Adapter | None,
    proof: Proof,
    normalize: Normalize,
    *,
    only: str = "",
) -> Iterator[Mutant]:
    """Yield the mutants of payloads, or of a request; ``only`` that of one operator, without the
    laws.
    """
    expected = cell.case.expect[cell.key]
    try:
        output = run_cell(cell, fixture, adapter, normalize)
    except AdapterError:
        if adapter is None:
            raise
        return
    if cell.layer == "requests":
        expected = expected_requests(cell.case, expected, fixture.exchanges, output.items)
    if bindings_of(expected, output.items) is None:
        if adapter is None:
            proof.broken.append(f"{cell.spec}: {cell.name}")
        return
    proof.controls += 1
    chosen = adapter or ADAPTERS[cell.column]
    observe = (
        make_observer(Reading(fixture.exchanges[0], RunOptions.of(cell.case)), chosen, output)
        if cell.layer == "payloads" and not only
        else None
    )
    copied = copy.deepcopy if adapter else to_builtins  # ours are JSON, which msgspec copies fast
    mutant: Any = copied(output.items)
    for operator in REQUEST_OPERATORS if cell.layer == "requests" else OPERATORS:
        if only not in ("", operator.name):
            continue
        change = operator.change_for(DIALECTS[cell.key])
        if change is not None and change(mutant):
            laws = observe(mutant) if observe else []
            yield operator.name, bindings_of(expected, mutant) is None, laws
            mutant = copied(output.items)


def _mutants_of_facts(
    cell: Cell, fixture: Fixture, adapter: Adapter, proof: Proof
) -> Iterator[Mutant]:
    """Yield the mutants of facts. The case kills a mutant if an aspect of its features is red."""
    reading = Reading(fixture.exchanges[0], RunOptions.of(cell.case))
    try:
        output = adapter.output(reading.exchange, reading.options)
    except AdapterError:
        return
    judged = judge_output(reading, adapter, output)
    result = result_by_facts(CaseRow("not-run"), judged, adapter, cell.aspects, Terms())
    if result.verdict != "passed" or judged.variants:
        return
    assert judged.transcript is not None  # the cell has a verdict
    proof.controls += 1
    transcript = read_raw_facts(judged.transcript)
    for operator in FACTS_OPERATORS:
        mutant = operator.change(transcript)
        if mutant == transcript:
            continue
        red = compare_output(reading, adapter, Output.of_transcript(mutant)).red
        new = [aspect for aspect in red if aspect not in judged.red]
        named = [
            aspect
            for aspect in new
            if aspect in ALWAYS or any(concerns(aspect, own) for _, own in cell.aspects)
        ]
        yield operator.name, bool(named), ["law-3"] if new else []
