"""Runs the programs of cells in a thread, while the cells before them are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import pytest

from harness.conformance.adapters import Adapter, Output
from harness.conformance.judge import Cell, resolve_fixture, run_cell
from harness.conformance.project import Project

from .project import project_of

NAME: Final = "programs that run ahead"


class Ahead:
    """The outputs of cells, made one after another in their order."""

    def __init__(self, project: Project, cells: Sequence[Cell]) -> None:
        self._project = project
        self._pool = ThreadPoolExecutor(1, NAME)
        once = {id(cell): cell for cell in cells}
        self._outputs = {key: self._pool.submit(self._output, cell) for key, cell in once.items()}

    def adapter(self, cell: Cell) -> Adapter | None:
        """The adapter of a cell; its first run returns the output that was made in advance."""
        adapter = self._project.adapter(cell.column)
        output = self._outputs.pop(id(cell), None)
        if adapter is None or output is None:
            return adapter
        return replace(adapter, run=lambda exchange, options: output.result())

    def stop(self) -> None:
        """Begin no other run."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _output(self, cell: Cell) -> Output:
        fixture = resolve_fixture(cell.case, self._project.cassette)
        return run_cell(cell, fixture, self._project.adapter(cell.column))


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
