"""Finds the files in folders, and reads their text."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from harness.specs.spec_error import SpecError

LEFT_OUT: Final = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__"})
"""The names of the folders that belong to no project."""
SUFFIXES: Final = (".yaml", ".yml")
_LONGEST: Final = 100
"""The number of characters of a name that are compared with other names. The time for that grows
with the square of the number.
"""


def names_below(folder: Path) -> list[str]:
    """Return the names of all cassettes in a folder and its subfolders. A file outside of the
    folder has no name, even if a link leads to it.
    """
    folder = folder.resolve()
    return [
        path.relative_to(folder).with_suffix("").as_posix()
        for path in yaml_files(folder)
        if path.resolve().is_relative_to(folder)
    ]


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name of a cassette, if possible in the same folder; None if no name
    is similar. A name in another folder must be more similar.
    """
    folder, _, last = name[:_LONGEST].rpartition("/")
    beside: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    for cassette in names:
        above, _, own = cassette.rpartition("/")
        (beside if above == folder else elsewhere).setdefault(own, cassette)
    for known, cutoff in ((beside, 0.6), (elsewhere, 0.8)):
        if near := difflib.get_close_matches(last, known, 1, cutoff):
            return known[near[0]]
    return None


def yaml_files(folder: Path) -> Iterator[Path]:
    """Yield the YAML files in a folder and its subfolders, also through links, in order; or the
    file itself.
    """
    if folder.is_file():
        yield folder
    yield from (path for path in files_below(folder) if path.suffix in SUFFIXES)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, also through links, in order."""
    paths: list[Path] = []
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not leads_round(Path(place, name))]
        paths += [Path(place, name) for name in files]
    yield from filter(Path.is_file, sorted(paths))


def leads_round(path: Path) -> bool:
    """Return whether a path is a link to a folder that contains the link."""
    if not path.is_symlink():
        return False
    return path.resolve() in {parent.resolve() for parent in path.absolute().parents}


def read_text(path: Path) -> str:
    """Return the text of a file with its own line ends. Raises `SpecError` if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SpecError(
            shown_path(path), [(1, f"not UTF-8 at byte {error.start}; save the file as UTF-8")]
        ) from None


def shown_path(path: Path) -> str:
    """Return the path, relative to the working folder if it is in that folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
