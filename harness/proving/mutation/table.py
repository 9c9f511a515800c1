"""The kill table as text. It has a row for each operator that made a mutant, and a column for each
dialect or adapter. Then follow the mutants that the laws detect, a row for each feature, and the
faults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.stream.printable import plural

from . import Proof
from .facts import FactsOperator

KillCount = tuple[int, int]
"""The numbers of killed mutants and of all mutants."""


def kill_table(proof: Proof, columns: Sequence[str]) -> str:
    """Return a table whose cells have ``killed/mutants``, for the laws ``noticed/mutants``. A cell
    is blank if the column cannot have the fault, or has no case for it.
    """
    by_operator = {
        (result.operator.name, result.column): (len(result.killed), len(result.applied))
        for result in proof.results
    }
    by_laws = {
        (result.operator.name, result.column): (len(result.noticed), len(result.applied))
        for result in proof.results
        if isinstance(result.operator, FactsOperator) or result.operator.layer == "payloads"
    }
    applied = dict.fromkeys(result.operator.name for result in proof.results if result.applied)
    by_feature = {
        (feature, column): (killed, mutants)
        for (column, feature), (mutants, killed) in proof.features.items()
    }
    return "\n".join(
        [
            *_rows("operator", list(applied), by_operator, columns),
            "",
            *_rows(
                "noticed by laws",
                [name for name in applied if any(name == noticed for noticed, _ in by_laws)],
                by_laws,
                columns,
            ),
            "",
            *_rows("feature", sorted({name for name, _ in by_feature}), by_feature, columns),
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
    counts: Mapping[tuple[str, str], KillCount],
    columns: Sequence[str],
) -> list[str]:
    width = max([len(head), *map(len, names)])
    widths = {column: max(12, len(column)) for column in columns}
    lines = [f"{head:<{width}}" + "".join(f"  {name:>{widths[name]}}" for name in columns)]
    for name in names:
        cells = []
        for column in columns:
            pair = counts.get((name, column))
            cells.append(f"  {'' if pair is None else f'{pair[0]}/{pair[1]}':>{widths[column]}}")
        lines.append(f"{name:<{width}}" + "".join(cells).rstrip())
    return lines


def _never_applied(number: int) -> list[str]:
    """Return one line for all operators that were never applied. A small project has cases for few
    operators. It is not a fault of the project, and one line for each would hide the rest.
    """
    if not number:
        return []
    return [
        f"{plural(number, 'operator')} never applied: no case contains what they change"
        " (--survivors names them)"
    ]


def _conclusion(proof: Proof) -> str:
    if not proof.controls:
        return (
            "nothing is proven: no case passes without a mutation; write a case that expects"
            " payloads or requests of the dialect, and correct the cases that fail"
        )
    mutants = sum(len(result.applied) for result in proof.results)
    killed = sum(len(result.killed) for result in proof.results)
    faults = len(proof.faults)
    cells = f"{proof.controls} cell{'' if proof.controls == 1 else 's'}"
    noticed = sum(len(result.noticed) for result in proof.results)
    each = ", ".join(f"{law} {count}" for law, count in sorted(proof.laws.items()))
    whole = (
        f"{len(proof.results)} operators on {cells}: {killed} of {mutants} mutants killed by their"
        f" own case, {noticed} noticed by laws ({each or 'none'}), {proof.unnoticed} by neither"
    )
    return (
        f"{whole}; {plural(faults, 'problem')}: the lines that begin with !"
        if faults
        else f"{whole}; every operator that applied is killed"
    )
