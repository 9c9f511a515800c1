"""Collection: finds the spec files, with ``--harness-laws`` the cassettes, and with
``--harness-questions`` the questions of the package.
"""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from harness.stream.garbage_collector import collect_seldom

from .paths import (
    QUESTIONS,
    asks_package,
    below,
    cassette_folder,
    is_collected,
    named_paths,
    spec_roots,
)

_SUFFIXES = (".yaml", ".yml")


def pytest_configure(config: pytest.Config) -> None:
    """Add the cassettes to the arguments of a run that checks the laws, and the questions of the
    package to those of a run that asks them.
    """
    if asks_package(config) and QUESTIONS not in named_paths(config):
        config.args.append(str(QUESTIONS))
    if config.getoption("--harness-laws"):
        folder = cassette_folder(config)
        if not folder.exists():
            raise pytest.UsageError(
                f"--harness-laws: there is no folder {folder}; name the folder of your recordings"
                " in pytest's configuration: harness_cassettes = FOLDER"
            )
        named = named_paths(config)
        inside = any(below(path, [folder]) is not None for path in named)
        if not inside and below(folder, named) is None:
            config.args.append(str(folder))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore a link to a folder that contains the link, because pytest would follow it forever.
    Also ignore a link to a folder with files that the run collects without the link. The questions
    of the package may be in a virtual environment, which pytest ignores.
    """
    if asks_package(config) and QUESTIONS.is_relative_to(collection_path):
        return False
    roots = (*spec_roots(config), cassette_folder(config))
    if not collection_path.is_symlink() or below(collection_path, roots) is None:
        return None
    from harness.project.folders import leads_round

    if leads_round(collection_path):
        return True
    if collection_path in roots or not collection_path.is_dir():
        return None
    target = collection_path.resolve()
    named = [path.resolve() for path in named_paths(config)]
    walked = below(target, roots) is not None and any(map(target.is_relative_to, named))
    return True if walked else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Freeze the specs: they stay in memory until the end, so the garbage collector does not need
    to check them.
    """
    if any(hasattr(item, "cell") for item in session.items):
        gc.freeze()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in _SUFFIXES:
        return None
    if file_path == QUESTIONS:
        from .questions import collect_questions

        return collect_questions(file_path, parent) if asks_package(parent.config) else None
    if _may_be_spec(file_path, parent.config):
        from harness.project.project import kind_of

        from .questions import collect_questions
        from .specs import collect_spec

        if kind_of(file_path) == "questions":
            return collect_questions(file_path, parent)
        if (spec := collect_spec(file_path, parent)) is not None:
            collect_seldom()
            return spec
    if parent.config.getoption("--harness-laws"):
        from .laws import collect_cassette

        if is_collected(file_path, cassette_folder(parent.config), parent.config):
            return collect_cassette(file_path, parent)
    return None


def _may_be_spec(path: Path, config: pytest.Config) -> bool:
    """Return whether a file is in a folder of ``harness_specs``, or named on the command line."""
    roots = spec_roots(config)
    return any(is_collected(path, root, config) for root in roots) or path in named_paths(config)
