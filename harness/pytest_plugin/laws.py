"""Laws as test items. With ``--harness-laws`` every cassette is a file with one item for each law,
exchange and adapter.

An item is judged in the process in which pytest-xdist runs it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from harness.adapters import Adapter, OutOfTime, Output, RunOptions
from harness.cassettes import CassetteError
from harness.cassettes.load import load
from harness.judging.evidence import examine_law
from harness.judging.laws.judge import LawCell, cells, judge_law
from harness.stream.exchange import Exchange

from .items import ResultItem
from .paths import below, cassette_folder, id_of_file
from .project import project_of

PATIENCE_S: Final = 120.0
"""The time limit of a user's adapter for one law and exchange, in seconds. It includes the time to
make a failing exchange smaller.
"""


def collect_cassette(path: Path, parent: pytest.Collector) -> CassetteFile:
    """Return the collector of a cassette."""
    return CassetteFile.from_parent(parent, path=path, nodeid=id_of_file(path, parent.config))


class CassetteFile(pytest.File):
    """A cassette. Its items are the laws, for each exchange and adapter."""

    def collect(self) -> Iterator[pytest.Item]:
        try:
            selected = cells_of_cassette(self.path, self.config)
        except CassetteError as error:
            raise self.CollectError(str(error)) from None
        for cell in selected:
            yield LawItem.from_parent(
                self, name=cell.name, nodeid=f"{self.nodeid}::{cell.name}", cell=cell
            )


def cells_of_cassette(path: Path, config: pytest.Config) -> list[LawCell]:
    """Return the selected cells of a cassette. Raises `CassetteError`."""
    providers = config.getoption("--harness-provider")
    dialects = config.getoption("--harness-dialect")
    place = below(path, [cassette_folder(config)]) or path
    cassette = load(path)
    adapters = project_of(config).law_adapters()
    name = place.with_suffix("").as_posix()
    return [
        cell
        for cell in cells(name, cassette.exchanges, adapters, cassette.origin)
        if (not dialects or cell.column in dialects)
        and (not providers or cell.exchange.provider in providers)
    ]


class LawItem(ResultItem):
    """One law, one exchange, one adapter: ``cassette.yaml::law-1-cuts-dont-matter-2[events]``."""

    def __init__(self, *, cell: LawCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    def runtest(self) -> None:
        cell = self.cell
        if cell.column in project_of(self.config).adapters:
            cell = dataclasses.replace(cell, adapter=_with_deadline(cell.adapter))
        judgement = judge_law(cell)
        result = self.keep(examine_law(cell, judgement), "--harness-laws")
        self.conclude(result, judgement.exception)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def _with_deadline(adapter: Adapter) -> Adapter:
    """Return the user's adapter, which refuses to run after the time limit for one law."""

    until = time.monotonic() + PATIENCE_S

    def run(exchange: Exchange, options: RunOptions) -> Output:
        if time.monotonic() > until:
            raise OutOfTime(f"adapter {adapter.name} took more than {PATIENCE_S:g} s for this law")
        return adapter.run(exchange, options)

    return dataclasses.replace(adapter, run=run)
