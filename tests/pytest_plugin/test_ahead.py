"""Programs run in a thread while earlier cells are judged."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from harness.conformance.adapters import clients
from harness.pytest_plugin import ahead
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


NAMES = ("early", "first", "second", "wrong", "last")


class Programs:
    """Replaces all processes: notes the prompts, and the thread of each."""

    def __init__(self) -> None:
        self.main: list[str] = []
        self.others: list[str] = []
        self.release = threading.Event()
        self.release.set()

    def __call__(self, module: str, arguments: Sequence[str], *_: Any) -> tuple[bytes, int]:
        is_main = threading.current_thread() is threading.main_thread()
        (self.main if is_main else self.others).append(arguments[-1])
        assert self.release.wait(20)
        return b"", 4 if arguments[-1] == "wrong" else 3


@pytest.fixture
def programs(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Programs:
    cases = [PROGRAM.format(name=name) for name in NAMES[1:]]
    write(project, "specs/hello.yaml", CASE + "".join(cases))
    programs = Programs()
    monkeypatch.setattr(clients, "run_program", programs)
    return programs


@pytest.mark.slow
def test_cells_of_programs_come_last_in_their_order(
    project: pytest.Pytester, programs: Programs
) -> None:
    write(project, "specs/a.yaml", f"harness: 1\ncases:\n{PROGRAM.format(name='early')}")
    result = run(project, "-v")
    cells = ("hello?unified-llm", "hello?anthropic", *(f"{name}?mind" for name in NAMES))
    result.stdout.fnmatch_lines([f"specs/*.yaml::{cell}*" for cell in cells], consecutive=True)


@pytest.mark.slow
def test_programs_run_in_a_thread_and_their_cells_are_judged(
    project: pytest.Pytester, programs: Programs
) -> None:
    result = run(project)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["FAILED specs/hello.yaml::wrong?mind-program?*"])
    assert programs.others == ["first", "second", "wrong", "last"]
    assert programs.main == []


def test_the_cells_before_a_program_do_not_wait_for_it(
    project: pytest.Pytester, programs: Programs
) -> None:
    programs.release.clear()

    class Release:
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            if "first" in nodeid:
                programs.release.set()

    result = project.inline_run("specs", "-p", "no:cacheprovider", plugins=[Release()])
    result.assertoutcome(passed=5, failed=1)


@pytest.mark.slow
def test_only_selected_programs_run(project: pytest.Pytester, programs: Programs) -> None:
    run(project, "-k", "second").assert_outcomes(passed=1, deselected=5)
    run(project, "--collect-only")
    run(project, "-k", "anthropic").assert_outcomes(passed=1, deselected=5)
    assert programs.others == ["second"]


@pytest.mark.slow
def test_a_run_that_stops_begins_no_other_program(
    project: pytest.Pytester, programs: Programs
) -> None:
    programs.release.clear()

    class Stop:
        def pytest_runtest_logfinish(self) -> None:
            raise pytest.exit.Exception("enough")

    project.inline_run("specs", "-p", "no:cacheprovider", plugins=[Stop()])
    (thread,) = (thread for thread in threading.enumerate() if thread.name.startswith(ahead.NAME))
    programs.release.set()
    thread.join(20)
    assert programs.others == ["first"]


@pytest.mark.slow
def test_a_cell_that_runs_again_runs_its_program_again(
    project: pytest.Pytester, programs: Programs
) -> None:
    class Twice:
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            items[:] = [items[2], items[2]]

    result = project.inline_run("specs", "-p", "no:cacheprovider", plugins=[Twice()])
    result.assertoutcome(passed=2)
    assert sorted(programs.main + programs.others) == ["first", "first"]
