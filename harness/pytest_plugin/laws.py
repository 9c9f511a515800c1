"""Laws as test items: with ``--harness-laws`` every cassette is a file with one item for each law,
exchange and adapter.

Nothing of the harness is imported without the option. An item is judged in whichever process
pytest-xdist runs it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from . import HarnessFailure, ResultItem, _project, below, cassette_folder, id_of_file

if TYPE_CHECKING:
    from harness.conformance.adapters import Adapter, Output, RunOptions
    from harness.conformance.laws.judge import LawCell
    from harness.stream.exchange import Exchange


PATIENCE_S: Final = 120.0
"""Seconds that a user's adapter has for one law and exchange, including the time to make a failing
exchange smaller.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("harness").addoption(
        "--harness-laws",
        action="store_true",
        help=(
            "test every exchange of the cassettes by the laws too: one item for each law, exchange"
            " and adapter"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the cassettes to the arguments of the run."""
    if config.getoption("--harness-laws"):
        folder = cassette_folder(config)
        named = [
            Path(os.path.normpath(config.invocation_params.dir / argument.partition("::")[0]))
            for argument in config.args
        ]
        inside = any(below(path, [folder]) is not None for path in named)
        if not inside and not any(below(folder.resolve(), [path]) is not None for path in named):
            config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not parent.config.getoption("--harness-laws") or file_path.suffix not in (".yaml", ".yml"):
        return None
    if below(file_path, [cassette_folder(parent.config)]) is None:
        return None
    return CassetteFile.from_parent(
        parent, path=file_path, nodeid=id_of_file(file_path, parent.config)
    )


class CassetteFile(pytest.File):
    """A cassette; its items are the laws, for each exchange and adapter."""

    def collect(self) -> Iterator[pytest.Item]:
        from harness.cassettes import CassetteError
        from harness.cassettes.load import load
        from harness.conformance.laws.judge import cells

        project = _project(self.config)
        providers, dialects = (
            self.config.getoption("--harness-provider"),
            self.config.getoption("--harness-dialect"),
        )
        place = below(self.path, [cassette_folder(self.config)]) or self.path
        name = place.with_suffix("").as_posix()
        try:
            cassette = load(self.path)
        except CassetteError as error:
            raise self.CollectError(str(error)) from None
        for cell in cells(name, cassette.exchanges, project.law_adapters(), cassette.origin):
            if (not dialects or cell.column in dialects) and (
                not providers or cell.exchange.provider in providers
            ):
                yield LawItem.from_parent(
                    self, name=cell.name, nodeid=f"{self.nodeid}::{cell.name}", cell=cell
                )


class LawItem(ResultItem):
    """One law, one exchange, one adapter: ``cassette.yaml::law-1-cuts-dont-matter-2[events]``."""

    def __init__(self, *, cell: LawCell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    def runtest(self) -> None:
        from dataclasses import replace as replace_field

        from msgspec.structs import replace

        from harness.conformance.evidence import examine_law
        from harness.conformance.explain import explain
        from harness.conformance.laws.judge import judge_law
        from harness.stream.printable import printable

        cell = self.cell
        if cell.column in _project(self.config).adapters:
            cell = replace_field(cell, adapter=_with_deadline(cell.adapter))
        judgement = judge_law(cell)
        examined = examine_law(cell, judgement)
        result = self.keep(replace(examined, command=self.command("--harness-laws")))
        match result.verdict:
            case "passed":
                return
            case "not-run":
                pytest.skip(
                    printable(f"nothing to look at: {result.reason}")
                )  # no green without a comparison that ran
            case "known-failing":
                pytest.xfail(printable(f"known failing: {result.reason} ({result.link})"))
            case "failed":
                evidence = result.evidence
                made = "\n".join(
                    case
                    for breach in (evidence.breaches or () if evidence else ())
                    for case in breach.counterexamples
                )
                raise HarnessFailure(
                    f"{explain(result, self.place(1))}\n\nA case that shows it:\n{made}"
                )
            case _:
                raise HarnessFailure(explain(result, self.place(1))) from judgement.exception

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def _with_deadline(adapter: Adapter) -> Adapter:
    """A user's adapter that refuses to run once the time for one law is over."""
    from dataclasses import replace

    from harness.conformance.adapters import OutOfTime

    until = time.monotonic() + PATIENCE_S

    def run(exchange: Exchange, options: RunOptions) -> Output:
        if time.monotonic() > until:
            raise OutOfTime(f"adapter {adapter.name} took more than {PATIENCE_S:g} s for this law")
        return adapter.run(exchange, options)

    return replace(adapter, run=run)
