"""The command ``harness scan``: looks for secrets in files, for CI and pre-commit.

It scans every file as text. A recording in any format that `harness.load` reads is also scanned
after decoding. Findings go to stdout, one per line and never with the secret. Files that cannot be
read go to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.cassettes import MAX_BYTES, CassetteError, is_cassette
from harness.cassettes.journal import is_journal
from harness.cassettes.load import read_recording
from harness.cassettes.redaction.scanner import Finding, Scanner
from harness.cassettes.redaction.secrets import guard
from harness.stream.printable import plural, printable

from .output import note

CLEAN: Final = 0
FOUND: Final = 1
UNREAD: Final = 2
"""Exit statuses: no secret, a secret, a file that cannot be read."""

LEFT_OUT: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
"""Folders below a path that are not scanned."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files, folders, or names of cassettes"
    )
    parser.set_defaults(run=_scan)


def _scan(parsed: argparse.Namespace) -> int:
    """Raises `CassetteError` for redaction rules or credentials that cannot be read."""
    scanner = guard().scanner
    status, count = CLEAN, 0
    for path in _files(map(_path_of, parsed.paths)):
        count += 1
        try:
            findings = scan_file(path, scanner)
        except (OSError, CassetteError) as error:
            reason = (
                f"{path}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            )
            note(reason)
            status = UNREAD
            continue
        for finding in findings:
            place = "a file" if finding.place == "the file's name" else path
            print(printable(f"{place}: {finding}"))
        if findings:
            status = max(status, FOUND)
    print(f"{plural(count, 'file')} scanned", file=sys.stderr)
    return status


def scan_file(path: Path, scanner: Scanner) -> list[Finding]:
    """The secrets in a file. Raises `OSError`, and `CassetteError` for a damaged cassette of ours
    or a file that is too large.
    """
    if path.stat().st_size > MAX_BYTES:
        raise CassetteError(f"{path}: larger than {MAX_BYTES} bytes")
    data = path.read_bytes()
    findings = scanner.scan(data, str(path))
    ours = is_cassette(data) or is_journal(data)
    try:
        cassette = read_recording(data, str(path))
    except CassetteError:
        if ours:
            raise
        return findings
    return findings + scanner.scan_cassette(cassette, redacted=not ours)


def _path_of(argument: str) -> Path:
    """A path, or that of the cassette or the folder of cassettes of this name; the argument itself
    where there is none.
    """
    path = Path(argument)
    if path.exists():
        return path
    from harness.conformance.recordings import find_path  # start-up time

    with suppress(FileNotFoundError):
        return find_path(argument)
    return path


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named and those below the folders named, in order. A path that does not exist is
    passed on: reading it raises.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, names, files in os.walk(path):
            names[:] = sorted(set(names) - LEFT_OUT)
            yield from (Path(folder, name) for name in sorted(files))
