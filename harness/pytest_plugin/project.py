"""The project of a pytest run, and the options that let pytest find the same project again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

import pytest

from harness.adapters import AdapterError
from harness.project.configuration import found_from
from harness.project.project import Project

from .mask import masked_prints, usage_error
from .paths import relative_path, spec_roots

_PROJECT: Final = pytest.StashKey[Project]()


def project_of(config: pytest.Config) -> Project:
    """Return the project of this run. It is made once."""
    if _PROJECT not in config.stash:
        cassettes = config.rootpath / config.getini("harness_cassettes")
        try:
            with masked_prints(config):  # imported adapters may print
                config.stash[_PROJECT] = Project(
                    spec_roots(config),
                    cassettes,
                    config.getini("harness_adapters"),
                    config.rootpath,
                    losses=config.getini("harness_losses"),
                    known_failing=config.getini("harness_known_failing"),
                )
        except AdapterError as error:
            raise usage_error(f"configuration of adapters: {error}") from None
    return config.stash[_PROJECT]


@lru_cache(maxsize=8)  # the items of a folder are consecutive
def pytest_options(folder: Path, config: pytest.Config) -> Sequence[str]:
    """Return the options with which a file of that folder, if it is run alone, gets the settings of
    this run. There are none if pytest itself finds the same settings.
    """
    here, options = config.invocation_params.dir, []
    other_file = config.inipath and found_from(folder) != config.inipath
    if config.inipath and other_file and (relative := relative_path(config.inipath, here)):
        options += ["-c", relative.as_posix()]
    default_root = config.inipath.parent if config.inipath else here
    other_root = config.getoption("rootdir") and config.rootpath != default_root
    if other_root and (relative := relative_path(config.rootpath, here)):
        options += ["--rootdir", relative.as_posix()]
    return options
