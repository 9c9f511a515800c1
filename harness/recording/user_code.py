"""Distinguishes the code of a user from the code of libraries, of Python, and of the harness."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_NOT_THEIRS: Final = (Path(os.__file__).parent, Path(__file__).parents[1])


def is_standard(file: str) -> bool:
    """Return whether a file of code belongs to Python's standard library."""
    path = Path(file)
    return file.startswith("<frozen ") or (
        INSTALLED.isdisjoint(path.parts) and path.is_relative_to(_NOT_THEIRS[0])
    )


def is_users(file: str) -> bool:
    """Return whether a file of code belongs to the user."""
    path = Path(file)
    return (
        not file.startswith("<frozen ")
        and INSTALLED.isdisjoint(path.parts)
        and not any(path.is_relative_to(folder) for folder in _NOT_THEIRS)
    )
