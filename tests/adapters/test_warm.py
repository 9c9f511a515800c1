"""A program in a warm process runs as it does in a process of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.adapters import warm
from harness.adapters.adapter import AdapterError

MODULE = "tests.support.small_program"
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    warm.start_program.cache_clear()
    yield
    warm.start_program.cache_clear()


def run(folder: Path, *arguments: str, timeout: float = 20, **environment: str) -> tuple[str, int]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment}
    out, status = warm.run_program(MODULE, arguments, environment, str(folder), timeout)
    return out.decode(), status


def test_each_run_has_its_own_environment_folder_and_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_PROGRAM", "set")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert run(tmp_path / name, "show", "A", A=name) == (f"{name} {name}  False\n", 7)
    assert run(tmp_path, "exit", "3") == ("", 3)
    assert run(tmp_path, "exit", "a word") == ("", 1)
    assert run(tmp_path, "fail") == ("", 1)


def test_all_runs_are_in_one_warm_process(tmp_path: Path) -> None:
    first = run(tmp_path, "pid")
    assert first[0].startswith("warm ")
    assert run(tmp_path, "pid") == first


@pytest.mark.slow
def test_after_a_run_that_hangs_the_next_one_works(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"did not return within 0\.5 s"):
        run(tmp_path, "sleep", timeout=0.5)
    assert run(tmp_path, "exit", "3") == ("", 3)


def test_a_program_that_fails_at_its_start_gives_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMALL_PROGRAM", "broken")
    with pytest.raises(AdapterError, match=r"(?s)ended with status 1 .*it can't begin"):
        run(tmp_path, "pid")


def test_a_warm_process_that_was_killed_is_started_again(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match="ended with status -9"):
        run(tmp_path, "kill")
    assert run(tmp_path, "exit", "3") == ("", 3)
