"""Writes the report of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from harness.conformance.evidence import DIFFERS, try_laws
from harness.conformance.project import Project
from harness.conformance.results import CaseResult, sort_key
from harness.report import Run
from harness.report.files import read_run
from harness.report.files import write_report as write_files
from harness.report.header import choose_day, make_header

LAWS_TRIED: Final = 20
"""Red cells of a report for which the laws are tried, because that takes seconds for each."""


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
    write_files(Run(header, ordered), base, target)


def _without_counterexamples(result: CaseResult) -> CaseResult:
    """The result of a law with its breach, but without the counterexamples, which are long."""
    evidence = result.evidence
    if evidence is None or not evidence.breaches:
        return result
    breaches = tuple(replace(breach, counterexamples=()) for breach in evidence.breaches)
    return replace(result, evidence=replace(evidence, breaches=breaches))
