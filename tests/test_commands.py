"""A command that runs in the process of the tests gives the result of one with its own process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FEWER_PLUGINS
from tests.support.commands import Ended, harness, run

CASSETTES = Path(__file__).parents[1] / "cassettes"
SHIM = """
import os, sys, warnings
from harness.facts import Finish, Text
print("é of", os.environ["SHOP"], file=sys.stderr)

def replay(exchange):
    warnings.warn("old")
    yield 1, [Text("Oslo"), Finish("STOP")]
"""
TEST = """
import os, sys, warnings

def test_shim():
    import shim
    warnings.warn("old")
    assert os.environ["SHOP"] == "cheese"

def test_fails():
    assert "no" == "yes"
"""
CODE = """
import subprocess, sys, warnings, shim
print(__name__, sys.argv, sys.stdin.read())
warnings.warn("deprecated", DeprecationWarning)
subprocess.run(["sh", "-c", "echo out; echo error >&2"])
print("last")
"""
MODULE = """
import sys
print(__name__, __file__, sys.argv, sys.path[0], sys.stdin.read())
sys.exit(3)
"""
JUDGE = ("harness", "judge", "shop = shim:replay", "--cassettes")
COMMANDS = {
    "judge": (*JUDGE, "gemini-api/text:1"),
    "bad usage": (*JUDGE, "nothing"),
    "unknown option": ("harness", "judge", "--colour"),
    "help": ("harness", "check", "--help"),
    "stdin": ("harness", "import", "-"),
    "pytest": ("pytest", "-q", "-p", "no:cacheprovider", *FEWER_PLUGINS),
    "python": ("python", "-c", CODE, "a"),
    "module": ("python", "-m", "shop", "a"),
    "file": ("python", "shop/__main__.py", "a"),
    "exit with a text": ("python", "-c", "raise SystemExit('bye')"),
    "exception": ("python", "-c", "import nothing_at_all"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shim.py").write_text(SHIM, encoding="utf-8")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/__main__.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TEST, encoding="utf-8")
    return tmp_path


def started(*command: str, cwd: Path, environment: dict[str, str], stdin: str) -> Ended:
    name, *arguments = command
    ended = subprocess.run(
        [str(Path(sys.executable).with_name(name)), *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def shown(ended: Ended) -> tuple[int, str, str]:
    """The status and the output, without the duration of a run of pytest and the files of a
    traceback.
    """
    stderr = ended.stderr
    if "Traceback" in stderr:
        stderr = stderr.splitlines()[-1]
    return ended.status, re.sub(r" in \d+\.\d+s", "", ended.stdout), stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_the_result_of_its_own_process(name: str, project: Path) -> None:
    environment = {**os.environ, "SHOP": "cheese", "COLUMNS": "70", "PYTHONUNBUFFERED": ""}
    options: Any = {
        "cwd": project,
        "environment": environment,
        "stdin": 'data: {"candidates": [{"content": {"parts": [{"text": "é"}]}}]}\n\n',
    }
    command = COMMANDS[name]
    assert shown(run(*command, **options)) == shown(started(*command, **options))


def state() -> list[object]:
    """The state of this process that a command could change."""
    descriptors = len([*Path("/dev/fd").iterdir()])
    return [
        *(Path.cwd(), {**os.environ}, [*sys.path], [*sys.meta_path], [*sys.argv], descriptors),
        *([*warnings.filters], sys.stdin, sys.stdout, sys.stderr, os.fstat(1).st_ino),
        *(signal.getsignal(signal.SIGINT), sys.modules["__main__"], sys.modules.get("shim")),
    ]


def test_a_command_leaves_the_process_as_it_was(project: Path) -> None:
    before = state()
    code = """
import os, signal, sys, warnings, shim
os.environ["SHOP"] = "closed"
os.chdir("/")
sys.path.clear()
sys.meta_path.clear()
sys.argv.clear()
sys.stdout = sys.stderr
signal.signal(signal.SIGINT, signal.SIG_IGN)
warnings.simplefilter("ignore")
"""
    assert run("python", "-c", code, cwd=project, environment={"SHOP": "a"}).status == 0
    assert state() == before


def test_a_changed_module_is_imported_anew(project: Path) -> None:
    for text in ("print('one')", "print('two')"):
        (project / "shim.py").write_text(text, encoding="utf-8")
        assert run("python", "-c", "import shim", cwd=project).stdout == f"{text[7:10]}\n"


def test_stderr_is_merged_as_a_pipe_does(project: Path) -> None:
    code = "import sys; print('out'); print('error', file=sys.stderr)"
    assert run("python", "-c", code, merged=True).stdout == "error\nout\n"
    assert harness("judge", "--colour", merged=True).stderr == ""


AFTER = f"""
import shutil
from tests.support.commands import harness

pytest_plugins = ["pytester", "tests.conftest"]

def test_a_sweep(pytester):
    shutil.copy({str(CASSETTES / "gemini-api/text.yaml")!r}, "a.yaml")
    assert harness("sweep", "a.yaml", "-o", "out", "--jobs", "1").status == 0

def test_then(pytester):
    assert "--harness-laws" in pytester.runpytest_inprocess("--help").stdout.str()
"""


@pytest.mark.slow
def test_a_run_inside_a_test_finds_the_plugin_after_late_imports(
    pytester: pytest.Pytester,
) -> None:
    """A sweep imports a library that replaces Python's finder of distributions."""
    pytester.makepyfile(AFTER)
    pytester.syspathinsert(CASSETTES.parent)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
