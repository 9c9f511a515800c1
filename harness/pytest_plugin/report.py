"""pytest's options for a report, and the report at the end of a run.

Options are checked before anything runs. Functions import the rest of `harness`, because a run
without these options must stay fast.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import pytest

from .masking import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path  # the type alone

    from harness.conformance.project import Project
    from harness.conformance.results import CaseResult

LAWS_TRIED: Final = 20
"""Red cells of a report for which the laws are tried, because that takes seconds for each."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption(
        "--harness-report",
        metavar="DIR",
        help=(
            "write a report to DIR: index.html and a page per provider, results.json, junit.xml,"
            " summary.md and badges (default: none)"
        ),
    )
    baseline = (
        "with --harness-report: results.json of an earlier run; the report shows the changes since"
        " (default: none)"
    )
    group.addoption("--harness-baseline", metavar="RESULTS", help=baseline)
    day = (
        "with --harness-report: show the ages of cassettes on that day (default: the day of"
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
            raise usage_error(
                f"--harness-report {report}: a file is in the way; name a folder or a new path"
            )
    if report or baseline or day:
        from harness.conformance.results import ResultsError
        from harness.report import ReportError
        from harness.report.files import read_run
        from harness.report.header import choose_day

        try:
            choose_day(day, os.environ.get("SOURCE_DATE_EPOCH", ""))
        except ReportError as error:
            raise usage_error(f"--harness-date: {error}") from None
        try:
            if baseline:
                read_run(config.invocation_params.dir / baseline)
        except OSError as error:
            raise usage_error(f"--harness-baseline {baseline}: {error.strerror or error}") from None
        except (ReportError, ResultsError) as error:
            raise usage_error(f"--harness-baseline: {error}") from None


def write_report(
    results: list[CaseResult],
    target: Path,
    project: Project,
    config: pytest.Config,
    unread: Sequence[str] = (),
) -> None:
    """Write all files of the report into a folder. ``unread`` are the errors of specs. The laws are
    tried for the first red cells.
    """
    from harness.conformance.evidence import DIFFERS, try_laws
    from harness.conformance.results import sort_key
    from harness.report import Run
    from harness.report.files import read_run
    from harness.report.files import write_report as write
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
    write(Run(header, ordered), base, target)


def _without_counterexamples(result: CaseResult) -> CaseResult:
    """The result of a law with its breach, but without the counterexamples, which are long."""
    from msgspec.structs import replace

    evidence = result.evidence
    if evidence is None or not evidence.breaches:
        return result
    breaches = tuple(replace(breach, counterexamples=()) for breach in evidence.breaches)
    return replace(result, evidence=replace(evidence, breaches=breaches))
