"""The pytest plugin: options, the project of a run, its results, and fixtures for tests.

`specs` and `laws` make the items; `report` writes the report. pytest loads this package in every
run, so functions import the rest of `harness` when a spec, a fixture or an option needs it; a run
without them does not change. Each result goes from a worker to the controller on its test report,
so that a report has the same bytes with and without workers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from .masking import masked, usage_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.conformance.project import Project
    from harness.conformance.results import CaseResult
    from harness.server import Server

pytest_plugins = [
    "harness.pytest_plugin.recording",
    "harness.pytest_plugin.laws",
    "harness.pytest_plugin.masking",
    "harness.pytest_plugin.report",
    "harness.pytest_plugin.specs",
]

RESULT: Final = "harness_result"
"""The attribute of a test report with the encoded result, for the way to the controller."""

_PROJECT: Final = pytest.StashKey["Project"]()


class HarnessWarning(UserWarning):
    """A case of level ``should`` failed, or a file looks like a spec but is not one."""


class HarnessFailure(Exception):
    """A cell is red; the text is the whole output for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption(
        "--harness-provider",
        action="append",
        metavar="NAME",
        help="run only the cases of this provider (repeatable; default: all)",
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
        help="fill empty expectations with the actual values, marked as unreviewed",
    )
    group.addoption(
        "--harness-strict",
        action="store_true",
        help="also fail for a failed case of level `should` and for a cell that does not run",
    )
    parser.addini(
        "harness_specs",
        "folders of specs, relative to the configuration file (default: specs)",
        type="paths",
        default=[],
    )
    parser.addini(
        "harness_adapters",
        "your adapters, one per line: NAME = TARGET or NAME: DIALECT = TARGET (default: none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_losses",
        "aspects that an adapter does not carry: ADAPTER: ASPECT, ASPECT[CONDITION] (default:"
        " none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_known_failing",
        "failures of an adapter that are known: ADAPTER: PATTERN = REASON LINK (default: none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_allowed_hosts",
        "names that clients may use for this machine, as host.docker.internal (default: only"
        " loopback names)",
        type="args",
        default=[],
    )
    parser.addini(
        "harness_cassettes",
        "the folder of cassettes, relative to the rootdir (default: cassettes)",
        default="cassettes",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--harness-accept") and os.environ.get("CI"):
        raise usage_error(
            "--harness-accept does not run in CI (the environment variable CI is set): a person"
            " accepts and reviews expectations; run it on your machine"
        )
    _check_names(config)
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(_Collector(config), "harness-results")


def _check_names(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for an unknown name: it would select nothing, and a run of nothing
    looks green.
    """
    for root in config.getini("harness_specs"):
        if not root.is_dir():
            raise usage_error(
                f"harness_specs: there is no folder {root}; create it or correct the path"
            )
    if any(config.getini(f"harness_{name}") for name in ("adapters", "losses", "known_failing")):
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
                    raise usage_error(f"{option} {name}: unknown; known are {', '.join(choices)}")


def _spec_roots(config: pytest.Config) -> list[Path]:
    roots = [
        Path(os.path.normpath(root)) for root in config.getini("harness_specs")
    ]  # without `..`, as pytest names its files
    return roots or [config.rootpath / "specs"]


def cassette_folder(config: pytest.Config) -> Path:
    """The folder of cassettes, without ``..``."""
    return Path(os.path.normpath(config.rootpath / config.getini("harness_cassettes")))


def below(path: Path, roots: Iterable[Path]) -> Path | None:
    """The path from the root that it is below, or from the folder to which a root links; None for
    another path.
    """
    places = (place for root in roots for place in (root, root.resolve()))
    return next((path.relative_to(place) for place in places if path.is_relative_to(place)), None)


def _project(config: pytest.Config) -> Project:
    """The project of this run, made once."""
    from harness.conformance.adapters import AdapterError
    from harness.conformance.project import Project

    if _PROJECT not in config.stash:
        cassettes = config.rootpath / config.getini("harness_cassettes")
        try:
            config.stash[_PROJECT] = Project(
                _spec_roots(config),
                cassettes,
                config.getini("harness_adapters"),
                config.rootpath,
                losses=config.getini("harness_losses"),
                known_failing=config.getini("harness_known_failing"),
            )
        except AdapterError as error:
            raise usage_error(f"configuration of adapters: {error}") from None
    return config.stash[_PROJECT]


def _relative(path: Path, here: Path) -> Path | None:
    """``path`` relative to ``here``, or None if it has no relative form (other drive)."""
    return Path(os.path.relpath(path, here)) if path.anchor == here.anchor else None


def id_of_file(path: Path, config: pytest.Config) -> str | None:
    """The id of a file outside pytest's rootdir, with its folders; None for a file inside, to which
    pytest gives a unique id itself.
    """
    if path.is_relative_to(config.rootpath):
        return None
    relative = _relative(path, config.rootpath)
    return relative.as_posix() if relative else None


@lru_cache(maxsize=8)  # the items of a folder are consecutive
def _settings(folder: Path, config: pytest.Config) -> Sequence[str]:
    """The options that give a file of that folder, run alone, the settings of this run; none if
    pytest finds the same settings itself.
    """
    from harness.conformance.configuration import found_from

    here, options = config.invocation_params.dir, []
    other_file = config.inipath and found_from(folder) != config.inipath
    if config.inipath and other_file and (relative := _relative(config.inipath, here)):
        options += ["-c", relative.as_posix()]
    default_root = config.inipath.parent if config.inipath else here
    other_root = config.getoption("rootdir") and config.rootpath != default_root
    if other_root and (relative := _relative(config.rootpath, here)):
        options += ["--rootdir", relative.as_posix()]
    return options


class ResultItem(pytest.Item):
    """An item with a result for the report. The output of a red one is the result alone."""

    result: CaseResult | None = None

    def keep(self, result: CaseResult) -> CaseResult:
        """Keep the result of this item, without secrets; returns it."""
        from harness.cassettes.redaction.secrets import mask
        from harness.conformance.masked import masked

        self.result = masked(result, mask())
        return self.result

    def place(self, line: int) -> str:
        """A line of this item's file, relative to the folder where pytest was started."""
        return f"{_relative(self.path, self.config.invocation_params.dir) or self.path}:{line}"

    def command(self, *options: str) -> str:
        """A shell line that runs this item alone from the folder where pytest was started:
        ``pytest 'specs/x.yaml::case[column]'``.
        """
        return shlex.join(
            ["pytest", *_settings(self.path.parent, self.config), *options, self.named()]
        )

    def named(self) -> str:
        """The id of the item from the folder where pytest was started."""
        path = _relative(self.path, self.config.invocation_params.dir)
        return f"{path.as_posix()}::{self.name}" if path else self.nodeid

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, HarnessFailure | HarnessWarning):
            shown = str(excinfo.value)
            if (cause := excinfo.value.__cause__) is None:
                return shown
            from harness.stream.printable import printable_lines

            chosen = self.config.getoption("tbstyle")
            style = chosen if chosen in ("short", "native") else "long"
            chain = super().repr_failure(pytest.ExceptionInfo.from_exception(cause), style)
            return f"{shown}\n\n{printable_lines(str(chain))}"
        return super().repr_failure(excinfo, style)


@pytest.hookimpl(tryfirst=True)
def pytest_exception_interact(
    node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
) -> None:
    """Let ``--pdb`` open the frames of the adapter that raised."""
    failure = call.excinfo.value if call.excinfo else None
    if isinstance(failure, HarnessFailure) and failure.__cause__ is not None:
        call.excinfo = pytest.ExceptionInfo.from_exception(failure.__cause__)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if isinstance(item, ResultItem) and call.when == "call" and item.result is not None:
        from harness.conformance.results import encode

        setattr(report, RESULT, encode([item.result]).decode())
    return report


class _Collector:
    """Collects results from test reports on the controller; writes the report, prints a summary."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.encoded: list[str] = []
        self.unread: list[str] = []
        self.unshown: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        encoded = getattr(report, RESULT, None)
        if encoded is not None:
            self.encoded.append(encoded)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and report.nodeid.endswith((".yaml", ".yml")):
            lines = str(report.longrepr).splitlines()
            # every spec repeats the error of an unreadable features file
            self.unread += [line for line in lines if line not in self.unread]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run for declared losses that no cell shows."""
        if self.config.getini("harness_losses") and self.encoded:
            from harness.conformance.facts_cells import unshown_losses
            from harness.conformance.results import decode

            results = [result for text in self.encoded for result in decode(text.encode())]
            self.unshown = unshown_losses(results)
            if self.unshown and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

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
            terminalreporter.write_line(masked(f"not read: {problem}"), red=True)
        for sentence in self.unshown:
            terminalreporter.write_line(masked(sentence), red=True)
        if folder:
            target = Path(self.config.invocation_params.dir / folder)
            write_report(results, target, _project(self.config), self.config, self.unread)
            terminalreporter.write_line(masked(f"Report: {target / 'index.html'}"))


@pytest.fixture
def harness_replay(request: pytest.FixtureRequest) -> Callable[..., list[dict[str, Any]]]:
    """A function that replays one exchange: ``harness_replay("gemini-api/text",
    dialect="anthropic")`` returns its payloads.

    The first argument is the name of a cassette, or the path of a recording; ``exchange`` counts
    from 1. Other arguments are those of `harness.replay`. ``adapter``, the name of a configured
    adapter, takes their place: its native events are returned, or its facts as JSON where it
    states facts.
    """
    from harness.cassettes.load import load
    from harness.pipeline.replay import ReplayError, replay

    project = _project(request.config)

    def run(
        recording: str | Path, *, exchange: int = 1, adapter: str = "", **options: Any
    ) -> list[dict[str, Any]]:
        path = Path(recording)
        cassette = load(path) if path.is_file() else project.cassette(str(recording))
        if not 1 <= exchange <= len(cassette.exchanges):
            raise ReplayError(
                f"{recording}: there is no exchange {exchange}; it has {len(cassette.exchanges)};"
                " exchanges count from 1"
            )
        if not adapter:
            return replay(cassette.exchanges[exchange - 1], **options)
        chosen = project.adapter(adapter)
        if chosen is None:
            raise ReplayError(
                f"{adapter} is no configured adapter; known are {', '.join(project.adapters)}"
            )
        return chosen.items(cassette.exchanges[exchange - 1])

    return run


@pytest.fixture(scope="session")
def _harness_serving(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server of this worker: to start one per test would take longer than most tests."""
    from harness.cassettes.load import load
    from harness.server import Server

    project = _project(request.config)
    with Server(
        allowed_hosts=request.config.getini("harness_allowed_hosts"),
        read=lambda name: load(name) if Path(name).is_file() else project.cassette(str(name)),
    ) as server:
        yield server


@pytest.fixture
def harness_server(_harness_serving: Server) -> Iterator[Server]:
    """A server that answers from cassettes: ``harness_server.add("gemini-api/text")``, then send
    the requests of a client to ``harness_server.base_url``.

    `add` takes the names of cassettes and the paths of recordings. `behave` sets pace, cuts, fault
    and matching, as in `harness.server.serve`; the default is to send one read after another
    without waiting. After the test the server has no cassettes.
    """
    _harness_serving.clear(pace="step")
    yield _harness_serving
    _harness_serving.clear(pace="step")
