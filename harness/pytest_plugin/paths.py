"""Paths of a run: its folders of specs and cassettes, and the ids of files outside its rootdir."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest


def spec_roots(config: pytest.Config) -> list[Path]:
    """The folders of ``harness_specs``, by default ``specs``, without ``..``."""
    roots = [
        Path(os.path.normpath(root)) for root in config.getini("harness_specs")
    ]  # without `..`, as pytest names its files
    return roots or [config.rootpath / "specs"]


def cassette_folder(config: pytest.Config) -> Path:
    """The folder of cassettes, without ``..``."""
    return Path(os.path.normpath(config.rootpath / config.getini("harness_cassettes")))


def named_paths(config: pytest.Config) -> list[Path]:
    """The files and folders of the arguments of a run, without ``..``."""
    here = config.invocation_params.dir
    return [
        Path(os.path.normpath(here / str(argument).partition("::")[0])) for argument in config.args
    ]


def below(path: Path, roots: Iterable[Path]) -> Path | None:
    """The path from the root that it is below, or from the folder to which a root links; None for
    another path.
    """
    places = (place for root in roots for place in (root, root.resolve()))
    return next((path.relative_to(place) for place in places if path.is_relative_to(place)), None)


def relative_path(path: Path, here: Path) -> Path | None:
    """``path`` relative to ``here``, or None if it has no relative form (other drive)."""
    return Path(os.path.relpath(path, here)) if path.anchor == here.anchor else None


def id_of_file(path: Path, config: pytest.Config) -> str | None:
    """The id of a file outside pytest's rootdir, with its folders; None for a file inside, to which
    pytest gives a unique id itself.
    """
    if path.is_relative_to(config.rootpath):
        return None
    relative = relative_path(path, config.rootpath)
    return relative.as_posix() if relative else None
