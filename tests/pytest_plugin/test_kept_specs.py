"""A second run reads specs from pytest's cache, and notices any change."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes.yaml import parse_located
from harness.specs import reader
from tests.pytest_plugin.project import CASE, write


def outcomes(project: pytest.Pytester, *arguments: str) -> tuple[int, int]:
    given = project.runpytest_inprocess("specs", *arguments).parseoutcomes()
    return given.get("passed", 0), given.get("failed", 0)


def kept_files(project: pytest.Pytester) -> list[Path]:
    return sorted(project.path.glob(".pytest_cache/d/harness-specs/*"))


@pytest.mark.slow
def test_the_second_run_does_not_parse(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcomes(project) == (2, 0)
    assert [path.suffix for path in kept_files(project)] == [".json"]

    def parse_features(text: str, depth: int) -> object:
        assert "case: hello" not in text
        return parse_located(text, depth)

    monkeypatch.setattr(reader, "parse_located", parse_features)
    assert outcomes(project) == (2, 0)


@pytest.mark.slow
def test_a_changed_spec_is_read_again(project: pytest.Pytester) -> None:
    outcomes(project)
    write(project, "specs/hello.yaml", CASE.replace("delta: Hel,", "delta: Hell,"))
    assert outcomes(project) == (1, 1)
    assert outcomes(project) == (1, 1)
    write(project, "specs/hello.yaml", CASE.replace("  cassette:", "  casette:"))
    for _ in range(2):
        result = project.runpytest_inprocess("specs")
        result.stdout.fnmatch_lines(["not read: specs/hello.yaml:7: unknown key 'casette'*"])


@pytest.mark.slow
def test_a_damaged_or_missing_cache_changes_nothing(project: pytest.Pytester) -> None:
    outcomes(project)
    (path,) = kept_files(project)
    for damaged in (b"", b"\xff\xfe", b"[1, 2, 3]"):
        path.write_bytes(damaged)
        assert outcomes(project) == (2, 0)
        assert path.read_bytes() != damaged
    assert outcomes(project, "--cache-clear") == (2, 0)
    assert outcomes(project, "-p", "no:cacheprovider") == (2, 0)


def test_a_cache_that_can_not_be_written_changes_nothing(project: pytest.Pytester) -> None:
    (project.path / ".pytest_cache").mkdir()
    (project.path / ".pytest_cache" / "d").write_text("a file in the way", encoding="utf-8")
    assert outcomes(project, "-W", "ignore") == (2, 0)


@pytest.mark.slow
def test_a_red_cell_shows_its_line_also_from_the_cache(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("delta: Hel,", "delta: Hell,"))
    for _ in range(2):
        result = project.runpytest_inprocess("specs")
        result.stdout.fnmatch_lines(["at: * specs/hello.yaml:9"])
