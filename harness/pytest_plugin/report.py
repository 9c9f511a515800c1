"""pytest's options for a report, and the report that a run writes at its end.

What is wrong with an option is told before anything runs, and nothing of ours is imported without
one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path  # the type alone

    from harness.conformance.project import Project
    from harness.conformance.results import CaseResult

LAWS_TRIED: Final = 20
"""So many red cells of a report are held against the laws, which takes a while for each."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption(
        "--harness-report",
        metavar="DIR",
        help=(
            "write the report to DIR: index.html and a page a provider, results.json, junit.xml,"
            " summary.md, badges (default: none)"
        ),
    )
    baseline = (
        "with --harness-report: say what changed since the run of that results.json (default:"
        " nothing is compared)"
    )
    group.addoption("--harness-baseline", metavar="RESULTS", help=baseline)
    day = (
        "with --harness-report: write the ages of cassettes on that day (default: that of"
        " SOURCE_DATE_EPOCH, else no ages)"
    )
    group.addoption("--harness-date", metavar="YYYY-MM-DD", help=day)


def pytest_configure(config: pytest.Config) -> None:
    report, baseline, day = (
        config.getoption(f"--harness-{name}") for name in ("report", "baseline", "date")
    )
    if report:
        target = config.invocation_params.dir / report
        if any(path.exists() and not path.is_dir() for path in (target, *target.parents)):
            raise pytest.UsageError(
                f"--harness-report {report}: not a folder, and none can be made there"
            )
    if report or baseline or day:
        from harness.conformance.results import ResultsError
        from harness.report import ReportError
        from harness.report.files import read_run
        from harness.report.header import choose_day

        try:
            choose_day(day, os.environ.get("SOURCE_DATE_EPOCH", ""))
        except ReportError as error:
            raise pytest.UsageError(f"--harness-date: {error}") from None
        try:
            if baseline:
                read_run(config.invocation_params.dir / baseline)
        except OSError as error:
            raise pytest.UsageError(
                f"--harness-baseline {baseline}: {error.strerror or error}"
            ) from None
        except (ReportError, ResultsError) as error:
            raise pytest.UsageError(f"--harness-baseline: {error}") from None


def write_report(
    results: list[CaseResult],
    target: Path,
    project: Project,
    config: pytest.Config,
    unread: Sequence[str] = (),
) -> None:
    """Write all files of the report into a folder; ``unread``: errors of specs. The first red cells
    are held against the laws.
    """
    from harness.conformance.evidence import DIFFERS, try_laws
    from harness.conformance.results import sort_key
    from harness.report import Run, render
    from harness.report.files import read_run, write_files
    from harness.report.header import choose_day, make_header

    ordered = sorted(results, key=sort_key)
    tried = dict.fromkeys(
        [place for place, result in enumerate(ordered) if result.verdict in DIFFERS][:LAWS_TRIED]
    )
    for place in tried:
        ordered[place] = try_laws(ordered[place], project.cassette)
    ordered = [
        result if place in tried else _without_counterexamples(result)
        for place, result in enumerate(ordered)
    ]
    day = choose_day(config.getoption("--harness-date"), os.environ.get("SOURCE_DATE_EPOCH", ""))
    header = make_header(ordered, project.features(), day, unread)
    baseline = config.getoption("--harness-baseline")
    base = read_run(config.invocation_params.dir / baseline) if baseline else None
    write_files(render(Run(header, ordered), base), target)


def _without_counterexamples(result: CaseResult) -> CaseResult:
    """The result of a law with its breach alone: of many, a report has no room for all the cases
    that show one.
    """
    from msgspec.structs import replace

    evidence = result.evidence
    if evidence is None or not evidence.breaches:
        return result
    breaches = tuple(replace(breach, counterexamples=()) for breach in evidence.breaches)
    return replace(result, evidence=replace(evidence, breaches=breaches))
