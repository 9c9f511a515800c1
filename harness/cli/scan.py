"""The command ``harness scan``: searches for secrets in files, for CI and pre-commit.

It scans every file as text. A recording in any format that `harness.load` reads is also scanned
after decoding, and a packed file after unpacking. Findings are printed to stdout, one per line and
without the secret. Files that can't be read are reported on stderr.
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
from harness.cassettes.packed import NotUnpacked, Unpacking
from harness.cassettes.redaction.guard import FoundSecret, Guard
from harness.cassettes.redaction.secrets import guard
from harness.project.folders import LEFT_OUT
from harness.project.recordings import STDIN, find_path, read_stdin
from harness.stream.printable import plural, printable

from .output import note, with_progress

CLEAN: Final = 0
FOUND: Final = 1
UNREAD: Final = 2
"""The exit statuses: no secret; a secret or a packed file that can't be unpacked; a file that can't
be read or no file at all.
"""

NOT_READ: Final = "packed content that is not read"
"""The beginning of the kind of a finding about a packed file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="files, folders, names of cassettes, or - for stdin",
    )
    parser.set_defaults(run=_scan)


def _scan(parsed: argparse.Namespace) -> int:
    """Scan the files. Raises `CassetteError` for redaction rules or credentials that can't be
    read.
    """
    own = guard()
    status, count, unread = CLEAN, 0, 0
    for path in with_progress(_files(map(_path_of, parsed.paths)), "scan", "files"):
        try:
            findings = scan_file(path, own)
        except (OSError, CassetteError) as error:
            reason = (
                f"{path}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            )
            note(reason)
            status, unread = UNREAD, unread + 1
            continue
        is_read = not any(finding.kind.startswith(NOT_READ) for finding in findings)
        count, unread = count + is_read, unread + (not is_read)
        for finding in findings:
            place = "a file" if finding.place == "the file's name" else path
            print(printable(f"{place}: {finding}"))
        if findings:
            status = max(status, FOUND)
    if not count and not unread:
        note(f"nothing to scan: {', '.join(parsed.paths)} has no file")
        status = UNREAD
    skipped = f", {plural(unread, 'file')} not scanned" if unread else ""
    print(f"{plural(count, 'file')} scanned{skipped}", file=sys.stderr)
    return status


def scan_file(path: Path, guard: Guard) -> list[FoundSecret]:
    """Return the secrets in a file. Raises `OSError`. Raises `CassetteError` for a damaged cassette
    in our own format, or a file that is too large.
    """
    if str(path) == STDIN:
        data = read_stdin()
    elif path.stat().st_size > MAX_BYTES:
        raise CassetteError(f"{path}: larger than {MAX_BYTES} bytes")
    else:
        data = path.read_bytes()
    findings = _scan_data(data, str(path), guard)
    try:
        for name, content in Unpacking().contents(data, str(path)):
            findings += [
                FoundSecret(f"{name}: {place}", kind)
                for place, kind in _scan_data(content, name, guard)
            ]
    except NotUnpacked as error:
        findings.append(FoundSecret("the file", f"{NOT_READ}: {error}"))
    return findings


def _scan_data(data: bytes, name: str, guard: Guard) -> list[FoundSecret]:
    findings = guard.scan(data, name)
    ours = is_cassette(data) or is_journal(data)
    try:
        cassette = read_recording(data, name)
    except CassetteError:
        if ours:
            raise
        return findings
    return findings + guard.scan_cassette(cassette)


def _path_of(argument: str) -> Path:
    """Return the path of an argument: a file or folder, or a cassette or folder of cassettes with
    this name. If there is none, the argument itself.
    """
    path = Path(argument)
    if argument == STDIN or path.exists():
        return path
    with suppress(FileNotFoundError):
        return find_path(argument)
    return path


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the named files, and the files in the named folders and their subfolders, in order. A
    path that does not exist is kept, because reading it raises an error.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, names, files in os.walk(path):
            names[:] = sorted(set(names) - LEFT_OUT)
            yield from (Path(folder, name) for name in sorted(files))
