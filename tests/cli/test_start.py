"""A command starts fast: it imports only what it uses."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

PROGRAM: Final = """
import sys
from harness.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write(" ".join(sys.modules))
"""
UNUSED: Final = {
    "asyncio": "only a user's function needs an event loop",
    "concurrent.futures": "only --jobs needs threads",
    "dask": "only a sweep divides its work",
    "http.client": "only a gateway is asked over HTTP",
    "jinja2": "only a report has a page",
    "pdb": "only --pdb opens the debugger",
    "pydantic": "only a spec is checked by its shape",
    "harness.specs.models": "facts are judged without a spec",
    "vcr": "only a recording needs it",
}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["judge", "--help"], id="help"),
        pytest.param(
            ["judge", "art", "--cassettes", "gemini-api/text:1", "--questions", "none"],
            marks=pytest.mark.slow,
            id="art",
        ),
    ],
)
def test_judge_imports_only_what_it_uses(words: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True
    )
    imported = set(ran.stderr.split("\n")[-1].split())
    assert "harness.judging.aspect_run" in imported
    assert {name: reason for name, reason in UNUSED.items() if name in imported} == {}
