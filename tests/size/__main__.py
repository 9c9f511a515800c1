"""Prints the size of the house beside its limits: ``python -m tests.size [--lower]``. The exit
status is 1 if a number is above its limit, or a name that is gone stands in a file again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import limits, rooms, walks

ROOT = Path(__file__).parents[2]


def main(words: list[str]) -> int:
    measured = {
        "nodes": rooms.count_rooms(ROOT),
        "files": rooms.count_words(ROOT),
        "hops": walks.count_walks(),
    }
    known = limits.read(limits.FILE.read_text(encoding="utf-8"))
    if "--lower" in words:
        limits.FILE.write_text(limits.lowered(known, measured), encoding="utf-8")
    table = known.rows(measured)
    print(f"{'':30}{'now':>8}{'limit':>8}{'left':>8}")
    print(*table, sep="\n")
    nodes = sum(measured["nodes"].values())
    statements = rooms.count_providers(ROOT)
    wires = ", ".join(f"{name} {number}" for name, number in statements.items() if number > 100)
    print(f"all rooms: {nodes:,} nodes; statements of each wire: {wires}")
    above = [row for row in table if row.is_above]
    for row in above:
        print(
            f"{limits.FILE.relative_to(ROOT)}: {limits.KINDS[row.kind]}: {row.name} has"
            f" {row.measured:,}, the limit is {row.limit:,}; take something away, or, for something"
            f' new or a fix, add {{kind = "{row.kind}", name = "{row.name}", number ='
            f' {row.measured - row.limit}, why = "…"}} to added'
        )
    back = rooms.find_gone(ROOT, list(known.gone))
    print(*back, sep="\n", end="\n" if back else "")
    return int(bool(above or back))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
