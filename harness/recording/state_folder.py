"""The folder ``.harness`` of a project: what the harness keeps about a file and nobody commits."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = ".harness"
_PROJECT: Final = ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", ".git")
"""A folder with one of these is a project."""


def state_folder(file: Path, name: str) -> Path:
    """Return the folder ``name`` for what is kept about a file: in the nearest project that
    contains the file, or else beside it, with the folders between as in the project.
    """
    folder = file.absolute().parent
    for root in (folder, *folder.parents):
        if any((root / known).exists() for known in _PROJECT):
            return root / FOLDER / name / folder.relative_to(root)
    return folder / FOLDER / name


def make_state_folder(folder: Path) -> None:
    """Create a folder of `state_folder`, which git ignores. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    root = next(place for place in folder.parents if place.name == FOLDER)
    if root.is_symlink():
        raise OSError(f"{root} is a link, and is not followed")
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
