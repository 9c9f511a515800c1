"""Collection: finds the spec files, with ``--harness-laws`` the cassettes, and with
``--harness-questions`` the questions of the package.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.stream.garbage_collector import collect_seldom

from .paths import (
    QUESTIONS,
    asks_package,
    below,
    cassette_folder,
    id_of_file,
    is_collected,
    named_paths,
    spec_roots,
)

if TYPE_CHECKING:
    from .items import RowItem

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
    config = parent.config
    if file_path.suffix not in _SUFFIXES:
        return None
    if file_path != QUESTIONS and _may_be_spec(file_path, config):
        from harness.project.project import kind_of, unheaded

        if kind_of(file_path) == "other" and (fault := unheaded(file_path.read_bytes())):
            from .failures import HarnessWarning

            parent.warn(HarnessWarning(f"{file_path}: {fault}"))
    if (kind := item_of(file_path, config)) is None:
        return None
    from .items import RowFile

    collect_seldom()
    nodeid = id_of_file(file_path, config)
    return RowFile.from_parent(parent, path=file_path, nodeid=nodeid, kind=kind)


def item_of(path: Path, config: pytest.Config) -> type[RowItem] | None:
    """Return the class of the items of a file, None for a file without rows."""
    if path == QUESTIONS or _may_be_spec(path, config):
        from harness.project.project import kind_of

        if path == QUESTIONS or kind_of(path) == "questions":
            from .questions import QuestionItem

            return QuestionItem if path != QUESTIONS or asks_package(config) else None
        if kind_of(path) == "spec":
            from .specs import CellItem

            return CellItem
    if config.getoption("--harness-laws"):
        from .laws import LawItem

        return LawItem if is_collected(path, cassette_folder(config), config) else None
    return None


def _may_be_spec(path: Path, config: pytest.Config) -> bool:
    """Return whether a file is in a folder of ``harness_specs``, or named on the command line."""
    roots = spec_roots(config)
    return any(is_collected(path, root, config) for root in roots) or path in named_paths(config)
