"""Shows that specs can say no: what our own event models give is damaged in known ways, and the
specs must notice.

Every case that passes is judged again with its payloads, or its request, damaged: once for each
damage that finds something to damage in it. A damage that no case of an event model notices
survives; one that finds too little to damage shows nothing. A kill is a mismatch that the
comparison finds, so nothing is killed by an exception, and the undamaged control has to pass.
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
from .payloads import OPERATORS
from .requests import REQUEST_DAMAGES
from .shapes import MutationOperator

__all__ = [
    "ALL",
    "ENOUGH",
    "OPERATORS",
    "REQUEST_DAMAGES",
    "Mutant",
    "MutationOperator",
    "Proof",
    "prove",
]

ENOUGH: Final = 3
"""A damage has to apply to so many cases of every event model that can carry it."""

ALL: Final[tuple[MutationOperator, ...]] = (*OPERATORS, *REQUEST_DAMAGES)


@dataclass(slots=True)
class Mutant:
    """One damage of one event model: the cases in which it was applied, and those of them that
    noticed; ``spec: case`` each.
    """

    dialect: str
    damage: MutationOperator
    applied: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)

    @property
    def fault(self) -> str:
        """What is wrong with the specs, as this mutant shows it; empty where nothing is."""
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
    """What a run of damages showed. ``features``: (dialect, feature) → damaged cases and those that
    noticed.

    ``controls``: cells that passed undamaged; ``broken``: cells that did not, and show nothing.
    ``unnoticed``: damaged cases that passed.
    """

    mutants: list[Mutant]
    features: dict[tuple[str, str], tuple[int, int]]
    controls: int
    broken: list[str]
    unnoticed: list[str]

    @property
    def faults(self) -> list[str]:
        """One line for everything that is wrong; the specs are proven where there is none."""
        return [*self.blind, *self.unapplied]

    @property
    def blind(self) -> list[str]:
        """Those of the faults that are about cases which are there."""
        found = [
            f"{mutant.dialect}: {mutant.damage.name}: {mutant.fault}"
            for mutant in self.mutants
            if mutant.fault and mutant.applied
        ]
        return [*(f"{name}: differs without any damage" for name in self.broken), *found]

    @property
    def unapplied(self) -> list[str]:
        """The other faults: damages of which nothing is shown, since no case has what they
        change.
        """
        return [
            f"{mutant.dialect}: {mutant.damage.name}: {mutant.fault}"
            for mutant in self.mutants
            if not mutant.applied
        ]


def prove(
    cells: Iterable[Cell],
    load: Callable[[str], Cassette],
    dialects: Iterable[str] = tuple(DIALECTS),
) -> Proof:
    """Damage what these cells' own adapters give. Raises what
    `harness.conformance.judge.resolve_fixture` raises for a case that stands on nothing.
    """
    wanted = list(dialects)
    mutants = {
        (name, damage.name): Mutant(name, damage)
        for name in wanted
        for damage in ALL
        if name in damage.of
    }
    proof = Proof(list(mutants.values()), {}, 0, [], [])
    for cell in cells:
        if (
            cell.column in wanted
            and cell.case.expect[cell.column] is not None
            and cell.column not in cell.case.known_failing
        ):
            _damage(cell, load, mutants, proof)
    return proof


def _damage(
    cell: Cell,
    load: Callable[[str], Cassette],
    mutants: dict[tuple[str, str], Mutant],
    proof: Proof,
) -> None:
    ground = resolve_fixture(cell.case, load)
    expected, given = cell.case.expect[cell.column], produce(cell, ground)
    if cell.layer == "requests":
        expected = expected_requests(cell.case, expected, ground.exchanges)
    name = f"{cell.spec}: {cell.name}"
    if compare(expected, given):
        proof.broken.append(name)
        return
    proof.controls += 1
    for damage in REQUEST_DAMAGES if cell.layer == "requests" else OPERATORS:
        change = damage.of.get(cell.column)
        damaged: Any = copy.deepcopy(given)
        if change is None or not change(damaged):
            continue
        mutant = mutants[cell.column, damage.name]
        noticed = bool(compare(expected, damaged))
        mutant.applied.append(name)
        if noticed:
            mutant.killed.append(name)
        else:
            proof.unnoticed.append(f"{name}: {damage.name}")
        for feature in cell.case.features:
            applied, killed = proof.features.get((cell.column, feature), (0, 0))
            proof.features[cell.column, feature] = (applied + 1, killed + noticed)
