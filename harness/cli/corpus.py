"""The command ``harness corpus``: public recordings of other projects, which are not in the
package. Its lock names them.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path
from typing import Final

from harness.project.corpus import FOLDER, Repository, choose, corpus_folder, fetched, read_lock
from harness.project.corpus_fetch import GIT, RAW, fetch_over_http, fetch_with_git
from harness.stream.printable import plural, printable

from .arguments import read_seconds
from .output import note, with_progress

TIMEOUT_S: Final = 120.0
URL: Final = "HARNESS_CORPUS_URL"
"""The environment variable for the server of the recordings."""
NOT_FETCHED: Final = 1
_MOST_SHOWN: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listed = kinds.add_parser("list", help="print the repositories of the lock, with licences")
    listed.set_defaults(run=_list, parser=listed)
    fetch = kinds.add_parser("fetch", help="download recordings, each verified by its git blob id")
    fetch.set_defaults(run=_fetch, parser=fetch)
    for command in (listed, fetch):
        command.add_argument(
            "names",
            nargs="*",
            metavar="NAME",
            help="OWNER/NAME, or OWNER/NAME/ and the beginning of a path (default: all)",
        )
        command.add_argument(
            "--wire",
            action="append",
            default=[],
            metavar="WIRE",
            help="only recordings of this wire, such as gemini-api (repeatable; default: all)",
        )
        command.add_argument(
            "--to",
            type=Path,
            metavar="DIR",
            help=f"the folder of recordings (default: that of {FOLDER}, else one in the cache)",
        )
    fetch.add_argument(
        "--list", action="store_true", help="only print what would be fetched, with licences"
    )
    fetch.add_argument(
        "--git", action="store_true", help="fetch with git, one call for each repository"
    )
    fetch.add_argument(
        "--base",
        metavar="URL",
        help=f"the server, for a mirror (default: that of {URL}, else {RAW}, or {GIT} with --git)",
    )
    fetch.add_argument(
        "--timeout",
        type=read_seconds,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds for one file, or with --git one repository (default: {TIMEOUT_S:g})",
    )


def _list(parsed: argparse.Namespace) -> int:
    folder = parsed.to or corpus_folder()
    repositories = choose(read_lock(), parsed.names, parsed.wire)
    rows: list[tuple[str, ...]] = [
        ("repository", "licence", "recordings", "fetched", "exchanges", "size", "wires")
    ]
    rows += [_row(repository, folder) for repository in repositories]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if 2 <= place <= 5 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print(printable("  ".join(cells).rstrip()))
    print(f"{_total(repositories)}; folder: {printable(str(folder))}")
    return 0


def _row(repository: Repository, folder: Path) -> tuple[str, ...]:
    wires = Counter(file.wire for file in repository.files)
    return (
        repository.name,
        repository.licence,
        f"{len(repository.files):,}",
        f"{sum(1 for _ in fetched(folder, [repository])):,}",
        f"{repository.exchanges:,}",
        _size(repository.size),
        ", ".join(f"{wire} ({number})" for wire, number in wires.most_common()),
    )


def _size(number: int) -> str:
    return f"{number / 1e6:.1f} MB"


def _total(repositories: list[Repository]) -> str:
    files = sum(len(repository.files) for repository in repositories)
    size = _size(sum(repository.size for repository in repositories))
    return f"{plural(files, 'recording')}, {size}"


def _fetch(parsed: argparse.Namespace) -> int:
    if parsed.list:
        return _list(parsed)
    folder = parsed.to or corpus_folder()
    repositories = choose(read_lock(), parsed.names, parsed.wire)
    licences = Counter(repository.licence for repository in repositories)
    note(
        f"{_total(repositories)}, to {folder}; licences: "
        + ", ".join(f"{name} ({number})" for name, number in licences.most_common())
    )
    base = parsed.base or os.environ.get(URL) or (GIT if parsed.git else RAW)
    fetch = fetch_with_git if parsed.git else fetch_over_http
    counts: Counter[str] = Counter()
    answers = fetch(repositories, folder, base, parsed.timeout)
    for answer in with_progress(answers, "corpus", "files"):
        counts["problem" if answer.problem else "was there" if answer.was_there else "new"] += 1
        if answer.problem and counts["problem"] <= _MOST_SHOWN:
            note(f"{answer.name}: {answer.problem}")
    if (more := counts["problem"] - _MOST_SHOWN) > 0:
        note(f"and {plural(more, 'more problem')}")
    print(
        f"{counts['new']:,} fetched, {counts['was there']:,} were there,"
        f" {counts['problem']:,} not fetched: {printable(str(folder))}"
    )
    return NOT_FETCHED if counts["problem"] else 0
