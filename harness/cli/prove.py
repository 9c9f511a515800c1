"""``harness check --prove``: mutation testing of a project's specs."""

from __future__ import annotations

import argparse
from typing import Final

from harness.adapters.named import NamedAdapter
from harness.dialects import DIALECTS
from harness.project.configuration import folders_of, project_of
from harness.project.folders import yaml_files
from harness.project.project import kind_of
from harness.proving.mutation import prove
from harness.proving.mutation.table import kill_table
from harness.specs.spec_error import SpecError
from harness.stream.printable import printable

from .named_adapter import open_adapter
from .output import note, with_progress

UNPROVEN: Final = 1


def prove_specs(parsed: argparse.Namespace) -> int:
    """Print the table of the detected faults. Returns the exit status."""
    project, (folders, _) = project_of(parsed), folders_of(parsed)
    roots = parsed.paths or folders
    adapters = {
        adapter.name: adapter
        for adapter in (open_adapter(target) for target in parsed.adapter)
        if adapter.name not in DIALECTS
    }
    project.adapters |= {
        adapter.name: NamedAdapter(adapter.name, adapter.model, "") for adapter in adapters.values()
    }
    if missing := [str(root) for root in roots if not root.exists()]:
        raise SpecError(missing[0], [(1, "no such file or folder; name the specs with --specs")])
    files = [file for root in roots for file in yaml_files(root) if kind_of(file) == "spec"]
    cells = [cell for file in files for cell in project.cells(file)]
    named = {cell.column for cell in cells}
    chosen = [] if adapters else [name for name in DIALECTS if name in named]
    dialects = parsed.dialect or chosen
    if not (dialects or adapters):
        places = ", ".join(map(str, roots))
        note(
            f"{places}: no spec expects payloads or requests of an event model; there is nothing to"
            " prove"
        )
        return UNPROVEN
    try:
        shown = with_progress(cells, "prove", "cells")
        proof = prove(shown, project.cassette, dialects, adapters)
    finally:
        for adapter in adapters.values():
            adapter.close()
    if parsed.survivors:
        print("\n".join(printable(f"- {line}") for line in (*proof.survivors, *proof.unapplied)))
    print("\n".join(map(printable, kill_table(proof, [*dialects, *adapters]).split("\n"))), end="")
    return UNPROVEN if proof.faults else 0
