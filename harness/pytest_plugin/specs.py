"""Specs as test items: one item for each case and column of a spec file; a verdict is an outcome.

Nothing of the harness is imported until there is a spec. An item is judged in whichever process
pytest-xdist runs it. With ``--harness-accept`` it first fills its own expectation if that is empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from . import (
    HarnessFailure,
    HarnessWarning,
    ResultItem,
    _project,
    _spec_roots,
    below,
    cassette_folder,
    id_of_file,
)
from .masking import masked

if TYPE_CHECKING:
    from harness.conformance.judge import Cell
    from harness.conformance.project import Project
    from harness.conformance.results import CaseResult


FILLED: Final = "harness_filled"
"""The property of a test report that names an item whose expectation was filled in."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore a link to a folder that contains the link: pytest would follow it forever."""
    roots = (*_spec_roots(config), cassette_folder(config))
    if not collection_path.is_symlink() or below(collection_path, roots) is None:
        return None
    from harness.conformance.project import leads_round

    return True if leads_round(collection_path) else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in (".yaml", ".yml") or not _may_be_spec(file_path, parent.config):
        return None
    from harness.conformance.project import kind_of, unheaded

    kind = kind_of(file_path)
    if kind == "other" and (fault := unheaded(file_path.read_bytes())):
        parent.warn(HarnessWarning(f"{file_path}: {fault}"))
    return (
        SpecFile.from_parent(parent, path=file_path, nodeid=id_of_file(file_path, parent.config))
        if kind == "spec"
        else None
    )


def _may_be_spec(path: Path, config: pytest.Config) -> bool:
    """Whether a file is below a folder of ``harness_specs``, or named on the command line."""
    named = (
        os.path.normpath(config.invocation_params.dir / str(argument).partition("::")[0])
        for argument in config.args
    )
    return below(path, _spec_roots(config)) is not None or str(path) in named


class SpecFile(pytest.File):
    """A spec file; its items are its cells."""

    def collect(self) -> Iterator[pytest.Item]:
        from harness.specs import SpecError

        project = _project(self.config)
        try:
            cells = project.cells(self.path)
        except SpecError as error:
            raise self.CollectError(str(error)) from None
        for cell in cells:
            if self._selected(project, cell):
                name = masked(cell.name)
                # The whole id is given: pytest 9 makes it from the name otherwise, and --lf would
                # not find the item.
                yield CellItem.from_parent(
                    self, name=name, nodeid=f"{self.nodeid}::{name}", cell=cell
                )

    def _selected(self, project: Project, cell: Cell) -> bool:
        providers = self.config.getoption("--harness-provider")
        dialects = self.config.getoption("--harness-dialect")
        if dialects and cell.column not in dialects:
            return False
        return not providers or _provider_of(project, cell) in providers


def _provider_of(project: Project, cell: Cell) -> str | None:
    from harness.cassettes import CassetteError
    from harness.conformance.judge import resolve_fixture
    from harness.pipeline.replay import ReplayError

    try:
        return resolve_fixture(cell.case, project.cassette).provider
    except (CassetteError, ReplayError):
        return None  # the item itself reports the error, in a run that selects it


class CellItem(ResultItem):
    """One cell: ``spec.yaml::case[column]``."""

    def __init__(self, *, cell: Cell, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell
        for feature in cell.case.features:
            self.keywords[feature] = True

    def runtest(self) -> None:
        from msgspec.structs import replace

        from harness.cassettes import CassetteError
        from harness.conformance.adapters import AdapterError
        from harness.conformance.evidence import with_evidence
        from harness.conformance.judge import judge
        from harness.conformance.results import VERDICTS

        project = _project(self.config)
        filled, fault = False, ""
        try:
            filled = self.config.getoption("--harness-accept") and self._accept(project)
        except (AdapterError, CassetteError) as error:
            fault = f"nothing could be filled in: {error}"
        adapter = project.adapter(self.cell.column)
        judgement = judge(self.cell, project.cassette, adapter, today=date.today())
        result = judgement.result
        if self.config.getoption("--harness-report") or VERDICTS[result.verdict].red:
            result = with_evidence(judgement)
        if judgement.fixture and judgement.fixture.guessed and result.verdict != "error":
            self._warn_of_guess()
        if filled:
            self.user_properties.append((FILLED, self.named()))
            result = replace(
                result,
                verdict="unreviewed",
                reason=f"filled in {self.path.name}; read it, then delete `reviewed: no`",
            )
        if fault:
            result = replace(result, verdict="error", reason=fault)
        kept = self.keep(replace(result, command=self.command()))
        self._conclude(kept, judgement.exception)

    def _conclude(self, result: CaseResult, cause: BaseException | None) -> None:
        from harness.conformance.explain import explain
        from harness.conformance.results import VERDICTS
        from harness.stream.printable import printable

        strict = self.config.getoption("--harness-strict")
        place = self.place(self.cell.case.lines.get(self.cell.key, self.cell.case.line))
        match result.verdict:
            case "passed":
                return
            case "known-failing":
                pytest.xfail(printable(f"known failing: {result.reason} ({result.link})"))
            case "not-carried":
                pytest.skip(printable(f"not carried: {result.reason}"))
            case "not-run" | "unreviewed" if not strict:
                pytest.skip(printable(f"{VERDICTS[result.verdict].word}: {result.reason}"))
            case "warning" if not strict:
                self.warn(HarnessWarning(explain(result, place)))
            case _:
                raise HarnessFailure(explain(result, place)) from cause

    def _warn_of_guess(self) -> None:
        self.warn(
            HarnessWarning(
                f"cassette {self.cell.case.cassette}: neither URL nor body tells its provider, and"
                " it is judged as gemini-api's; set `provider:` in the case"
            )
        )

    def _accept(self, project: Project) -> bool:
        """Fill an empty expectation of this cell in its file; returns whether it was filled. Raises
        `AdapterError`, and `CassetteError` for a text that shows a secret.
        """
        from harness.cassettes import CassetteError
        from harness.cassettes.redaction.secrets import guard
        from harness.conformance.judge import produce, resolve_fixture
        from harness.conformance.project import read_text
        from harness.pipeline.replay import ReplayError
        from harness.specs import accept

        case, key = self.cell.case, self.cell.key
        if case.expect[key] is not None or key != self.cell.column:
            return False
        try:
            fixture = resolve_fixture(case, project.cassette)
            got = produce(self.cell, fixture, project.adapter(key))
        except (CassetteError, ReplayError):
            return False  # the judge reports it
        text = accept(read_text(self.path), case.case, key, got, path=str(self.path))
        self.path.write_bytes(guard().scanner.refuse(text, str(self.path)).encode())
        return True

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.cell.case.line - 1, self.name


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print what was filled in, and why nothing ran for an adapter or for configured specs."""
    filled = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == FILLED
    ]
    for item in filled:
        from harness.stream.printable import printable  # a run without specs does not import it

        terminalreporter.write_line(masked(printable(f"filled in: {item}, `reviewed: no`")))
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        for line in (*_unnamed_roots(config), *_unexpected(config)):
            terminalreporter.write_line(masked(line), yellow=True)


def _unnamed_roots(config: pytest.Config) -> Iterator[str]:
    """The folders of ``harness_specs`` that pytest did not collect, since they were not named."""
    here = config.invocation_params.dir
    named = [
        Path(os.path.normpath(here / str(argument).partition("::")[0])) for argument in config.args
    ]
    for root in _spec_roots(config) if config.getini("harness_specs") else ():
        if not any(root.is_relative_to(path) or path.is_relative_to(root) for path in named):
            way = os.path.relpath(root, here) if root.anchor == here.anchor else root
            yield (
                f"harness_specs names {way}, which pytest did not collect: name it after"
                " `pytest`, or in `testpaths`"
            )


def _unexpected(config: pytest.Config) -> Iterator[str]:
    """The selected adapters of which no case expects anything."""
    chosen = config.getoption("--harness-dialect") or ()
    if not chosen:
        return
    from harness.conformance.project import kind_of, yaml_files
    from harness.specs import SpecError

    project = _project(config)
    try:
        cases = [
            case
            for root in project.specs
            for path in yaml_files(root)
            if kind_of(path) == "spec"
            for case in project.cases(path)
        ]
    except SpecError:
        return  # the run that reads the file reports it
    for named in (project.adapters[name] for name in chosen if name in project.adapters):
        if not any(named.dialect in case.expect for case in cases):
            fill = (
                f"write `{named.dialect}:` without a value below the `expect` of a case and run"
                " once with --harness-accept"
            )
            yield (
                f"{named.name}: no case expects anything of {named.dialect}; {fill}, or test it by"
                " the laws with --harness-laws"
            )
