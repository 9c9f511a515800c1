"""The sprint's definition of done: its page names what shows each line; the last two
lines are tested here.

Source: https://github.com/ravi-strongdm/attractor/blob/main/docs/sprints/SPRINT-005.md.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassettes.yaml import parse
from harness.cli.main import main

ROOT = Path(__file__).parents[3]
LIVE = ROOT / "tests" / "live" / "test_live_unified_llm.py"

PAGE = ROOT / "docs" / "unified-llm-done.md"


def lines() -> dict[str, list[str]]:
    """Each line of the document → the cases, tests and commands that the page names for it."""
    text = PAGE.read_text(encoding="utf-8").partition("| line | shown by |")[2].partition("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("| ")]
    return {line: re.findall("`([^`]+)`", shown) for line, shown in rows}


LINES = lines()


def test_the_document_has_this_many_lines() -> None:
    assert len(LINES) == 3 + 2 + 10 + 4


@pytest.mark.parametrize("line", LINES)
def test_each_line_is_shown(line: str) -> None:
    assert LINES[line]
    for shown in LINES[line]:
        file, _, name = shown.partition("::")
        if file.startswith("specs/"):
            check_case(file, name)
        elif file.startswith("tests/"):
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        else:
            target = shown.removeprefix("make ")
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def check_case(file: str, name: str) -> None:
    spec = parse((ROOT / file).read_text(encoding="utf-8"))
    (case,) = [case for case in spec["cases"] if case["case"] == name]
    assert case["requirement"]
    assert case["expect"]["unified-llm"]
    assert "known_failing" not in case
    assert case.get("reviewed") != "no"


@pytest.mark.slow
def test_the_integration_test_skips_cleanly_without_a_key() -> None:
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "HARNESS_REQUIRE")
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        str(LIVE),
    ]
    done = subprocess.run(
        command, env=clean, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "3 skipped" in done.stdout
    assert "Gemini is not asked: no key; set GEMINI_API_KEY" in done.stdout


@pytest.mark.slow
def test_no_hardcoded_api_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither in the package, nor in the examples, nor in the live tests."""
    places = [ROOT / "harness" / "dialects", ROOT / "examples", LIVE]
    assert main(["scan", *map(str, places)]) == 0, capsys.readouterr()
    planted = tmp_path / "planted.py"
    planted.write_text("KEY = 'AIza" + "Sy" + "B" * 33 + "'\n", encoding="utf-8")
    assert main(["scan", str(planted)]) == 1
