"""pytest's door to the laws: with ``--harness-laws`` every cassette is a file of items, one a law, exchange and dialect.

Nothing of ours is imported without the option. An item is judged wherever pytest-xdist puts it, and its result travels as that of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .plugin import HarnessFailure, ResultItem, _project

if TYPE_CHECKING:
    from .laws.judging import LawCell


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("harness").addoption(
        "--harness-laws",
        action="store_true",
        help="hold the laws against every exchange of the cassettes too: an item a law, exchange and dialect",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The cassettes are collected beside whatever else was asked for."""
    if config.getoption("--harness-laws"):
        folder = _folder(config)
        named = [(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args]
        if not any(path == folder or folder in path.parents or path in folder.parents for path in named):
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("--harness-laws") or file_path.suffix not in (".yaml", ".yml"):
        return None
    return CassetteFile.from_parent(parent, path=file_path) if file_path.is_relative_to(_folder(parent.config)) else None


def _folder(config: pytest.Config) -> Path:
    return Path(config.rootpath / config.getini("harness_cassettes")).resolve()


class CassetteFile(pytest.File):
    """A cassette; its items are laws, held against each exchange."""

    def collect(self) -> Iterator[pytest.Item]:
        from .cassette import CassetteError
        from .dialects import DIALECTS
        from .laws.judging import cells

        providers, dialects = self.config.getoption("--harness-provider"), self.config.getoption("--harness-dialect")
        name = self.path.relative_to(_folder(self.config)).with_suffix("").as_posix()
        try:
            cassette = _project(self.config).cassette(name)
        except CassetteError as error:
            raise self.CollectError(str(error)) from None
        for cell in cells(name, cassette.exchanges, list(DIALECTS), cassette.origin):
            if (not dialects or cell.column in dialects) and (not providers or cell.exchange.provider in providers):
                yield LawItem.from_parent(self, name=cell.name, nodeid=f"{self.nodeid}::{cell.name}", cell=cell)


class LawItem(ResultItem):
    """One law, one exchange, one dialect: ``cassette.yaml::law-1-cuts-dont-matter-2[events]``."""

    def __init__(self, *, cell: LawCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    def runtest(self) -> None:
        from msgspec.structs import replace

        from .laws.judging import hold, ready_made_case
        from .telling import explain

        self.result = replace(hold(self.cell), command=f"pytest --harness-laws '{self.nodeid}'")
        if self.result.verdict != "passed":
            raise HarnessFailure(f"{explain(self.result, self.cell.law.id)}\n\nA case that shows it:\n{ready_made_case(self.cell)}")

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name
