"""Mutation testing of specs: puts known faults into what our own dialects give, and checks that the
specs notice.

Each mutation operator is one known fault. For every case that passes, each operator that finds
something to change in the payloads, or in the request, makes a mutant. The case kills the mutant if
its expectation finds a mismatch; otherwise the mutant survives. An exception kills no mutant. A
case that fails without a mutation shows nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from harness.cassettes import Cassette
from harness.dialects import DIALECTS
from harness.pipeline.conversation import expected_requests
from harness.specs.matching import compare

from ..judge import Cell, produce, resolve_fixture
from .operators import OPERATORS, MutationOperator
from .requests import REQUEST_OPERATORS

__all__ = [
    "ALL",
    "ENOUGH",
    "OPERATORS",
    "REQUEST_OPERATORS",
    "MutationOperator",
    "OperatorResult",
    "Proof",
    "prove",
]

ENOUGH: Final = 3
"""An operator must make mutants of so many cases of every dialect that can have its fault."""

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
    """The mutants that one operator made for one dialect: the cases that had one, and those of them
    that killed it; ``spec: case`` each.
    """

    dialect: str
    operator: MutationOperator
    applied: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)

    @property
    def fault(self) -> str:
        """The weakness of the specs that the mutants show; "" if there is none."""
        if not self.applied:
            return "never applied"
        if not self.killed:
            return "survives"
        return (
            f"applied to {len(self.applied)} of the {ENOUGH} cases that it needs"
            if len(self.applied) < ENOUGH
            else ""
        )


@dataclass(slots=True)
class Proof:
    """The result of mutation testing.

    ``features``: (dialect, feature) → numbers of mutants and of killed mutants.

    ``controls``: cells that passed without a mutation; ``broken``: cells that did not, and show
    nothing. ``survivors``: cases that passed with a mutation, and its operator.
    """

    results: list[OperatorResult]
    features: dict[tuple[str, str], tuple[int, int]]
    controls: int
    broken: list[str]
    survivors: list[str]

    @property
    def faults(self) -> list[str]:
        """One line for everything that is wrong; empty if the specs are proven."""
        nothing = [] if self.results and self.controls else ["nothing was mutated"]
        return [*nothing, *self.blind, *self.unapplied]

    @property
    def blind(self) -> list[str]:
        """The faults of cases that are there."""
        return [
            *(f"{name}: differs without any mutation" for name in self.broken),
            *(_line(result) for result in self.results if result.fault and result.applied),
        ]

    @property
    def unapplied(self) -> list[str]:
        """The operators of which nothing is shown, since no case has what they change."""
        return [_line(result) for result in self.results if not result.applied]


def _line(result: OperatorResult) -> str:
    return f"{result.dialect}: {result.operator.name}: {result.fault}"


def prove(
    cells: Iterable[Cell],
    load: Callable[[str], Cassette],
    dialects: Iterable[str] = tuple(DIALECTS),
) -> Proof:
    """Mutate what our own dialects give for these cells. Raises what
    `harness.conformance.judge.resolve_fixture` raises for a case without a usable cassette.
    """
    results = {
        (name, operator.name): OperatorResult(name, operator)
        for name in dialects
        for operator in ALL
        if operator.change_for(DIALECTS[name]) is not None
    }
    wanted = {name for name, _ in results}
    proof = Proof(list(results.values()), {}, 0, [], [])
    for cell in cells:
        if (
            cell.column in wanted
            and cell.case.expect[cell.column] is not None
            and cell.column not in cell.case.known_failing
        ):
            _mutate(cell, load, results, proof)
    return proof


def _mutate(
    cell: Cell,
    load: Callable[[str], Cassette],
    results: dict[tuple[str, str], OperatorResult],
    proof: Proof,
) -> None:
    fixture = resolve_fixture(cell.case, load)
    expected, original = cell.case.expect[cell.column], produce(cell, fixture)
    if cell.layer == "requests":
        expected = expected_requests(cell.case, expected, fixture.exchanges)
    name = f"{cell.spec}: {cell.name}"
    if compare(expected, original):
        proof.broken.append(name)
        return
    proof.controls += 1
    for operator in REQUEST_OPERATORS if cell.layer == "requests" else OPERATORS:
        change = operator.change_for(DIALECTS[cell.column])
        mutant: Any = copy.deepcopy(original)
        if change is None or not change(mutant):
            continue
        result = results[cell.column, operator.name]
        killed = bool(compare(expected, mutant))
        result.applied.append(name)
        if killed:
            result.killed.append(name)
        else:
            proof.survivors.append(f"{name}: {operator.name}")
        for feature in cell.case.features:
            mutants, kills = proof.features.get((cell.column, feature), (0, 0))
            proof.features[cell.column, feature] = (mutants + 1, kills + killed)
