"""`make test` runs all its parts, and its last lines say which part failed and why."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.parts import duration, main

MAKEFILE = """\
tests: ; @echo '99 passed'
style: ; @echo 'line 1 is long'; exit 1
types: ; @echo 'no fault in 5 files'
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def lines_of(output: str) -> list[str]:
    """Its lines, with `0 s` for each number of seconds."""
    return re.sub(r"\b\d+ s", "0 s", output).splitlines()


def test_a_failed_part_is_shown_last_and_the_others_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert main("test", "tests", "style", "types") == 1
    *lines, last = lines_of(capfd.readouterr().out)
    assert {"99 passed", "tests 0 s", "types 0 s", "style 0 s, FAILED"} < set(lines)
    at = lines.index("style:")
    assert lines[at + 1] == "line 1 is long"
    assert at > lines.index("99 passed")
    assert "no fault in 5 files" not in lines
    assert last == "make test: FAILED: style 0 s; passed: types 0 s, tests 0 s"


def test_the_last_line_says_what_ran(capfd: pytest.CaptureFixture[str]) -> None:
    assert main("test", "tests", "types") == 0
    last = lines_of(capfd.readouterr().out)[-1]
    assert last == "make test: passed in 0 s: types 0 s, tests 0 s"


def test_a_red_last_part_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main("test", "style", "types") == 1
    last = lines_of(capfd.readouterr().out)[-1]
    assert last == "make test: FAILED: style 0 s; passed: types 0 s"


def test_durations_are_short() -> None:
    assert [duration(seconds) for seconds in (0.2, 59.4, 59.6, 161)] == [
        "0 s",
        "59 s",
        "1 min 0 s",
        "2 min 41 s",
    ]
