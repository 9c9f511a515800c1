"""pytest's door to the laws: with ``--harness-laws`` every cassette is a file of items, one a law,
exchange and dialect or adapter.

Nothing of ours is imported without the option. An item is judged wherever pytest-xdist puts it, and
its result travels as that of a cell.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from . import HarnessFailure, ResultItem, _project, id_of_file

if TYPE_CHECKING:
    from harness.conformance.laws.judge import LawCell
    from harness.conformance.laws.strangers import Stranger
    from harness.stream.exchange import Exchange


PATIENCE_S: Final = 120.0
"""So long a user's adapter may take for one law and exchange, with all replays and with making a
breach small.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("harness").addoption(
        "--harness-laws",
        action="store_true",
        help=(
            "hold the laws against every exchange of the cassettes too: an item a law, exchange and"
            " dialect or adapter"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    """The cassettes are collected beside whatever else was asked for."""
    if config.getoption("--harness-laws"):
        folder = _folder(config)
        named = [
            (config.invocation_params.dir / argument.partition("::")[0]).resolve()
            for argument in config.args
        ]
        if not any(
            path == folder or folder in path.parents or path in folder.parents for path in named
        ):
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("--harness-laws") or file_path.suffix not in (".yaml", ".yml"):
        return None
    if not file_path.is_relative_to(_folder(parent.config)):
        return None
    return CassetteFile.from_parent(
        parent, path=file_path, nodeid=id_of_file(file_path, parent.config)
    )


def _folder(config: pytest.Config) -> Path:
    return Path(config.rootpath / config.getini("harness_cassettes")).resolve()


class CassetteFile(pytest.File):
    """A cassette; its items are laws, held against each exchange."""

    def collect(self) -> Iterator[pytest.Item]:
        from harness.cassettes import CassetteError
        from harness.conformance.laws.judge import cells
        from harness.dialects import DIALECTS

        project = _project(self.config)
        providers, dialects = (
            self.config.getoption("--harness-provider"),
            self.config.getoption("--harness-dialect"),
        )
        name = self.path.relative_to(_folder(self.config)).with_suffix("").as_posix()
        try:
            cassette = project.cassette(name)
        except CassetteError as error:
            raise self.CollectError(str(error)) from None
        adapters = {
            one.name: one.dialect for one in project.adapters.values() if one.target
        }  # one of ours has none, and prints no answers
        for cell in cells(name, cassette.exchanges, list(DIALECTS), cassette.origin, adapters):
            if (not dialects or cell.column in dialects) and (
                not providers or cell.exchange.provider in providers
            ):
                yield LawItem.from_parent(
                    self, name=cell.name, nodeid=f"{self.nodeid}::{cell.name}", cell=cell
                )


class LawItem(ResultItem):
    """One law, one exchange, one dialect or adapter:
    ``cassette.yaml::law-1-cuts-dont-matter-2[events]``.
    """

    def __init__(self, *, cell: LawCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    def runtest(self) -> None:
        from msgspec.structs import replace

        from harness.conformance.evidence import examine_law
        from harness.conformance.explain import explain
        from harness.stream.printable import printable

        stranger = self._stranger() if self.cell.dialect else None
        self.result = replace(
            examine_law(self.cell, stranger), command=self.command("--harness-laws")
        )
        match self.result.verdict:
            case "passed":
                return
            case "not-run":
                pytest.skip(
                    printable(f"nothing to look at: {self.result.reason}")
                )  # no green without a comparison that ran
            case "failed":
                evidence = self.result.evidence
                made = "\n".join(
                    case
                    for breach in (evidence.breaches or () if evidence else ())
                    for case in breach.counterexamples
                )
                raise HarnessFailure(
                    f"{explain(self.result, self.place(1))}\n\nA case that shows it:\n{made}"
                )
            case _:
                raise HarnessFailure(explain(self.result, self.place(1)))

    def _stranger(self) -> Stranger:
        """The user's adapter of this item, so that it gives payloads or says what is wrong in one
        way.
        """
        from harness.conformance.judge import AdapterError, adapter_faults
        from harness.conformance.laws.strangers import (
            FEW_TRIES,
            TRIES,
            AdapterFault,
            OutOfTime,
            Stranger,
        )
        from harness.pipeline.replay import DEFAULT_PROVIDER
        from harness.specs import Case

        project, cell = _project(self.config), self.cell
        adapter, named = project.adapter(cell.column), project.adapters[cell.column]
        law = cell.law
        case = Case(
            case=f"law-{law.id}-{law.name}",
            requirement=law.sentence,
            features=(law.feature,),
            source=law.source,
            cassette=cell.cassette,
            provider=cell.exchange.provider or DEFAULT_PROVIDER,
            expect={cell.dialect: None},
        )

        until = time.monotonic() + PATIENCE_S

        def adapt(exchange: Exchange) -> list[Any]:
            if time.monotonic() > until:
                raise OutOfTime(
                    f"adapter {cell.column} took more than {PATIENCE_S:g} s for this law"
                )
            try:
                with adapter_faults():
                    return adapter(exchange, case) if adapter else []
            except AdapterError as error:
                raise AdapterFault(str(error)) from None

        return Stranger(cell.column, cell.dialect, adapt, FEW_TRIES if named.runs else TRIES)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name
