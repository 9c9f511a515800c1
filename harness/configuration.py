"""The project of a shell command: the folders that it was given, and the adapters that pytest's configuration names.

A spec may expect what an event model of the user's own gives, so a command that reads specs without pytest has to know its name. The
first file of the current folder that configures pytest is read, in pytest's order; nothing that it names is imported or run.
"""

from __future__ import annotations

import argparse
import configparser
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from .adapters.named import NamedAdapter, read_line
from .conformance import AdapterError
from .project import Project, read_text
from .replaying import ReplayError

KEY: Final = "harness_adapters"
FILES: Final = (
    ("pytest.toml", ("pytest",)),
    (".pytest.toml", ("pytest",)),
    ("pytest.ini", ("pytest",)),
    (".pytest.ini", ("pytest",)),
    ("pyproject.toml", ("tool", "pytest", "ini_options")),
    ("pyproject.toml", ("tool", "pytest")),
    ("tox.ini", ("pytest",)),
    ("setup.cfg", ("tool:pytest",)),
)
"""Where pytest looks (https://docs.pytest.org/en/stable/reference/customize.html), and the table of the file that it reads."""


def project_of(parsed: argparse.Namespace, folder: Path = Path()) -> Project:
    """The project of a command with ``--specs`` and ``--cassettes``; raises `ReplayError` for a configuration that is none."""
    project = Project([parsed.specs], parsed.cassettes)
    project.adapters |= {named.name: named for named in _adapters(folder)}
    return project


def _adapters(folder: Path) -> list[NamedAdapter]:
    for name, keys in FILES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            lines = _lines(path, keys)
            if lines is not None:
                return [read_line(line) for line in lines if line.strip()]
        except (AdapterError, configparser.Error, tomllib.TOMLDecodeError) as error:
            raise ReplayError(f"{path}: {KEY}: {' '.join(str(error).split())}") from None
    return []


def _lines(path: Path, keys: Sequence[str]) -> list[str] | None:
    """The lines of our key; None where the file does not configure pytest."""
    if path.suffix == ".toml":
        table: Any = tomllib.loads(read_text(path))
        for key in keys:
            table = table.get(key)
            if not isinstance(table, dict):
                return None
        value = table.get(KEY, [])
        return [str(line) for line in value] if isinstance(value, list) else str(value).split("\n")
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(read_text(path), str(path))
    if not parser.has_section(keys[0]):
        return [] if path.name.endswith("pytest.ini") else None
    return (parser[keys[0]].get(KEY) or "").split("\n")
