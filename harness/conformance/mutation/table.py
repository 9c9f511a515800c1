"""The kill table as text: a row a damage that was applied, a column an event model, then a row a
feature, then what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import ALL, Proof


def kill_table(proof: Proof, dialects: Sequence[str]) -> str:
    """``killed/applied`` in every cell; a blank where an event model cannot carry the damage, or
    has no such case.
    """
    damages = {damage.name: damage.says for damage in ALL}
    counted = {
        (one.damage.name, one.dialect): (len(one.killed), len(one.applied)) for one in proof.mutants
    }
    features = sorted({feature for _, feature in proof.features})
    applied = {one.damage.name for one in proof.mutants if one.applied}
    by_feature = {
        (name, dialect): (killed, applied)
        for (dialect, name), (applied, killed) in proof.features.items()
    }
    return "\n".join(
        [
            *_rows("damage", [name for name in damages if name in applied], counted, dialects),
            "",
            *_rows("feature", features, by_feature, dialects),
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
    counted: Mapping[tuple[str, str], tuple[int, int]],
    columns: Sequence[str],
) -> list[str]:
    width = max([len(head), *map(len, names)])
    lines = [f"{head:<{width}}" + "".join(f"  {column:>12}" for column in columns)]
    for name in names:
        found = (counted.get((name, column)) for column in columns)
        cells = (f"  {'' if pair is None else f'{pair[0]}/{pair[1]}':>12}" for pair in found)
        lines.append(f"{name:<{width}}" + "".join(cells).rstrip())
    return lines


def _never_applied(number: int) -> list[str]:
    """A small project has cases for few damages, and a line for each of the others would hide what
    is said of those.
    """
    said = (
        f"! {number} damage{'' if number == 1 else 's'} never applied: no case has what they change"
        " (--unnoticed names them)"
    )
    return [said] if number else []


def _conclusion(proof: Proof) -> str:
    applied = sum(len(mutant.applied) for mutant in proof.mutants)
    killed = sum(len(mutant.killed) for mutant in proof.mutants)
    faulty = len(proof.faults)
    cells = f"{proof.controls} cell{'' if proof.controls == 1 else 's'}"
    whole = f"{len(proof.mutants)} damages of {cells}: {killed} of {applied} damaged cells noticed"
    return (
        f"{whole}; {faulty} fault{'' if faulty == 1 else 's'}"
        if faulty
        else f"{whole}; every damage is noticed"
    )
