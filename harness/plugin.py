"""pytest's door: spec files become test items, verdicts become outcomes, results become a report.

Nothing of ours is imported until a spec or a fixture is used, and a run without either is not changed in any way. Items run in whatever
process pytest-xdist puts them; each result travels to the controller on its test report, so the pages are the same bytes with and
without workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conformance import Cell
    from .project import Project
    from .results import CaseResult
    from .serving import Server

pytest_plugins = ["harness.fixtures", "harness.law_items", "harness.report_options"]

RESULT: Final = "harness_result"
"""The attribute of a test report that carries the encoded result from a worker to the controller."""


class HarnessWarning(UserWarning):
    """A case of level ``should`` failed, or a file that looks like a spec is none."""


class HarnessFailure(Exception):
    """A cell is red; the text is all that a person needs to see."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption("--harness-provider", action="append", metavar="NAME", help="run only cases on this provider's cassettes (repeatable)")
    group.addoption("--harness-dialect", action="append", metavar="NAME", help="run only the cells of this dialect or adapter (repeatable)")
    group.addoption("--harness-accept", action="store_true", help="fill empty expectations with what comes out; they wait for review")
    group.addoption("--harness-strict", action="store_true", help="a failed `should` and a cell that does not run are failures too")
    parser.addini("harness_specs", "folders of spec files", type="paths", default=[])
    parser.addini("harness_adapters", "adapters of your own: NAME = TARGET or NAME: DIALECT = TARGET", type="linelist", default=[])
    parser.addini("harness_cassettes", "the folder of cassettes (default: cassettes)", default="cassettes")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--harness-accept") and os.environ.get("CI"):
        raise pytest.UsageError("--harness-accept is refused where CI is set: an expectation is accepted by a person, then reviewed")
    _check_names(config)
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(_Collector(config), "harness-results")


def _check_names(config: pytest.Config) -> None:
    """A mistyped name would select nothing, and a run of nothing looks green; an adapter that is not there would run nothing."""
    for root in config.getini("harness_specs"):
        if not root.is_dir():
            raise pytest.UsageError(f"harness_specs: there is no folder {root}")
    if config.getini("harness_adapters"):
        _project(config)
    dialects, providers = config.getoption("--harness-dialect"), config.getoption("--harness-provider")
    if dialects or providers:
        from .dialects import DIALECTS
        from .providers import PROVIDERS

        adapters = [line.partition("=")[0].partition(":")[0].strip() for line in config.getini("harness_adapters")]
        columns = [*DIALECTS, *adapters, "events", "frames"]
        for option, names, choices in (("--harness-dialect", dialects, columns), ("--harness-provider", providers, list(PROVIDERS))):
            for name in names or ():
                if name not in choices:
                    raise pytest.UsageError(f"{option} {name}: unknown; known are {', '.join(choices)}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A link below the specs that leads to a folder it stands in: pytest would walk round and round."""
    if not any(collection_path.is_relative_to(root) for root in _spec_roots(config)) or not collection_path.is_symlink():
        return None
    return True if collection_path.resolve() in collection_path.absolute().parents else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in (".yaml", ".yml") or not _may_be_spec(file_path, parent.config):
        return None
    from .project import kind_of, unheaded

    kind = kind_of(file_path)
    if kind == "other" and (fault := unheaded(file_path.read_bytes())):
        parent.warn(HarnessWarning(f"{file_path}: {fault}"))
    return SpecFile.from_parent(parent, path=file_path) if kind == "spec" else None


def _may_be_spec(path: Path, config: pytest.Config) -> bool:
    """Below a folder of ``harness_specs``, or named on the command line."""
    named = (config.invocation_params.dir / str(argument).partition("::")[0] for argument in config.args)
    return any(path.is_relative_to(root) for root in _spec_roots(config)) or path in named


def _spec_roots(config: pytest.Config) -> list[Path]:
    roots: list[Path] = config.getini("harness_specs")
    return roots or [config.rootpath / "specs"]


def _project(config: pytest.Config) -> Project:
    """The project of this run, made once."""
    from .conformance import AdapterError
    from .project import Project

    if not hasattr(config, "_harness_project"):
        cassettes = config.rootpath / config.getini("harness_cassettes")
        try:
            project = Project(_spec_roots(config), cassettes, config.getini("harness_adapters"), config.rootpath)
        except AdapterError as error:
            raise pytest.UsageError(f"harness_adapters: {error}") from None
        config._harness_project = project  # type: ignore[attr-defined]  # pytest's way to keep state
    return config._harness_project  # type: ignore[attr-defined,no-any-return]  # set just above


class SpecFile(pytest.File):
    """A spec file; its items are its cells."""

    def collect(self) -> Iterator[pytest.Item]:
        from .spec import SpecError

        project = _project(self.config)
        try:
            cells = project.cells(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        for cell in cells:
            if self._selected(project, cell):
                # The id is given whole: pytest 9 tells what stands in brackets from the name, and --lf finds only ids that it told so.
                yield CellItem.from_parent(self, name=cell.name, nodeid=f"{self.nodeid}::{cell.name}", cell=cell)

    def _selected(self, project: Project, cell: Cell) -> bool:
        providers = self.config.getoption("--harness-provider")
        dialects = self.config.getoption("--harness-dialect")
        if dialects and cell.column not in dialects:
            return False
        return not providers or _provider_of(project, cell) in providers


def _provider_of(project: Project, cell: Cell) -> str | None:
    from .cassette import CassetteError

    if cell.case.provider or cell.case.kind == "request":
        from .replaying import DEFAULT_PROVIDER

        return cell.case.provider or DEFAULT_PROVIDER
    try:
        exchanges = project.cassette(cell.case.cassette).exchanges
    except CassetteError:
        return None  # the item itself says what is wrong, in a run that selects it
    return exchanges[cell.case.exchange - 1].provider if cell.case.exchange <= len(exchanges) else None


class ResultItem(pytest.Item):
    """An item that has a result for the report when it has run; a red one says only what the result says."""

    result: CaseResult | None = None

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, HarnessFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)


class CellItem(ResultItem):
    """One cell: ``spec.yaml::case[column]``."""

    def __init__(self, *, cell: Cell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        for feature in cell.case.features:
            self.keywords[feature] = True

    def runtest(self) -> None:
        from msgspec.structs import replace

        from .evidence import examine

        project = _project(self.config)
        filled = self.config.getoption("--harness-accept") and self._accept(project)
        result = examine(self.cell, project.cassette, project.adapter(self.cell.column), today=date.today())
        if filled:
            result = replace(result, verdict="unreviewed", reason=f"filled in {self.path.name}; read it, then delete `reviewed: no`")
        self.result = replace(result, command=f"pytest '{self.nodeid}'")
        self._conclude(self.result)

    def _conclude(self, result: CaseResult) -> None:
        from .matching import visible
        from .results import VERDICTS
        from .telling import explain

        strict = self.config.getoption("--harness-strict")
        line = self.cell.case.lines[self.cell.key]
        match result.verdict:
            case "passed":
                return
            case "known-failing":
                pytest.xfail(visible(f"known failing: {result.reason} ({result.link})"))
            case "not-carried":
                pytest.skip(visible(f"not carried: {result.reason}"))
            case "not-run" | "unreviewed" if not strict:
                pytest.skip(visible(f"{VERDICTS[result.verdict].word}: {result.reason}"))
            case "warning" if not strict:
                self.warn(HarnessWarning(explain(result, line)))
            case _:
                raise HarnessFailure(explain(result, line))

    def _accept(self, project: Project) -> bool:
        """Fill this cell's expectation in its file, if it is empty; whether that was done."""
        from .cassette import CassetteError
        from .conformance import AdapterError, produce, stand_on
        from .project import read_text
        from .replaying import ReplayError
        from .spec import accept

        case, key = self.cell.case, self.cell.key
        if case.expect[key] is not None or key != self.cell.column:
            return False
        adapter = project.adapter(key)
        try:
            ground = stand_on(case, project.cassette)
            got = adapter(ground.exchanges[0], case) if adapter else produce(self.cell, ground)
        except (CassetteError, ReplayError, AdapterError):
            return False  # the judge says what is wrong with it
        text = accept(read_text(self.path), case.case, key, got, path=str(self.path))
        self.path.write_bytes(text.encode())
        return True

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.cell.case.line - 1, self.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if isinstance(item, ResultItem) and call.when == "call" and item.result is not None:
        from .results import encode

        setattr(report, RESULT, encode([item.result]).decode())
    return report


class _Collector:
    """On the controller: gathers results from test reports, writes the pages, prints the summary."""

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
            self.unread += str(report.longrepr).splitlines()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folder = self.config.getoption("--harness-report")
        if not self.encoded and not folder and not self.unread:
            return
        from .report import summary
        from .report_options import write_report
        from .results import decode

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
    """Replay one exchange of a cassette: ``harness_replay("gemini-api/text", dialect="anthropic")`` → payloads.

    The first argument is the name of a cassette, or the path of any recording; ``exchange`` counts from 1; the rest is `harness.replay`'s.
    """
    from . import ReplayError, load, replay

    project = _project(request.config)

    def run(recording: str | Path, *, exchange: int = 1, **options: Any) -> list[dict[str, Any]]:
        path = Path(recording)
        cassette = load(path) if path.is_file() else project.cassette(str(recording))
        if not 1 <= exchange <= len(cassette.exchanges):
            raise ReplayError(f"there is no exchange {exchange}; {recording} has {len(cassette.exchanges)}")
        return replay(cassette.exchanges[exchange - 1], **options)

    return run


@pytest.fixture(scope="session")
def _harness_serving(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The one server of this worker: starting one for each test costs more than most tests."""
    from . import load
    from .serving import Server

    project = _project(request.config)
    with Server(read=lambda name: load(name) if Path(name).is_file() else project.cassette(str(name))) as server:
        yield server


@pytest.fixture
def harness_server(_harness_serving: Server) -> Iterator[Server]:
    """Cassettes as a live endpoint: ``harness_server.add("gemini-api/text")``, then point a client at ``harness_server.base_url``.

    `add` takes names of cassettes and paths of any recording. `behave` sets pace, cuts, fault and matching (`harness.serving.serve` says
    which there are); without it, reads come one by one without waiting. After the test nothing of it is served any more.
    """
    _harness_serving.clear(pace="step")
    yield _harness_serving
    _harness_serving.clear(pace="step")
