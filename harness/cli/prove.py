"""The command ``harness prove``: mutation testing of a project's specs."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from harness.conformance.configuration import add_folders, folders_of, project_of
from harness.conformance.mutation import prove
from harness.conformance.mutation.table import kill_table
from harness.conformance.project import kind_of, yaml_files
from harness.dialects import DIALECTS
from harness.stream.printable import printable

UNPROVEN: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folders(parser)
    parser.add_argument(
        "--dialect",
        action="append",
        choices=DIALECTS,
        help="only this event model (repeatable; default: all that the specs name)",
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="also list each case that passes with a fault, and each operator never applied",
    )
    parser.set_defaults(run=_prove)


def _prove(parsed: argparse.Namespace) -> int:
    project, (roots, _) = project_of(parsed), folders_of(parsed)
    files = [file for root in roots for file in yaml_files(root) if kind_of(file) == "spec"]
    cells = [cell for file in files for cell in project.cells(file)]
    named = {cell.column for cell in cells}
    dialects = parsed.dialect or [name for name in DIALECTS if name in named]
    if not dialects:
        places = printable(", ".join(map(str, roots)))
        print(
            f"harness: {places}: no spec expects payloads or requests of an event model; there is"
            " nothing to prove",
            file=sys.stderr,
        )
        return UNPROVEN
    proof = prove(cells, project.cassette, dialects)
    if parsed.survivors:
        print("\n".join(printable(f"- {line}") for line in (*proof.survivors, *proof.unapplied)))
    print("\n".join(map(printable, kill_table(proof, dialects).split("\n"))), end="")
    return UNPROVEN if proof.faults else 0
