"""Cells of our own dialects run without pytest's capture, and otherwise like other tests."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from harness.stream.garbage_collector import YOUNG_OBJECTS
from tests.pytest_plugin.project import run, write

LOUD = """\
import logging
import sys

def adapt(exchange):
    print("it prints")
    print("it warns", file=sys.stderr)
    logging.getLogger("loud").warning("it logs")
    return []
"""

HOOKS = """\
def pytest_runtest_setup(item):
    item.config.{place} = [*getattr(item.config, "{place}", ()), item.name]

def pytest_runtest_teardown(item):
    item.config.{place}.append("end of " + item.name)

def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.write_line("{place}: " + ", ".join(config.{place}))
"""


def test_output_of_an_adapter_of_the_user_is_captured(project: pytest.Pytester) -> None:
    write(project, "loud.py", LOUD)
    project.makeini("[pytest]\npythonpath = .\nharness_adapters = loud: unified-llm = loud:adapt\n")
    result = run(project)
    result.assert_outcomes(passed=2, failed=1)
    for name, text in (("stdout", "it prints"), ("stderr", "it warns"), ("log", "*it logs")):
        result.stdout.fnmatch_lines([f"*Captured {name} call*", text])


@pytest.fixture
def collector_thresholds() -> Iterator[tuple[int, int, int]]:
    """Python's own thresholds, while a test runs."""
    before, own = gc.get_threshold(), (700, 10, 10)
    gc.set_threshold(*own)
    yield own
    gc.set_threshold(*before)


def test_hooks_of_others_are_called_for_the_cells_of_their_folder(
    project: pytest.Pytester,
) -> None:
    hello = (project.path / "specs/hello.yaml").read_text(encoding="utf-8")
    write(project, "conftest.py", HOOKS.format(place="top"))
    for name in ("a", "b"):
        write(project, f"specs/{name}/x.yaml", hello.replace("case: hello", f"case: {name}"))
        write(project, f"specs/{name}/conftest.py", HOOKS.format(place=f"folder_{name}"))
    result = run(project, "-k", "anthropic")
    result.assert_outcomes(passed=3, deselected=3)
    called = {name: f"{name}[[]anthropic], end of {name}[[]anthropic]" for name in ("a", "b")}
    for name, cells in called.items():
        result.stdout.fnmatch_lines([f"folder_{name}: {cells}"])
    result.stdout.fnmatch_lines([f"top: *{called['a']}, {called['b']}*"])


def test_the_garbage_collector_does_not_walk_through_the_specs(project: pytest.Pytester) -> None:
    before = gc.get_freeze_count()
    run(project).assert_outcomes(passed=2)
    assert gc.get_freeze_count() > before


def test_the_garbage_collector_looks_at_new_objects_seldom(
    project: pytest.Pytester, collector_thresholds: tuple[int, int, int]
) -> None:
    write(project, "test_plain.py", "def test_nothing():\n    pass\n")
    project.runpytest_inprocess("test_plain.py").assert_outcomes(passed=1)
    assert gc.get_threshold() == collector_thresholds  # a run without specs is left alone
    run(project).assert_outcomes(passed=2)
    assert gc.get_threshold()[0] == YOUNG_OBJECTS
