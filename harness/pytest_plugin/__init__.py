"""pytest's door: options, the project of a run, the results of its items, and fixtures for
hand-written tests.

`spec_items` and `law_items` make the items, `report_options` writes the report. Nothing of ours is
imported until a spec or a fixture is used, and a run without either is not changed in any way. Each
result travels to the controller on its test report, so the pages are the same bytes with and
without workers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.conformance.project import Project
    from harness.conformance.results import CaseResult
    from harness.server import Server

pytest_plugins = [
    "harness.pytest_plugin.recording",
    "harness.pytest_plugin.laws",
    "harness.pytest_plugin.report",
    "harness.pytest_plugin.specs",
]

RESULT: Final = "harness_result"
"""The attribute of a test report that carries the encoded result from a worker to the
controller.
"""

_PROJECT: Final = pytest.StashKey["Project"]()


class HarnessWarning(UserWarning):
    """A case of level ``should`` failed, or a file that looks like a spec is none."""


class HarnessFailure(Exception):
    """A cell is red; the text is all that a person needs to see."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption(
        "--harness-provider",
        action="append",
        metavar="NAME",
        help="run only cases on this provider's cassettes (repeatable; default: all)",
    )
    group.addoption(
        "--harness-dialect",
        action="append",
        metavar="NAME",
        help="run only the cells of this dialect or adapter (repeatable; default: all)",
    )
    group.addoption(
        "--harness-accept",
        action="store_true",
        help="fill empty expectations with what comes out; they wait for review",
    )
    group.addoption(
        "--harness-strict",
        action="store_true",
        help="a failed `should` and a cell that does not run are failures too",
    )
    parser.addini(
        "harness_specs",
        "folders of spec files, as seen from the file that names them (default: specs)",
        type="paths",
        default=[],
    )
    parser.addini(
        "harness_adapters",
        "adapters of your own: NAME = TARGET or NAME: DIALECT = TARGET (default: none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_cassettes",
        "the folder of cassettes, as seen from pytest's rootdir (default: cassettes)",
        default="cassettes",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--harness-accept") and os.environ.get("CI"):
        raise pytest.UsageError(
            "--harness-accept is refused where CI is set: an expectation is accepted by a person,"
            " then reviewed"
        )
    _check_names(config)
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(_Collector(config), "harness-results")


def _check_names(config: pytest.Config) -> None:
    """A mistyped name would select nothing, and a run of nothing looks green; an adapter that is
    not there would run nothing.
    """
    for root in config.getini("harness_specs"):
        if not root.is_dir():
            raise pytest.UsageError(f"harness_specs: there is no folder {root}")
    if config.getini("harness_adapters"):
        _project(config)
    dialects, providers = (
        config.getoption("--harness-dialect"),
        config.getoption("--harness-provider"),
    )
    if dialects or providers:
        from harness.conformance.adapters.clients import CLIENTS
        from harness.dialects import DIALECTS
        from harness.providers import PROVIDERS

        adapters = [
            line.partition("=")[0].partition(":")[0].strip()
            for line in config.getini("harness_adapters")
        ]
        columns = [*DIALECTS, *CLIENTS, *adapters, "events", "frames"]
        for option, names, choices in (
            ("--harness-dialect", dialects, columns),
            ("--harness-provider", providers, list(PROVIDERS)),
        ):
            for name in names or ():
                if name not in choices:
                    raise pytest.UsageError(
                        f"{option} {name}: unknown; known are {', '.join(choices)}"
                    )


def _spec_roots(config: pytest.Config) -> list[Path]:
    roots = [
        Path(os.path.normpath(root)) for root in config.getini("harness_specs")
    ]  # `../other/specs`, as pytest names its files
    return roots or [config.rootpath / "specs"]


def _project(config: pytest.Config) -> Project:
    """The project of this run, made once."""
    from harness.conformance.adapters import AdapterError
    from harness.conformance.project import Project

    if _PROJECT not in config.stash:
        cassettes = config.rootpath / config.getini("harness_cassettes")
        try:
            config.stash[_PROJECT] = Project(
                _spec_roots(config), cassettes, config.getini("harness_adapters"), config.rootpath
            )
        except AdapterError as error:
            raise pytest.UsageError(f"harness_adapters: {error}") from None
    return config.stash[_PROJECT]


def _way(path: Path, here: Path) -> Path | None:
    """The way to ``path`` from ``here``; None where there is none, as on Windows between drives."""
    return Path(os.path.relpath(path, here)) if path.anchor == here.anchor else None


def id_of_file(path: Path, config: pytest.Config) -> str | None:
    """The id of a file beside pytest's rootdir; None below it. pytest would leave out the folders
    that were named, and so mix up files.
    """
    way = None if path.is_relative_to(config.rootpath) else _way(path, config.rootpath)
    return way.as_posix() if way else None


@lru_cache(maxsize=8)  # the items of a folder come one after another
def _settings(folder: Path, config: pytest.Config) -> Sequence[str]:
    """The options with which a file of that folder, run alone, has the settings of this run; none
    where pytest finds them from there.
    """
    from harness.conformance.configuration import found_from

    here, words = config.invocation_params.dir, []
    if (
        config.inipath
        and found_from(folder) != config.inipath
        and (way := _way(config.inipath, here))
    ):
        words += ["-c", way.as_posix()]
    if config.getoption("rootdir") and config.rootpath != (
        config.inipath.parent if config.inipath else here
    ):
        words += ["--rootdir", way.as_posix()] if (way := _way(config.rootpath, here)) else []
    return words


class ResultItem(pytest.Item):
    """An item that has a result for the report when it has run; a red one says only what the result
    says.
    """

    result: CaseResult | None = None

    def place(self, line: int) -> str:
        """A line of this item's file, as an editor finds it from where pytest was started."""
        return f"{_way(self.path, self.config.invocation_params.dir) or self.path}:{line}"

    def command(self, *options: str) -> str:
        """A shell line that runs this item alone, pasted where pytest was started: ``pytest
        'specs/x.yaml::case[column]'``.
        """
        return shlex.join(
            ["pytest", *_settings(self.path.parent, self.config), *options, self.named()]
        )

    def named(self) -> str:
        """The item as it is named from where pytest was started: ``specs/x.yaml::case[column]``."""
        path = _way(self.path, self.config.invocation_params.dir)
        return f"{path.as_posix()}::{self.name}" if path else self.nodeid

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, HarnessFailure | HarnessWarning):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if isinstance(item, ResultItem) and call.when == "call" and item.result is not None:
        from harness.conformance.results import encode

        setattr(report, RESULT, encode([item.result]).decode())
    return report


class _Collector:
    """On the controller: gathers results from test reports, writes the pages, prints the
    summary.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.encoded: list[str] = []
        self.unread: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, RESULT, None)
        if encoded is not None:
            self.encoded.append(encoded)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid.endswith((".yaml", ".yml")):
            lines = str(report.longrepr).splitlines()
            self.unread += [
                line for line in lines if line not in self.unread
            ]  # features that can't be read are told by every spec

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folder = self.config.getoption("--harness-report")
        if not self.encoded and not folder and not self.unread:
            return
        from harness.conformance.results import decode
        from harness.report import summary

        from .report import write_report

        results = [result for text in self.encoded for result in decode(text.encode())]
        terminalreporter.section("Gemini conformance")
        terminalreporter.write(summary(results))
        for problem in self.unread:
            terminalreporter.write_line(f"not read: {problem}", red=True)
        if folder:
            target = Path(self.config.invocation_params.dir / folder)
            write_report(results, target, _project(self.config), self.config, self.unread)
            terminalreporter.write_line(f"Report: {target / 'index.html'}")


@pytest.fixture
def harness_replay(request: pytest.FixtureRequest) -> Callable[..., list[dict[str, Any]]]:
    """Replay one exchange of a cassette: ``harness_replay("gemini-api/text", dialect="anthropic")``
    → payloads.

    The first argument is the name of a cassette, or the path of any recording; ``exchange`` counts
    from 1; the rest is `harness.replay`'s.
    """
    from harness.cassettes.load import load
    from harness.pipeline.replay import ReplayError, replay

    project = _project(request.config)

    def run(recording: str | Path, *, exchange: int = 1, **options: Any) -> list[dict[str, Any]]:
        path = Path(recording)
        cassette = load(path) if path.is_file() else project.cassette(str(recording))
        if not 1 <= exchange <= len(cassette.exchanges):
            raise ReplayError(
                f"there is no exchange {exchange}; {recording} has {len(cassette.exchanges)}"
            )
        return replay(cassette.exchanges[exchange - 1], **options)

    return run


@pytest.fixture(scope="session")
def _harness_serving(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The one server of this worker: starting one for each test costs more than most tests."""
    from harness.cassettes.load import load
    from harness.server import Server

    project = _project(request.config)
    with Server(
        read=lambda name: load(name) if Path(name).is_file() else project.cassette(str(name))
    ) as server:
        yield server


@pytest.fixture
def harness_server(_harness_serving: Server) -> Iterator[Server]:
    """Cassettes as a live endpoint: ``harness_server.add("gemini-api/text")``, then point a client
    at ``harness_server.base_url``.

    `add` takes names of cassettes and paths of any recording. `behave` sets pace, cuts, fault and
    matching (`harness.server.serve` says which there are); without it, reads come one by one
    without waiting. After the test nothing of it is served any more.
    """
    _harness_serving.clear(pace="step")
    yield _harness_serving
    _harness_serving.clear(pace="step")
