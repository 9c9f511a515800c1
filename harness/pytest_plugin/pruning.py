"""Lists or moves unused cassettes at the end of a run, as ``harness check --prune``, and notes the
files that the run opens.

A cassette may be used by a cell that the run did not have. So only a green run of everything
moves cassettes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from harness.project.folders import SUFFIXES
from harness.project.unused import (
    OUTSIDE,
    is_outside,
    lines_of,
    uncollected,
    unused_of,
)
from harness.project.unused import prune as move_unused
from harness.stream.printable import printable

from .mask import masked
from .project import project_of
from .summary import is_whole

OPENED: Final = "harness-opened"
"""The name of the plugin `Opened`."""
_WORKER: Final = "harness_opened"
"""The name of the files in the output of a worker of pytest-xdist."""


class Pruned(NamedTuple):
    """One line about a file, or the reason why nothing was moved."""

    sentence: str
    is_fault: bool = False


class Opened:
    """A plugin that notes the YAML files that the process opens, through any library, while the
    user's tests are imported and run.
    """

    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self._is_counted = False
        sys.addaudithook(self._hook)  # Python can't remove it

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and self._is_counted and isinstance(arguments[0], (str, bytes)):
            path = os.fsdecode(arguments[0])
            if path.endswith(SUFFIXES):
                self.paths.add(Path(path).absolute())

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        with self._counted(collector, isinstance(collector, (pytest.File, pytest.Class))):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._counted(item, True):
            return (yield)

    @contextmanager
    def _counted(self, node: pytest.Item | pytest.Collector, is_node: bool) -> Iterator[None]:
        self._is_counted = is_node and not type(node).__module__.startswith("harness.")
        try:
            yield
        finally:
            self._is_counted = False

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_WORKER] = sorted(map(str, self.paths))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the files that a worker of pytest-xdist opened."""
        self.paths.update(map(Path, getattr(node, "workeroutput", {}).get(_WORKER, ())))


def prune(session: pytest.Session, *, is_partial: bool) -> list[Pruned]:
    """List the unused cassettes of the project of a run that ends now, and move them if an option
    says so. ``is_partial``: whether a part of the plan was not judged or could not be read.
    """
    config = session.config
    if reason := _refusal(session, is_partial=is_partial):
        return [Pruned(f"nothing was moved: {reason}", is_fault=True)]
    project, opened = project_of(config), config.pluginmanager.get_plugin(OPENED)
    unused = unused_of(project, config.rootpath, opened.paths if opened else ())
    lines = [Pruned(line) for line in lines_of(unused)]
    lines += [
        Pruned(f"not collected: {path} is a spec outside of the folders of specs")
        for path in uncollected(project, config.rootpath)
    ]
    if not unused:
        lines.append(Pruned("nothing was moved: every cassette is used"))
    missing = "" if config.getoption("--harness-yes") else "--harness-yes"
    try:
        lines += map(Pruned, move_unused(project, unused, config.rootpath, missing))
    except OSError as error:
        lines.append(Pruned(f"not moved: {error.filename}: {error.strerror}", is_fault=True))
    return lines


def _refusal(session: pytest.Session, *, is_partial: bool) -> str:
    """Return why this run must not move cassettes, or ""."""
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
    """Print what is unused, what was moved, or why nothing was."""
    terminal.write_sep("=", "Unused cassettes")
    for line in lines:
        terminal.write_line(masked(printable(line.sentence)), red=line.is_fault)
