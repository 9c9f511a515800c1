"""What the package says of itself, and the types that a user's shim sees."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import metadata, version
from pathlib import Path

import pytest

import harness
import harness.facts

ROOT = Path(__file__).parents[1]
SHIM = """\
from collections.abc import Iterator

import harness
from harness import At, Exchange
from harness.facts import Call, Error, Fact, Finish, Text, Thought, Usage


def replay(exchange: Exchange) -> Iterator[tuple[object, list[Fact]]]:
    facts: list[Fact] = [Text("Hi")]
    facts.append(Thought("Hm"))
    facts.append(Call("i", "f", {"x": 1}))
    yield exchange.body, facts
    yield {}, [Finish("STOP"), Usage(input=7), Error(429, "no more")]


def client(at: At) -> Iterator[tuple[object, list[Fact]]]:
    yield at.base_url, [Text(at.prompt)]


version: str = harness.__version__
"""


def test_the_version_is_that_of_the_metadata() -> None:
    assert harness.__version__ == version("gemini-conformance")


@pytest.mark.parametrize("module", [harness, harness.facts])
def test_every_public_name_exists(module: object) -> None:
    names: list[str] = vars(module)["__all__"]
    assert [name for name in names if getattr(module, name, None) is None] == []
    assert len(names) == len(set(names))


def test_the_metadata_name_the_project_and_every_tested_version() -> None:
    given = metadata("gemini-conformance")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} == set(project["urls"])
    assert given["Requires-Python"] == ">=3.11"
    assert [name for name in project["classifiers"] if ":: 3.1" in name] == [
        f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)
    ]


@pytest.mark.slow
def test_a_typed_shim_passes_mypy(tmp_path: Path) -> None:
    (tmp_path / "shim.py").write_text(SHIM, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "shim.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
