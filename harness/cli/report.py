"""The command ``harness report``, which writes a report of results files."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Final

from harness.report import Header, ReportError, Run, merge, schema
from harness.report.files import read_run, refuse_file, write_report
from harness.report.header import choose_day
from harness.report.tally import NOTHING_COMPARED, tally, unread_specs
from harness.stream.printable import plural, printable

NOT_GREEN: Final = 1
"""The exit status if a report is not green."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
