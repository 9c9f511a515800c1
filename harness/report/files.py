"""The files of a report on disk: reads the results of a run and writes a report's folder.

Secrets are replaced when a row is made or read: a report may be published, and a comparison must
see the same text on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.cassettes.redaction.secrets import mask
from harness.providers import PROVIDERS
from harness.recording.atomic_file import save

from . import render
from .badges import FOLDER, OPENING
from .ci import SUMMARY
from .document import RESULTS, Run, unpack
from .layout import ReportError, page_name

INDEX: Final = "index.html"
_SENTENCE: Final = "The run has not finished, so there is no report of it."
_UNFINISHED: Final = {
    INDEX: "<!doctype html><html lang=en><meta charset=utf-8><title>Not finished</title>"
    f"<main><p>{_SENTENCE}</main></html>\n",
    SUMMARY: f"{_SENTENCE}\n",
}
"""The pages that a person reads first."""


def read_run(path: Path) -> Run:
    """Read the run in a file, or in the ``results.json`` of a report's folder.

    Raises `ResultsError` with the file's name, `ReportError` for a folder without results, or
    `OSError`.
    """
    if path.is_dir():
        folder, path = path, path / RESULTS
        if not path.exists():
            raise ReportError(
                f"{folder.absolute()} has no {RESULTS}; `pytest specs --harness-report {folder}`"
                " writes it"
            )
    run, masks = unpack(path.read_bytes(), path.name), mask()
    return Run(masks.value(run.header), [masks.value(result) for result in run.results])


def write_report(run: Run, baseline: Run | None, target: Path) -> None:
    """Write all files of a report into a folder. Its header and its rows have no secrets."""
    write_files(render(run, baseline), target)


def mark_unfinished(target: Path) -> None:
    """Replace the pages of an earlier report by a sentence, until the run writes its own. Its
    results stay, because a run may be compared with them.
    """
    for name, text in _UNFINISHED.items():
        if (target / name).is_file():
            _write(target / name, text)


def refuse_file(target: Path) -> None:
    """Raise `ReportError` if a folder can't be written, because it, or a folder above it, is a
    file. A command asks before its work.
    """
    for place in (target, *target.parents):
        if place.is_dir():
            return
        if place.exists() or place.is_symlink():
            raise ReportError(f"{place} is a file; name a folder for the report")


def write_files(files: Mapping[str, str], target: Path) -> None:
    """Write the files of a report (name → text) into a folder and delete those that an earlier
    report left there.
    """
    for name, text in files.items():
        _write(target / name, text)
    for place in _stale_files(files, target):
        place.unlink()


def _write(place: Path, text: str) -> None:
    save(place, [text.encode()], flush=False)


def _stale_files(files: Mapping[str, str], target: Path) -> list[Path]:
    """Return the files of an earlier report that this one does not have. Links and foreign files
    are kept.
    """
    badges = sorted((target / FOLDER).glob("*.svg"))
    return [
        place
        for place in (*(target / page_name(name) for name in ("", *PROVIDERS)), *badges)
        if place.relative_to(target).as_posix() not in files
        and place.is_file()
        and not place.is_symlink()
        and (place.suffix != ".svg" or place.read_bytes().startswith(OPENING.encode()))
    ]
