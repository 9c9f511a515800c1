"""Runs the programs of cells in a thread, while the cells before them are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Final

import pytest

from harness.conformance.adapters import Adapter, Output
from harness.conformance.judge import Cell, resolve_fixture, run_cell
from harness.conformance.project import Project

from .project import project_of

NAME: Final = "programs that run ahead"
PATIENCE_S: Final = 5.0
"""Seconds that the end of a run waits for a program."""


class Ahead:
    """The outputs of cells, made one after another in their order."""

    def __init__(self, project: Project, cells: Sequence[Cell]) -> None:
        self._project = project
        jobs: dict[int, tuple[Cell, Future[Output]]] = {
            id(cell): (cell, Future()) for cell in cells
        }
        self._outputs = {key: output for key, (_, output) in jobs.items()}
        self._stopped = Event()
        self._thread = Thread(target=self._work, args=([*jobs.values()],), name=NAME, daemon=True)
        self._thread.start()

    def adapter(self, cell: Cell) -> Adapter | None:
        """The adapter of a cell; its first run gives the output that was made ahead."""
        adapter = self._project.adapter(cell.column)
        output = self._outputs.pop(id(cell), None)
        if adapter is None or output is None:
            return adapter
        return replace(adapter, run=lambda exchange, options: output.result())

    def stop(self) -> None:
        """Begin no other run."""
        self._stopped.set()
        self._thread.join(PATIENCE_S)

    def _work(self, jobs: Sequence[tuple[Cell, Future[Output]]]) -> None:
        for cell, output in jobs:
            if self._stopped.is_set():
                return
            try:
                fixture = resolve_fixture(cell.case, self._project.cassette)
                made = run_cell(cell, fixture, self._project.adapter(cell.column))
            except BaseException as error:  # noqa: BLE001  # raised where the output is used
                output.set_exception(error)
            else:
                output.set_result(made)


AHEAD: Final = pytest.StashKey[Ahead]()


@contextmanager
def run_ahead(config: pytest.Config, cells: Sequence[Cell]) -> Iterator[None]:
    """Run the programs of these cells while the block runs the tests."""
    ahead = config.stash[AHEAD] = Ahead(project_of(config), cells)
    try:
        yield
    finally:
        del config.stash[AHEAD]
        ahead.stop()
