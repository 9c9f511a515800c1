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
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from harness.conformance.results import CaseResult, ResultsError
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS
from harness.report import (
    Change,
    Header,
    Named,
    ReportError,
    Run,
    compare_runs,
    count_kinds,
    merge,
    render,
    schema,
    unpack,
)
from harness.report.badges import FOLDER, OPENING
from harness.report.compare import KINDS
from harness.report.layout import page_name
from harness.report.tally import column
from harness.report.text import shortened, visible
from harness.specs import Feature

BROKEN: Final = 1
BAD: Final = 2
PACKAGE: Final = "gemini-conformance"


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


def read_run(path: Path) -> Run:
    """The run in a file, or in the ``results.json`` of a report's folder; raises `ResultsError`
    with its name, or `OSError`.
    """
    path = path / "results.json" if path.is_dir() else path
    return unpack(path.read_bytes(), path.name)


def write_files(files: Mapping[str, str], target: Path) -> None:
    """Write the files of a report into a folder, each beside its place and then moved there; then
    what an earlier one left goes.
    """
    for name, text in files.items():
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.part")
        part.unlink(missing_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(place)
    for place in _left_over(files, target):
        place.unlink()


def _left_over(files: Mapping[str, str], target: Path) -> list[Path]:
    """What is there under a name that only reports write, and this one does not: it would speak of
    another run. Links are left alone.
    """
    names = [target / page_name(""), *sorted((target / FOLDER).glob("*.svg"))]
    others = [
        place
        for place in names
        if place.relative_to(target).as_posix() not in files
        and place.is_file()
        and not place.is_symlink()
    ]
    return [
        place
        for place in others
        if place.suffix != ".svg" or place.read_bytes().startswith(OPENING.encode())
    ]


def tool() -> str:
    """Name and version of the package, from its metadata."""
    try:
        return f"{PACKAGE} {version(PACKAGE)}"
    except PackageNotFoundError:  # a checkout that was not installed
        return PACKAGE


def make_header(
    results: Sequence[CaseResult], features: Sequence[Feature], day: str, unread: Sequence[str]
) -> Header:
    """What this version calls things, whatever was selected, so that shards agree; adapters of
    others go by their own names.
    """
    titles = {name: one.title for name, one in DIALECTS.items()}
    titles |= {
        name: name for name in sorted({result.adapter for result in results} - {"", *DIALECTS})
    }
    return Header(
        tools=(tool(),),
        day=day,
        providers=tuple(
            Named(name, one.title, order) for order, (name, one) in enumerate(PROVIDERS.items())
        ),
        adapters=tuple(
            Named(name, title, order) for order, (name, title) in enumerate(titles.items())
        ),
        features=tuple(
            Named(one.id, one.title, order, one.meaning, one.link)
            for order, one in enumerate(features)
        ),
        losses=tuple(
            Named(loss, meaning, order, of=name)
            for order, name, loss, meaning in sorted(
                (order, name, loss, meaning)
                for name, one in DIALECTS.items()
                for order, (loss, meaning) in enumerate(one.losses.items())
            )
        ),
        unread=tuple(unread),
    )


def choose_day(given: str | None) -> str:
    """The day to reckon ages on: as given, or that of SOURCE_DATE_EPOCH, or none. Raises
    `ReportError`.
    """
    if given is not None:
        try:
            return date.fromisoformat(given).isoformat()
        except ValueError:
            raise ReportError(
                f"date {shortened(given, 40)!r}: not a date; write it as YYYY-MM-DD"
            ) from None
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch:
        return ""
    try:
        if not (epoch.isascii() and epoch.isdigit()):
            raise ValueError
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    except (
        ValueError,
        OverflowError,
        OSError,
    ):  # which of them, for a time that is too far away, is the platform's affair
        known = "a number of seconds since 1970-01-01, in digits, up to the year 9999"
        raise ReportError(
            f"SOURCE_DATE_EPOCH is {shortened(epoch, 40)!r}; it is {known}; correct or unset it"
        ) from None


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
        day = choose_day(parsed.date)
        run = merge([*map(read_run, parsed.results), Run(Header(day=day))])
        files = render(run, read_run(parsed.baseline) if parsed.baseline else None)
    except (ResultsError, ReportError) as error:
        return _refuse(str(error))
    write_files(files, parsed.output)
    print(
        f"{len(run.results):,} cell{'s' if len(run.results) != 1 else ''}:"
        f" {visible(str(parsed.output / 'index.html'))}"
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
    return visible(
        f"{KINDS[change.kind].word}: {cell.spec}::{cell.case}[{column(cell)}] ({change.words})"
    ).replace("\n", " ")


def _refuse(message: str) -> int:
    print(visible(f"harness: {message}"), file=sys.stderr)
    return BAD
