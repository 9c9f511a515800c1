"""The paths of a run: its folders of specs and cassettes, and ids of files outside its rootdir."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

QUESTIONS: Final = Path(__file__).parents[1] / "judging" / "questions" / "questions.yaml"
"""The questions of the package."""


def asks_package(config: pytest.Config) -> bool:
    """Return whether the run may ask questions of the package."""
    return config.getoption("--harness-questions") not in (None, ["none"])


def spec_roots(config: pytest.Config) -> list[Path]:
    """Return the folders of ``harness_specs``, by default ``specs``, without ``..``."""
    roots = [
        Path(os.path.normpath(root)) for root in config.getini("harness_specs")
    ]  # without `..`, because pytest names files without it
    return roots or [config.rootpath / "specs"]


def cassette_folder(config: pytest.Config) -> Path:
    """Return the folder of cassettes, without ``..``."""
    return Path(os.path.normpath(config.rootpath / config.getini("harness_cassettes")))


def named_paths(config: pytest.Config) -> list[Path]:
    """Return the files and folders of the command line, without ``..``."""
    arguments = (str(argument).partition("::")[0] for argument in config.args)
    return [Path(os.path.normpath(config.invocation_params.dir / name)) for name in arguments]


def below(path: Path, roots: Iterable[Path]) -> Path | None:
    """Return the path relative to the root that contains it, as it is written, or else with the
    links in its first parts resolved. None if no root contains it.
    """
    ways = [path]
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root)
        if len(ways) == 1:
            ways += [part.resolve() / path.relative_to(part) for part in (path, *path.parents)]
        real = root.resolve()
        if way := next((way for way in ways if way.is_relative_to(real)), None):
            return way.relative_to(real)
    return None


def is_collected(path: Path, root: Path, config: pytest.Config) -> bool:
    """Return whether a file in a root is collected by this path. Several arguments of the command
    line may lead to the same file through links. The argument in the root has priority, then the
    first argument.
    """
    if path.is_relative_to(root):
        return True
    named = named_paths(config)
    if any(root.is_relative_to(argument) for argument in named):
        return False  # the file is collected by its path in the root
    leading = [argument for argument in named if below(path, [argument]) is not None]
    first = min(leading, key=lambda argument: not argument.is_relative_to(root), default=root)
    return path.is_relative_to(first) and below(path, [root]) is not None


def relative_path(path: Path, here: Path) -> Path | None:
    """Return ``path`` relative to ``here``, or None if there is no relative form (another
    drive).
    """
    return Path(os.path.relpath(path, here)) if path.anchor == here.anchor else None


def id_of_file(path: Path, config: pytest.Config) -> str | None:
    """Return the id of a file outside pytest's rootdir, with its folders. None for a file inside
    the rootdir, because pytest gives it a unique id.
    """
    if path.is_relative_to(config.rootpath):
        return None
    relative = relative_path(path, config.rootpath)
    return relative.as_posix() if relative else None
