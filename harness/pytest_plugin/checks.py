"""Checks of options and settings that need the tables of dialects, providers and adapters."""

from __future__ import annotations

import os

import pytest

from harness.adapters.clients import CLIENTS
from harness.cassettes.validation import unknown
from harness.dialects import DIALECTS
from harness.facts import ASPECTS, REQUESTS
from harness.judging.facts_cells import matches
from harness.judging.questions.question import own_questions
from harness.judging.rows import ResultsError
from harness.project.project import Project
from harness.project.questions import questions_of
from harness.providers import PROVIDERS
from harness.report import ReportError
from harness.report.files import read_run
from harness.report.header import choose_day
from harness.specs.spec_error import SpecError

from .mask import usage_error
from .project import project_of


def check_options(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for adapters that can't be read, an unknown name, or a report that
    can't be written.
    """
    if any(config.getini(f"harness_{name}") for name in ("adapters", "losses", "known_failing")):
        _check_patterns(project_of(config))
    _check_names(config)
    _check_report(config)


def _check_patterns(project: Project) -> None:
    """Raise `pytest.UsageError` for a pattern that matches nothing, because the user expects an
    effect.
    """
    known = [known for adapter in project.law_adapters() for known in adapter.known_failing]
    if not known:
        return
    from harness.judging.laws import LAWS  # imports all laws

    subjects = [*ASPECTS, *REQUESTS, *(f"law-{law.id}" for law in LAWS)]
    names = [*project.readable_names, *_questions(project)]
    for failure in known:
        if not any(matches(failure, name, subject) for name in names for subject in subjects):
            known_names = [*subjects, *names]
            kinds = "aspects, laws, cassettes and questions"
            fact = unknown("pattern", failure.pattern, known_names, kinds)
            raise usage_error(f"harness_known_failing: {fact}")


def _check_names(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for an unknown name. It would select nothing, and an empty run
    looks green.
    """
    dialects, providers = (
        config.getoption("--harness-dialect"),
        config.getoption("--harness-provider"),
    )
    if asked := config.getoption("--harness-questions"):
        choices = ["all", "none", *_questions(project_of(config))]
        for name in asked:
            if name not in choices:
                raise usage_error(f"--harness-questions: {unknown('name', name, choices)}")
    if dialects or providers:
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
                    raise usage_error(f"{option}: {unknown('name', name, choices)}")


def _questions(project: Project) -> list[str]:
    """Return the names of the questions of the package, those about failing services too, and of
    the project.
    """
    from harness.judging.questions.service_faults import SERVICE_FAULTS  # slow to import

    try:
        own = questions_of(project.specs)
    except SpecError as error:
        raise usage_error(str(error)) from None
    faults = (fault.name for fault in SERVICE_FAULTS)
    return [*(question.name for question in own_questions()), *faults, *own]


def _check_report(config: pytest.Config) -> None:
    report, baseline, day = (
        config.getoption(f"--harness-{name}") for name in ("report", "baseline", "date")
    )
    if report:
        target = config.invocation_params.dir / report
        if any(path.exists() and not path.is_dir() for path in (target, *target.parents)):
            raise usage_error(
                f"--harness-report {report}: a file has this path; name a folder or a new path"
            )
    if report or baseline or day:
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
