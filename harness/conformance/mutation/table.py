"""The kill table as text: a row for each operator that made a mutant, a column for each dialect;
then a row for each feature, and the faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import Proof

Count = tuple[int, int]
"""Killed mutants, all mutants."""


def kill_table(proof: Proof, dialects: Sequence[str]) -> str:
    """``killed/mutants`` in every cell; a blank where a dialect cannot have the fault, or has no
    case for it.
    """
    by_operator = {
        (result.operator.name, result.dialect): (len(result.killed), len(result.applied))
        for result in proof.results
    }
    applied = dict.fromkeys(result.operator.name for result in proof.results if result.applied)
    by_feature = {
        (feature, dialect): (killed, mutants)
        for (dialect, feature), (mutants, killed) in proof.features.items()
    }
    return "\n".join(
        [
            *_rows("operator", list(applied), by_operator, dialects),
            "",
            *_rows("feature", sorted({name for name, _ in by_feature}), by_feature, dialects),
            "",
            *(f"! {fault}" for fault in proof.blind),
            *_never_applied(len(proof.unapplied)),
            _conclusion(proof),
            "",
        ]
    )


def _rows(
    head: str,
    names: Sequence[str],
    counts: Mapping[tuple[str, str], Count],
    columns: Sequence[str],
) -> list[str]:
    width = max([len(head), *map(len, names)])
    lines = [f"{head:<{width}}" + "".join(f"  {column:>12}" for column in columns)]
    for name in names:
        pairs = (counts.get((name, column)) for column in columns)
        cells = (f"  {'' if pair is None else f'{pair[0]}/{pair[1]}':>12}" for pair in pairs)
        lines.append(f"{name:<{width}}" + "".join(cells).rstrip())
    return lines


def _never_applied(number: int) -> list[str]:
    """One line for all: a small project has cases for few operators, and a line for each of the
    others would hide the rest.
    """
    if not number:
        return []
    return [
        f"! {number} operator{'' if number == 1 else 's'} never applied: no case has what they"
        " change (--survivors names them)"
    ]


def _conclusion(proof: Proof) -> str:
    if not proof.controls:
        return (
            "nothing is proven: no case passes without a mutation; write a case that expects"
            " payloads or requests of the dialect, and mend those that differ"
        )
    mutants = sum(len(result.applied) for result in proof.results)
    killed = sum(len(result.killed) for result in proof.results)
    faults = len(proof.faults)
    cells = f"{proof.controls} cell{'' if proof.controls == 1 else 's'}"
    whole = f"{len(proof.results)} operators on {cells}: {killed} of {mutants} mutants killed"
    return (
        f"{whole}; {faults} fault{'' if faults == 1 else 's'}"
        if faults
        else f"{whole}; every operator is noticed"
    )
