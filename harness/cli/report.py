"""``harness report`` and ``harness compare``, and the files that both they and the plugin read and
write.

A report is made of results alone, wherever and whenever: ``harness report`` reads the
``results.json`` of one run or of its shards. ``harness compare`` says what changed between two, and
its exit status is for a CI step: 1 if something broke.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from harness.conformance.results import ResultsError
from harness.report import (
    Change,
    Header,
    ReportError,
    Run,
    compare_runs,
    count_kinds,
    merge,
    render,
    schema,
)
from harness.report.compare import KINDS
from harness.report.files import read_run, write_files
from harness.report.header import choose_day
from harness.report.tally import column
from harness.stream.printable import printable

BROKEN: Final = 1
BAD: Final = 2


def add_to(commands: Any) -> None:
    """Add both commands to the parser's commands."""
    one = commands.add_parser("report", help="make a report of results; several files are merged")
    one.add_argument(
        "results",
        type=Path,
        nargs="*",
        metavar="RESULTS",
        help="results.json of a run, or of its shards, in any order",
    )
    one.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the folder to write (required)"
    )
    one.add_argument(
        "--baseline",
        type=Path,
        metavar="RESULTS",
        help="say what changed since this run (default: nothing is compared)",
    )
    one.add_argument(
        "--date",
        metavar="YYYY-MM-DD",
        help=(
            "write the ages of cassettes on that day (default: that of SOURCE_DATE_EPOCH, else no"
            " ages)"
        ),
    )
    one.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of results.json instead"
    )
    one.set_defaults(run=_report)

    one = commands.add_parser(
        "compare",
        help="say what changed between two runs; exit status 1 if something broke or is gone",
    )
    one.add_argument("base", type=Path, metavar="BASE", help="results.json of the run before")
    one.add_argument("head", type=Path, metavar="HEAD", help="results.json of the run after")
    one.add_argument("--allow-gone", action="store_true", help="a cell that is gone is no failure")
    one.set_defaults(run=_compare)


def _report(parsed: argparse.Namespace) -> int:
    if parsed.schema:
        print(json.dumps(schema(), indent=2))
        return 0
    if not parsed.results or parsed.output is None:
        return _refuse(
            "report: name the results.json of a run, or several, and the folder to write: harness"
            " report RESULTS -o DIR"
        )
    try:
        day = choose_day(parsed.date, os.environ.get("SOURCE_DATE_EPOCH", ""))
        run = merge([*map(read_run, parsed.results), Run(Header(day=day))])
        files = render(run, read_run(parsed.baseline) if parsed.baseline else None)
    except (ResultsError, ReportError) as error:
        return _refuse(str(error))
    write_files(files, parsed.output)
    print(
        f"{len(run.results):,} cell{'s' if len(run.results) != 1 else ''}:"
        f" {printable(str(parsed.output / 'index.html'))}"
    )
    return 0


def _compare(parsed: argparse.Namespace) -> int:
    try:
        changes = compare_runs(read_run(parsed.base), read_run(parsed.head))
    except ResultsError as error:
        return _refuse(str(error))
    for change in changes:
        print(_line(change))
    print(
        ", ".join(f"{number} {KINDS[kind].word}" for kind, number in count_kinds(changes).items())
    )
    gone = any(change.kind == "gone" for change in changes) and not parsed.allow_gone
    return BROKEN if gone or any(change.red for change in changes) else 0


def _line(change: Change) -> str:
    cell = change.cell
    return printable(
        f"{KINDS[change.kind].word}: {cell.spec}::{cell.case}[{column(cell)}] ({change.words})"
    )


def _refuse(message: str) -> int:
    print(printable(f"harness: {message}"), file=sys.stderr)
    return BAD
