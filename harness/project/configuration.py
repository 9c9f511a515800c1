"""The project of a shell command: the folders and adapters in its options and in pytest's
configuration.

A command finds the same specs as pytest. It reads the first file in the current folder that
configures pytest, in the order of pytest. It does not import or run anything that the file names.
"""

from __future__ import annotations

import argparse
import configparser
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from harness.adapters import AdapterError, KnownFailure
from harness.adapters.declarations import declared_losses, known_failures
from harness.adapters.named import NamedAdapter, read_line
from harness.facts import DeclaredLoss
from harness.pipeline.replay import ReplayError

from .folders import read_text

if TYPE_CHECKING:
    from .project import Project  # it imports the specs, which few commands need

_Declared = TypeVar("_Declared")

SPECS: Final = "harness_specs"
CASSETTES: Final = "harness_cassettes"
ADAPTERS: Final = "harness_adapters"
LOSSES: Final = "harness_losses"
KNOWN: Final = "harness_known_failing"
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
"""The files that pytest searches for, and the table that it reads in each file
(https://docs.pytest.org/en/stable/reference/customize.html).
"""


def add_folders(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders of specs and of cassettes."""
    for name, option in (("specs", SPECS), ("cassettes", CASSETTES)):
        text = f"the {name} folder (default: {option} of pytest's configuration, then {name})"
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=text)


def project_of(parsed: argparse.Namespace) -> Project:
    """Return the project of a command with ``--specs`` and ``--cassettes``. Raises `ReplayError` if
    the configuration can't be read.
    """
    from .project import Project  # slow to import, because it imports the specs

    project = Project(*folders_of(parsed))
    project.adapters |= adapters_of()
    return project


def adapters_of(folder: Path = Path()) -> dict[str, NamedAdapter]:
    """Return the configured adapters by name. Raises as `project_of` does."""
    return _declared(
        folder, ADAPTERS, lambda lines: {named.name: named for named in map(read_line, lines)}
    )


def losses_of(folder: Path = Path()) -> dict[str, tuple[DeclaredLoss, ...]]:
    """Return the declared losses by the names of their adapters. Raises as `project_of` does."""
    return _declared(folder, LOSSES, declared_losses)


def known_failures_of(folder: Path = Path()) -> dict[str, tuple[KnownFailure, ...]]:
    """Return the known failures by the names of their adapters. Raises as `project_of` does."""
    return _declared(folder, KNOWN, known_failures)


def _declared(
    folder: Path, option: str, read: Callable[[list[str]], dict[str, _Declared]]
) -> dict[str, _Declared]:
    path, table = _configuration(folder)
    lines = _lines(table.get(option))
    try:
        return read(lines) if lines else {}
    except AdapterError as error:
        raise _fault(path, option, error) from None


def folders_of(parsed: argparse.Namespace) -> tuple[list[Path], Path]:
    """Return the folders of specs and the folder of cassettes, as the user wrote them. Raises as
    `project_of` does.
    """
    specs = [parsed.specs] if parsed.specs else specs_of()
    return specs, parsed.cassettes or cassettes_of()


def specs_of() -> list[Path]:
    """Return the configured folders of specs. Raises as `project_of` does."""
    path, table = _configuration(Path())
    value = table.get(SPECS) or []
    try:
        specs = value if isinstance(value, list) else shlex.split(str(value))
    except ValueError as error:
        raise _fault(path, SPECS, error) from None
    return [Path(str(root)) for root in specs] or [Path("specs")]


def cassettes_of() -> Path:
    """Return the configured folder of cassettes. Raises as `project_of` does."""
    _, table = _configuration(Path())
    return Path(str(table.get(CASSETTES) or "cassettes"))


def found_from(folder: Path) -> Path | None:
    """Return the configuration that pytest reads for a file in that folder, which is the nearest
    one.
    """
    folders = (folder, *folder.parents)
    for place in folders:
        try:
            path, _ = _configuration(place)
        except ReplayError:  # pytest also stops at such a file
            return None
        if path != place:
            return path
    return next((path for place in folders if (path := place / "pyproject.toml").is_file()), None)


def _configuration(folder: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the file that configures pytest, and its table; the folder and {} if there is no such
    file.
    """
    for name, keys in FILES:
        path = folder / name
        try:
            table = _table(path, keys) if path.is_file() else None
        except (configparser.Error, tomllib.TOMLDecodeError) as error:
            raise _fault(path, "not a configuration of pytest", error) from None
        if table is not None:
            return path, table
    return folder, {}


def _fault(path: Path, problem: str, error: Exception) -> ReplayError:
    return ReplayError(f"{path}: {problem}: {' '.join(str(error).split())}")


def _table(path: Path, keys: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the table of a file for pytest; None if the file does not configure pytest."""
    if path.suffix == ".toml":
        table: Any = tomllib.loads(read_text(path))
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        return table if isinstance(table, dict) else None
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(read_text(path), str(path))
    if not parser.has_section(keys[0]):
        return {} if path.name.endswith("pytest.ini") else None
    return parser[keys[0]]


def _lines(value: Any) -> list[str]:
    """Return the lines of a value, which is a list or a text."""
    lines = (
        [str(line) for line in value] if isinstance(value, list) else str(value or "").split("\n")
    )
    return [line for line in lines if line.strip()]
