"""Deletes unused cassettes at the end of a run (``--harness-prune``), as ``harness check --prune``.

A cassette may be used by a cell that the run did not have. So only a green run of everything
deletes.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from harness.project.unused import OUTSIDE, delete_unused, is_outside, uncollected, unused_of
from harness.stream.printable import printable

from .mask import masked
from .project import project_of
from .summary import is_whole


class Pruned(NamedTuple):
    """One line about a file, or the reason why nothing was deleted."""

    sentence: str
    is_fault: bool = False


def prune(session: pytest.Session, *, is_partial: bool) -> list[Pruned]:
    """Delete the unused cassettes of the project of a run that ends now. ``is_partial``: whether
    a part of the plan was not judged or could not be read.
    """
    config = session.config
    if reason := _refusal(session, is_partial=is_partial):
        return [Pruned(f"nothing was deleted: {reason}", is_fault=True)]
    project = project_of(config)
    unused = unused_of(project, config.rootpath)
    lines = [Pruned(one.sentence) for one in unused if one.exchanges]
    lines += [
        Pruned(f"not collected: {path} is a spec outside of the folders of specs")
        for path in uncollected(project, config.rootpath)
    ]
    here = config.invocation_params.dir
    try:
        for path in delete_unused(project, unused):
            lines.append(Pruned(f"deleted: {os.path.relpath(path, here)}"))
    except OSError as error:
        lines.append(Pruned(f"not deleted: {error.filename}: {error.strerror}", is_fault=True))
    if all(one.exchanges for one in unused):
        lines.append(Pruned("nothing was deleted: every cassette is used"))
    return lines


def _refusal(session: pytest.Session, *, is_partial: bool) -> str:
    """Return why this run must not delete, or ""."""
    config = session.config
    if config.option.collectonly:
        return "the tests were only collected; run them without --collect-only"
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        return "nothing ran; name the folders of the specs and the tests after `pytest`"
    if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return "the run did not end normally; mend that first"
    if is_partial or config.getoption("--harness-dialect") or not is_whole(session):
        return "the run did not have all specs and adapters; run `pytest` without a selection"
    if session.exitstatus != pytest.ExitCode.OK:
        return "the run is not green; mend it first, or use `harness check --prune`"
    return OUTSIDE if is_outside(project_of(config), config.rootpath) else ""


def write_pruned(terminal: pytest.TerminalReporter, lines: list[Pruned]) -> None:
    """Print what was deleted, or why nothing was."""
    terminal.write_sep("=", "Unused cassettes")
    for line in lines:
        terminal.write_line(masked(printable(line.sentence)), red=line.is_fault)
