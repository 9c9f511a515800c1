"""``harness scan PATH…``: whether files show a secret, for CI and pre-commit.

Every file is looked at as text, whatever it is; of a recording in any format that `harness.load`
reads, also what it holds. Findings go to stdout, one a line, never with the secret; what can't be
read goes to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.cassettes import MAX_BYTES, CassetteError, is_cassette
from harness.cassettes.journal import is_unfinished
from harness.cassettes.load import read_recording
from harness.cassettes.redaction.scanner import Finding, Scanner
from harness.cassettes.redaction.secrets import guard
from harness.stream.printable import printable

CLEAN: Final = 0
FOUND: Final = 1
UNREAD: Final = 2

LEFT_OUT: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
"""Folders below a path that are not looked into."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command; its ``run`` gives the exit status: 0 clean, 1 found, 2 something can't be
    read.
    """
    one = commands.add_parser(
        "scan", help="look for secrets in files and in the recordings that they hold"
    )
    one.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="files or folders")
    one.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Scan; returns the exit status. Raises `CassetteError` for scrub rules or credentials that
    can't be read.
    """
    scanner = guard().scanner
    status, count = CLEAN, 0
    for path in _files(parsed.paths):
        count += 1
        try:
            findings = scan_file(path, scanner)
        except (OSError, CassetteError) as error:
            reason = (
                f"{path}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            )
            print(f"harness: {printable(reason)}", file=sys.stderr)
            status = UNREAD
            continue
        for one in findings:
            shown = "a file" if one.place == "the file's name" else path
            print(printable(f"{shown}: {one}"))
        if findings:
            status = max(status, FOUND)
    print(f"{count} file{'' if count == 1 else 's'} looked at", file=sys.stderr)
    return status


def scan_file(path: Path, scanner: Scanner) -> list[Finding]:
    """What a file shows. Raises OSError, and `CassetteError` for a cassette of ours that is damaged
    or too large.
    """
    if path.stat().st_size > MAX_BYTES:
        raise CassetteError(f"{path}: larger than {MAX_BYTES} bytes")
    data = path.read_bytes()
    findings = scanner.scan(data, str(path))
    ours = is_cassette(data) or is_unfinished(data)
    try:
        cassette = read_recording(data, str(path))
    except CassetteError:
        if ours:
            raise
        return findings
    return findings + scanner.scan_cassette(cassette, scrubbed=not ours)


def _files(paths: list[Path]) -> Iterator[Path]:
    """The files named, and those below the folders named, in order; a path that is not there is
    left for reading to find out.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, names, files in os.walk(path):
            names[:] = sorted(set(names) - LEFT_OUT)
            yield from (Path(folder, name) for name in sorted(files))
