"""The garbage collector of a run of specs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from harness.stream.garbage_collector import YOUNG_OBJECTS
from tests.pytest_plugin.project import run, write


@pytest.fixture
def collector_thresholds() -> Iterator[tuple[int, int, int]]:
    """Python's own thresholds, while a test runs."""
    before, own = gc.get_threshold(), (700, 10, 10)
    gc.set_threshold(*own)
    yield own
    gc.set_threshold(*before)


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
