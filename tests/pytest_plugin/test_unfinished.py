"""A run that ends early, only collects, or runs items again does not look like a green run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.report.files import read_run
from tests.pytest_plugin.project import CASE, run, write

RERUN = """
import pytest
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    "Run a failed item once more, with the reports of pytest-rerunfailures."
    for attempt in (1, 2):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        again = attempt == 1 and any(report.failed for report in reports)
        for report in reports:
            if again and report.failed:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        if not again:
            return True
"""
FLAKY = """
from pathlib import Path

def replay(exchange):
    first = not Path("ran").exists()
    Path("ran").touch()
    return [{"say": "no" if first else "Hello"}]
"""


def test_a_cell_that_passes_when_it_runs_again_says_so(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nharness_adapters = turn = shop:replay\n")
    write(project, "shop.py", FLAKY)
    write(project, "conftest.py", RERUN)
    write(project, "specs/hello.yaml", CASE + "    turn: [{say: Hello}]\n")

    result = run(project, "--harness-dialect", "turn", "--harness-report", "report")

    result.stdout.fnmatch_lines(["1 cell passed only when a plugin ran it again; *"])
    (cell,) = read_run(project.path / "report").results
    assert cell.verdict == "passed"
    assert cell.reason.startswith("passed only when it ran again; the first run was red: ")


def test_a_run_that_only_collects_keeps_the_report(project: pytest.Pytester) -> None:
    run(project, "--harness-report", "report")
    before = (project.path / "report/index.html").read_bytes()

    run(project, "--harness-report", "report", "--collect-only")

    assert (project.path / "report/index.html").read_bytes() == before


@pytest.mark.slow
def test_a_process_that_ends_leaves_no_report_of_an_earlier_run(project: pytest.Pytester) -> None:
    run(project, "--harness-report", "report")
    write(project, "test_exit.py", "import os\n\ndef test_exit():\n    os._exit(0)\n")

    project.runpytest_subprocess("test_exit.py", "specs", "--harness-report", "report")

    for name in ("index.html", "summary.md"):
        page = Path(project.path / "report" / name).read_text(encoding="utf-8")
        assert "The run has not finished, so there is no report of it." in page
    assert read_run(project.path / "report").results
