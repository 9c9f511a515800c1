"""The package installs beside the frameworks of those who use it, and a run loads few packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.need import need

ROOT: Final = Path(__file__).parents[1]
PYTHONS: Final = ("3.11", "3.14")
"""The oldest version of Python, and the newest for which all packages have wheels."""
BESIDE: Final = {
    "langchain-tests": "langchain-tests",
    "litellm": "litellm litellm[proxy]",
    "pydantic-ai": "pydantic-ai",
    "google-adk": "google-adk>=2.12",
    "pytest-recording": "pytest-recording",
    "vcrpy 8": "vcrpy>=8,<9",
    "vcrpy 9": "vcrpy>=9",
    "pytest 8": "pytest>=8,<9",
    "pytest 9": "pytest>=9",
    "all": "langchain-tests litellm pydantic-ai pytest-recording pytest>=8,<9",
}
"""What is installed in one environment with the package."""
EXTRAS: Final = ("genai", "openai", "anthropic")
OLD_GENAI: Final = "google-adk"
"""It needs google-genai below 3, so it installs beside the package without the extra `genai`."""
UNUSED: Final = ("deepdiff", "h11", "jinja2", "pydantic", "re2", "tqdm", "vcr")
"""Packages of the base that judging an adapter does not load."""
JUDGE: Final = f"""
import sys
from harness.cli.main import main
status = main(["judge", "shim:replay", "--cassettes", "gemini-api/text:1", "--questions", "none"])
print(status, [name for name in {UNUSED!r} if name in sys.modules])
"""
SHIM: Final = """
from harness.facts import Raw
import json
def replay(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data: "):
            message = json.loads(line[6:])
            yield message, [Raw(message)]
"""


def project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    read: dict[str, dict[str, Any]] = tomllib.loads(text)
    return read["project"]


def resolve(
    requirements: str, python: str, extras: Iterable[str] = EXTRAS
) -> subprocess.CompletedProcess[str]:
    """Resolve the package and these requirements, without building a package from its source."""
    options = ["--no-build", "--no-header", "--no-annotate", "--python-version", python]
    given = [f"--extra={extra}" for extra in extras]
    uv = str(Path(sys.executable).with_name("uv"))
    return subprocess.run(
        [uv, "pip", "compile", "-q", "pyproject.toml", "-", *given, *options],
        input="\n".join(requirements.split()),
        cwd=ROOT,
        env={**os.environ, "UV_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module", name="registry")
def _registry() -> None:
    ended = resolve("", PYTHONS[0])
    need("registry", ended.returncode == 0, f"no registry of packages: {ended.stderr}")


@pytest.mark.slow
@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("beside", BESIDE)
def test_the_package_installs_beside(beside: str, python: str) -> None:
    extras = [extra for extra in EXTRAS if beside != OLD_GENAI or extra != "genai"]
    ended = resolve(BESIDE[beside], python, extras)
    assert ended.returncode == 0, ended.stderr
    for requirement in BESIDE[beside].split():
        name = re.split(r"[\[<>]", requirement)[0]
        assert re.search(rf"^{name}(\[\w+\])?==", ended.stdout, re.MULTILINE), name


@pytest.mark.slow
@pytest.mark.usefixtures("registry")
def test_a_set_that_collides_is_found() -> None:
    for collides in ("vcrpy<8", BESIDE[OLD_GENAI]):
        ended = resolve(collides, PYTHONS[0])
        assert ended.returncode != 0
        assert re.split("[<>]", collides)[0] in ended.stderr


def test_vcrpy_and_pytest_have_a_lower_bound_and_no_upper_one() -> None:
    bounds = {re.split(r"[<>=]", text)[0]: text for text in project()["dependencies"]}
    assert re.fullmatch(r"vcrpy>=[\d.]+", bounds["vcrpy"])
    assert re.fullmatch(r"pytest>=[\d.]+", bounds["pytest"])


def test_each_tested_version_of_python_is_named() -> None:
    named = {text.rpartition(" :: ")[2] for text in project()["classifiers"]}
    assert {*PYTHONS} <= named


def test_judging_an_adapter_loads_few_packages(tmp_path: Path) -> None:
    (tmp_path / "shim.py").write_text(SHIM)
    ended = subprocess.run(
        [sys.executable, "-c", JUDGE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines()[-1] == "0 []", ended.stdout + ended.stderr
