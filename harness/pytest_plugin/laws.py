"""Laws as test items. With ``--harness-laws`` every cassette is a file with one item for each law,
exchange and adapter.

An item is judged in the process in which pytest-xdist runs it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from harness.adapters import Adapter, OutOfTime, Output, RunOptions
from harness.cassettes.load import load
from harness.judging.evidence import examine_law
from harness.judging.laws.judge import LawCell, cells, judge_law
from harness.stream.exchange import Exchange

from .items import Planned, RowItem
from .paths import below, cassette_folder
from .project import project_of

PATIENCE_S: Final = 120.0
"""The time limit of a user's adapter for one law and exchange, in seconds. It includes the time to
make a failing exchange smaller.
"""


class LawItem(RowItem):
    """One law, one exchange, one adapter: ``cassette.yaml::law-1-cuts-dont-matter-2[events]``."""

    cell: LawCell

    @staticmethod
    def cells(path: Path, config: pytest.Config) -> Sequence[Planned]:
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

    @classmethod
    def options_of(cls, cell: LawCell) -> Sequence[str]:
        return ["--harness-laws"]

    def runtest(self) -> None:
        cell = self.cell
        if cell.column in project_of(self.config).adapters:
            cell = dataclasses.replace(cell, adapter=_with_deadline(cell.adapter))
        judgement = judge_law(cell)
        result = self.keep(examine_law(cell, judgement))
        self.conclude(result, judgement.exception)


def _with_deadline(adapter: Adapter) -> Adapter:
    """Return the user's adapter, which refuses to run after the time limit for one law."""

    until = time.monotonic() + PATIENCE_S

    def run(exchange: Exchange, options: RunOptions) -> Output:
        if time.monotonic() > until:
            raise OutOfTime(f"adapter {adapter.name} took more than {PATIENCE_S:g} s for this law")
        return adapter.run(exchange, options)

    return dataclasses.replace(adapter, run=run)
