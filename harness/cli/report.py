"""The commands ``harness report``, which writes a report of results files, and ``harness compare``,
which prints the differences between two runs.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Final

from harness.report import (
    Header,
    ReportError,
    Run,
    compare_runs,
    merge,
    schema,
)
from harness.report.compare import changes_text, refuse_strangers
from harness.report.files import read_run, refuse_file, write_report
from harness.report.header import choose_day
from harness.report.tally import NOTHING_COMPARED, tally, unread_specs
from harness.stream.printable import plural, printable

BROKEN: Final = 1
"""The exit status if the later run is worse than the earlier one, or if a run is not whole."""
NOT_GREEN: Final = 1
"""The exit status if a report is not green."""


def add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        type=Path,
        nargs="*",
        metavar="RESULTS",
        help="results.json of a run, or of all its shards in any order",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="the folder to write to (required)"
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="RESULTS",
        help="results.json of an earlier run: show the changes since that run (default: show none)",
    )
    parser.add_argument(
        "--date",
        metavar="YYYY-MM-DD",
        help="show the ages of cassettes on that day (default: the day of SOURCE_DATE_EPOCH, else"
        " no ages)",
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of results.json instead"
    )
    parser.set_defaults(run=_report)


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", type=Path, metavar="BASE", help="results.json of the earlier run")
    parser.add_argument("head", type=Path, metavar="HEAD", help="results.json of the later run")
    parser.add_argument(
        "--allow-gone", action="store_true", help="exit with status 0 even if a cell is gone"
    )
    parser.set_defaults(run=_compare)


def _report(parsed: argparse.Namespace) -> int:
    if parsed.schema:
        print(json.dumps(schema(), indent=2))
        return 0
    if not parsed.results or parsed.output is None:
        raise ReportError(
            "report: the results or the folder are missing; name the results.json of a run and the"
            " folder to write to: harness report RESULTS -o DIR; `pytest specs --harness-report"
            " DIR` writes DIR/results.json"
        )
    refuse_file(parsed.output)
    day = choose_day(parsed.date, os.environ.get("SOURCE_DATE_EPOCH", ""))
    run = merge([*map(read_run, parsed.results), Run(Header(day=day))])
    write_report(run, read_run(parsed.baseline) if parsed.baseline else None, parsed.output)
    whole = tally(run.results)
    if not run.plan.is_whole:
        print(run.plan.sentence)
    if run.header.unread:
        print(f"{plural(len(unread_specs(run.header.unread)), 'spec')} could not be read")
    if not whole.compared:
        print(NOTHING_COMPARED.removesuffix("."))
    print(f"{whole.words}: {printable(str(parsed.output / 'index.html'))}")
    return 0 if whole.is_green and not run.header.unread else NOT_GREEN


def _compare(parsed: argparse.Namespace) -> int:
    named_runs = [(path, read_run(path)) for path in (parsed.base, parsed.head)]
    (_, base), (_, head) = named_runs
    refuse_strangers(base, head)
    changes = compare_runs(base, head)
    print(changes_text(changes, {}), end="")
    partial = [(path, run) for path, run in named_runs if not run.plan.is_whole]
    for path, run in partial:
        print(printable(f"{path}: {run.plan.sentence}"))
    gone = any(change.kind == "gone" for change in changes) and not parsed.allow_gone
    return BROKEN if gone or partial or any(change.red for change in changes) else 0
