"""A program starts before the first cell, and then runs for each of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from harness.adapters import clients
from tests.pytest_plugin.project import CASE, run, write

PROGRAM = """\
- case: {name}
  requirement: The program ends with its code.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  context: {{arguments: [--prompt, {name}]}}
  expect:
    mind-program: [{{exit: 3, asked: 0}}]
"""


@pytest.fixture
def steps(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces all processes: notes their starts and the prompts of their runs."""
    cases = [PROGRAM.format(name=name) for name in ("one", "two")]
    write(project, "specs/hello.yaml", CASE + "".join(cases))
    steps: list[str] = []

    def run_program(module: str, arguments: Sequence[str], *_: Any) -> tuple[bytes, int]:
        steps.append(arguments[-1])
        return b"", 3

    def start_program(module: str) -> None:
        steps.append(f"start {module}")

    monkeypatch.setattr(clients, "run_program", run_program)
    monkeypatch.setattr(clients, "start_program", start_program)
    return steps


def test_a_program_starts_before_the_first_cell(project: pytest.Pytester, steps: list[str]) -> None:
    class First:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            steps.append("judge")

    result = project.inline_run("specs", "-p", "no:cacheprovider", plugins=[First()])
    result.assertoutcome(passed=4)
    start = "start harness.dialects.mind.program.main"
    assert steps == [start, start, "judge", "judge", "judge", "one", "judge", "two"]


def test_a_program_that_is_not_selected_does_not_start(
    project: pytest.Pytester, steps: list[str]
) -> None:
    run(project, "--collect-only")
    run(project, "-k", "anthropic").assert_outcomes(passed=1, deselected=3)
    assert steps == []
