"""Two lines of the sprint's definition of done. The others are cases of specs/unified-llm and tests
of the examples.

Source: https://github.com/ravi-strongdm/attractor/blob/main/docs/sprints/SPRINT-005.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.main import main

ROOT = Path(__file__).parents[3]
LIVE = ROOT / "tests" / "live" / "test_live_unified_llm.py"


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
