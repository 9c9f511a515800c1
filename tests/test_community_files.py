"""The files of .github and of pre-commit are valid, and name commands and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
ACTION = ROOT / "action.yml"
FILES = [
    ACTION,
    *sorted((ROOT / ".github").rglob("*.yml")),
    *sorted(ROOT.glob(".pre-commit*.yaml")),
]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands(value: Any) -> list[str]:
    """All values of ``run`` and ``entry``."""
    if isinstance(value, list):
        return [command for item in value for command in commands(item)]
    if not isinstance(value, dict):
        return []
    own = [str(value[key]) for key in ("run", "entry") if key in value]
    return own + [command for item in value.values() for command in commands(item)]


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_each_command_exists(file: Path) -> None:
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert document
    for command in commands(document):
        for target in re.findall(r"\bmake ([a-z-]+)", command):
            assert target in TARGETS
        for name in re.findall(r"\bharness ([a-z-]+)", command):
            assert name in COMMANDS
        for folder in re.findall(r"\b(?:tests|specs)/\w+", command):
            assert (ROOT / folder).is_dir()
    if file.parent.name == "workflows":
        assert [command for command in commands(document) if "make" in command]
