"""Writes the matrix of public adapters, a static site, from the results of `run.py`.

usage: matrix.py [--results DIR] [--output DIR] [--disputes FILE]

``disputes.yaml`` has the findings that somebody disputes: adapter, link, aspects, note. An adapter
without results is left out. The exit status is 1 if there are no results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from peers import BUILD, HERE, PEERS, ROOT, newest

from harness.cassettes.redaction.secrets import mask
from harness.judging.judge_results import AdapterResults, decode_results
from harness.report.files import write_files
from harness.report.matrix import Dispute, matrix_files
from harness.stream.printable import plural

SITE: Final = ROOT / "build" / "matrix"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the site. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Write the matrix of public adapters.")
    parser.add_argument("--results", type=Path, default=BUILD, metavar="DIR")
    parser.add_argument("--output", type=Path, default=SITE, metavar="DIR")
    parser.add_argument("--disputes", type=Path, default=HERE / "disputes.yaml", metavar="FILE")
    options = parser.parse_args(arguments)
    groups = read_groups(options.results)
    if not groups:
        print(f"{options.results}: no results; judge adapters first: examples/adapters/run.py")
        return 1
    listed: Any = yaml.safe_load(options.disputes.read_text(encoding="utf-8")) or []
    disputes = msgspec.convert(listed, list[Dispute])
    known = [dispute for dispute in disputes if dispute.adapter in groups]
    if unknown := sorted({dispute.adapter for dispute in disputes} - {*PEERS}):
        parser.error(f"{options.disputes}: no adapter is called {', '.join(unknown)}")
    write_files(matrix_files(groups, known), options.output)
    versions = sum(map(len, groups.values()))
    counts = f"{plural(len(groups), 'adapter')}, {plural(versions, 'version')}"
    print(f"{counts}: {options.output / 'index.html'}")
    return 0


def read_groups(folder: Path) -> dict[str, list[AdapterResults]]:
    """The results of each adapter, without secrets; its newest version first."""
    groups: dict[str, list[AdapterResults]] = {}
    for name in sorted(PEERS, key=lambda name: newest(name) != name):
        path = folder / f"{name}.json"
        if path.is_file():
            found = decode_results(path.read_bytes(), path.name).adapters
            groups.setdefault(newest(name), []).extend(mask().value(found))
    return groups


if __name__ == "__main__":
    sys.exit(main())
