"""The steps of action.yml, run by bash as a runner does, without GitHub.

Not run here: the steps that other actions perform (the setup of Python, the upload).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_pages import ROOT, surroundings

STEPS: dict[str, dict[str, Any]] = {
    step.get("name", step.get("uses", "")): step
    for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
}
CALLS = (
    '{"functionCall": {"name": "lamp","args": {}}},{"functionCall": {"name": "door","args": {}}}'
)
ANSWER = 'data: {"candidates": [{"content": {"parts": [%s],"role": "model"},"finishReason": "STOP"}]}\n\n'
SHIM = """
import json
from harness.facts import Call, Finish


def replay(exchange):
    candidate = json.loads(exchange.body[6:])["candidates"][0]
    for part in candidate["content"]["parts"][:PARTS]:
        call = part["functionCall"]
        yield call, [Call(None, call["name"], call["args"])]
    yield candidate, [Finish(candidate["finishReason"])]
"""
SPEC = """\
harness: 1
cases:
- case: two-tools
  requirement: Each call of a message is given, in wire order.
  features: [tool-calls.parallel]
  source: https://ai.google.dev/gemini-api/docs/function-calling
  cassette: two
  provider: gemini-api
"""


class Job:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = surroundings() | {
            "CI": "true",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_REPOSITORY": "shop/app",
            "GITHUB_WORKFLOW": "conformance",
            "GITHUB_BASE_REF": "main",
            "GITHUB_JOB": "specs",
            "GITHUB_OUTPUT": str(folder / "output.txt"),
            "BASE": "0123abc",
            "ARTIFACT": "conformance-base",
            "RUNNER_TEMP": str(folder / "temporary"),
            "REPORT": "conformance-report",
            "SPECS": "specs",
            "ADAPTERS": "",
            "ARGUMENTS": "",
        }
        (folder / "temporary").mkdir()

    def shim(self, parts: str) -> None:
        """A shim that gives only the calls of some parts."""
        (self.folder / "shim.py").write_text(SHIM.replace("PARTS", parts), encoding="utf-8")

    def run(self, step: str, **variables: str) -> subprocess.CompletedProcess[str]:
        assert STEPS[step]["shell"] == "bash"
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
            cwd=self.folder,
            env=self.environment | variables,
            text=True,
            capture_output=True,
            check=False,
        )


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "two.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "cassettes").mkdir()
    body = "".join(f"        {line}\n" if line else "\n" for line in (ANSWER % CALLS).splitlines())
    (tmp_path / "cassettes" / "two.yaml").write_text(
        "version: 1\nmetadata: {harness: 1, origin: written, date: '2026-11-28'}\ninteractions:\n"
        f"- request: null\n  response:\n    status: {{code: 200}}\n    body:\n      string: |2+\n{body}"
        "    end: complete\n",
        encoding="utf-8",
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nharness_adapters =\n    shop: facts = shim:replay\n", encoding="utf-8"
    )
    made = Job(tmp_path)
    made.shim("None")
    return made


@pytest.mark.slow
def test_specs_are_green(job: Job) -> None:
    ran = job.run("Run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shown = job.run("Show the result")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "The one cell passed" in (job.folder / "summary.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_red_cell_is_an_annotation_at_its_case(job: Job) -> None:
    job.shim("1")
    assert job.run("Run").returncode == 1
    (line,) = job.run("Show the result").stdout.splitlines()
    assert line.startswith(
        "::error file=specs/two.yaml,line=3,title=failed%3A two-tools [shop]::"
        "Each call of a message is given, in wire order.%0A"
    )
    assert "calls lost: 1 of 2 calls lost: door({})" in line


@pytest.mark.slow
def test_an_adapter_is_judged_against_the_base_branch(job: Job) -> None:
    judge = {"ADAPTERS": "shop = shim:replay\n", "ARGUMENTS": "--cassettes\ncassettes\n"}
    job.shim("1")
    assert job.run("Run", **judge).returncode == 1
    (line,) = job.run("Show the result").stdout.splitlines()
    assert line.startswith("::error title=failed%3A cassettes/two.yaml%3A1 [shop]::")
    assert "calls" in (job.folder / "summary.md").read_text(encoding="utf-8")
    base = job.folder / "temporary" / "conformance-base"
    (job.folder / "conformance-report").rename(base)
    ran = job.run("Run", **judge)
    assert ran.returncode == 0, ran.stdout
    assert "0 broken" in ran.stdout
    job.shim("None")
    assert job.run("Run", **judge).returncode == 0
    shutil.rmtree(base)
    (job.folder / "conformance-report").rename(base)
    job.shim("1")
    ran = job.run("Run", **judge)
    assert ran.returncode == 1
    assert "1 broken" in ran.stdout


def test_the_artifact_of_each_job_of_a_matrix_has_its_own_name(job: Job) -> None:
    job.run("Name the artifact", REPORT="out/a report", INDEX="1")
    job.run("Name the artifact", REPORT="conformance-report", INDEX="")
    assert (job.folder / "output.txt").read_text(encoding="utf-8") == (
        "name=out-a-report-specs-1\nname=conformance-report-specs\n"
    )
    assert STEPS["actions/upload-artifact@v4"]["with"]["name"] == (
        "${{ steps.artifact.outputs.name }}"
    )


@pytest.mark.parametrize("lines", ["shop  more==1", "shop\nmore==1\n"])
def test_all_lines_of_install_are_installed(job: Job, lines: str) -> None:
    path = with_command(job, "python", 'printf "%s\\n" "$@" >calls\n')
    assert job.run("Install", INSTALL=lines, PATH=path).returncode == 0
    calls = (job.folder / "calls").read_text(encoding="utf-8").split()
    assert calls == ["-m", "pip", "install", "--quiet", "shop", "more==1"]


@pytest.mark.parametrize("known", ["0123abc", "main", "nothing"])
def test_the_report_of_the_base_is_downloaded(job: Job, known: str) -> None:
    """That of its commit; else the newest of a push to its branch."""
    path = with_command(
        job,
        "gh",
        'echo "$@" >>calls\n'
        f'if [ "$2" = list ]; then case "$*" in *"{known}"*) echo 77;; esac; exit; fi\n'
        'while [ "$1" != --dir ]; do shift; done; mkdir -p "$2"; touch "$2/results.json"\n',
    )
    ran = job.run("Get the report of the base branch", PATH=path)
    assert ran.returncode == 0, ran.stderr
    *asked, last = (job.folder / "calls").read_text(encoding="utf-8").splitlines()
    assert all("--event push" in line for line in asked)
    assert ("run download 77" in last) is (known != "nothing")
    downloaded = (job.folder / "temporary/conformance-base/results.json").exists()
    assert downloaded is (known != "nothing")
    assert ("::notice::No report of main" in ran.stdout) is not downloaded


def test_a_refused_list_of_runs_does_not_end_the_job(job: Job) -> None:
    path = with_command(job, "gh", 'printf "HTTP 403: not\\naccessible" >&2; exit 1\n')
    ran = job.run("Get the report of the base branch", PATH=path)
    assert ran.returncode == 0
    assert ran.stdout == (
        "::notice::No report of main: nothing to compare with. HTTP 403: not accessible\n"
    )


def with_command(job: Job, name: str, script: str) -> str:
    """Write a command, and return a PATH on which it is first."""
    command = job.folder / "bin" / name
    command.parent.mkdir()
    command.write_text(f"#!/bin/bash\n{script}", encoding="utf-8")
    command.chmod(0o755)
    return f"{command.parent}:{job.environment['PATH']}"


def test_values_of_inputs_reach_scripts_only_as_variables() -> None:
    for step in STEPS.values():
        assert "${{" not in step.get("run", "")
