"""The sprint's definition of done: most lines are golden cases or tests elsewhere; the rest is
tested here.

Source: https://github.com/ravi-strongdm/attractor/blob/main/docs/sprints/SPRINT-005.md.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassettes.yaml import parse
from harness.cli.main import main

ROOT = Path(__file__).parents[3]
LIVE = ROOT / "tests" / "live" / "test_live_unified_llm.py"

CASES = {
    "TestBuildContents_UserText": "requests-sprint::test-build-contents-user-text",
    "TestBuildContents_AssistantText": "requests-sprint::test-build-contents-assistant-text",
    "TestBuildContents_ToolCall": "requests-sprint::test-build-contents-tool-call",
    "TestBuildContents_ToolResult": "requests-sprint::test-build-contents-tool-result",
    "TestBuildContents_SystemStripped": "requests-sprint::test-build-contents-system-stripped",
    "TestJsonSchemaToGenai": "requests-sprint::test-json-schema-to-genai",
    "TestConvertGeminiResponse_Text": "requests-sprint::test-convert-gemini-response-text",
    "TestConvertGeminiResponse_ToolCall": "requests-sprint::test-convert-gemini-response-tool-call",
    "TestMapGeminiError (429)": "requests-sprint::test-map-gemini-error-rate-limit",
    "TestMapGeminiError (401)": "requests-sprint::test-map-gemini-error-auth",
    "use case 1": "conversations::single-model-via-gemini",
    "use case 3": "conversations::tool-call-round-trip",
}
"""Line of the document → its case below ``specs/unified-llm``."""

TESTS = {
    "attractor run examples/gemini.dot": "test_examples::test_attractor_run_completes_a_codergen_turn",
    "attractor lint examples/gemini.dot": "test_examples::test_attractor_lint_passes_without_a_key",
    "Integration test skips cleanly": "test_sprint::test_the_integration_test_skips_cleanly_without_a_key",
    "No hardcoded API keys": "test_sprint::test_no_hardcoded_api_keys",
}
"""Line of the document → its test."""


@pytest.mark.parametrize("line", CASES)
def test_every_line_about_correctness_is_a_case(line: str) -> None:
    file, _, name = CASES[line].partition("::")
    spec = parse((ROOT / "specs" / "unified-llm" / f"{file}.yaml").read_text(encoding="utf-8"))
    (case,) = [case for case in spec["cases"] if case["case"] == name]
    assert case["requirement"]
    assert case["expect"]["unified-llm"]
    assert "known_failing" not in case
    assert case.get("reviewed") != "no"


@pytest.mark.parametrize("line", TESTS)
def test_every_other_line_is_a_test(line: str) -> None:
    file, _, name = TESTS[line].partition("::")
    tree = ast.parse((Path(__file__).parent / f"{file}.py").read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


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
