"""The suite in the package: its cassettes, its specs and the checklist of features."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parents[1]


def _find() -> Path:
    """The folder of the suite. It is in the package of a wheel, or the repository of a checkout."""
    inside = _PACKAGE / "suite"
    return inside if inside.is_dir() else _PACKAGE.parent


_SUITE: Final = _find()
CASSETTES: Final = _SUITE / "cassettes"
SPECS: Final = _SUITE / "specs"
FEATURES: Final = SPECS / "features.yaml"
