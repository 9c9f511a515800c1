"""``harness drift`` runs the real Gemini CLI again with changed answers and finds the drift in its
output.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from harness.server import serve
from tests.clients.record_cli import CLI, HERE, LIMIT_S, Run, _prepare
from tests.support.need import need

PROMPT: Final = "What is in this folder?"


def run(folder: Path, answers: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a harness command in a home of its own; the CLI is answered from a cassette beside this
    module.
    """
    made = folder / answers / words[0]
    made.mkdir(parents=True)
    with serve(HERE / "answers" / f"{answers}.yaml", match="path") as server:
        environment = _prepare(made, Run(answers, PROMPT), server.base_url)
        command = [
            sys.executable,
            "-c",
            "import sys, harness.cli.main; sys.exit(harness.cli.main.main())",
            *words,
        ]
        options = [
            "--cassettes",
            str(folder / "cassettes"),
            "--program",
            shlex.join(["node", str(CLI / "bundle" / "gemini.js")]),
        ]
        return subprocess.run(
            [*command, *options],
            cwd=made / "project",
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )


def test_changed_answers_to_the_cli_are_drift_of_its_output(tmp_path: Path) -> None:
    need("clients", CLI.is_dir(), "the Gemini CLI is not installed; run `make test-clients`")
    (tmp_path / "cassettes").mkdir()
    recorded = run(
        tmp_path,
        "tools",
        "record",
        "gemini-cli/run",
        "--prompt",
        PROMPT,
        "--model",
        "gemini-3-flash-preview",
    )
    assert recorded.returncode == 0, recorded.stderr
    again = run(tmp_path, "tools", "drift", "gemini-cli/run")
    assert (again.returncode, again.stdout.splitlines()[0]) == (0, "gemini-cli/run: no drift"), (
        again.stderr
    )
    altered = run(tmp_path, "text", "drift", "gemini-cli/run")
    assert altered.returncode == 3, altered.stderr
    assert altered.stdout.splitlines()[:3] == [
        "gemini-cli/run:",
        "  breaking  exchange 1  lines[tool_result]: missing field (object)  [gemini-cli.tools]",
        "  breaking  exchange 1  lines[tool_use]: missing field (object)  [gemini-cli.tools]",
    ]
    with pytest.raises(StopIteration):
        next(tmp_path.glob(".harness-drift-*"))
