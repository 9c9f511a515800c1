"""The library of faults. A fault is a function or a class with one defect of a real adapter, and its
docstring describes the defect and its source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.project.project import Project

ROOT: Final = Path(__file__).parents[2]
PROJECT: Final = Project([ROOT / "specs"], ROOT / "cassettes")
CASSETTE: Final = cache(PROJECT.cassette)


@dataclass(frozen=True, slots=True)
class Fault:
    """An adapter of ``dialect`` with one fault. ``says`` describes the fault in one line."""

    dialect: str
    name: str = "none"
    says: str = "no fault: our own adapter"


F = TypeVar("F", bound=Fault)


def file_fault(
    faults: dict[str, F], dialect: str, source: Any, make: Callable[[str, str, str], F]
) -> None:
    """Add the fault of a function or class to the faults of its kind. ``make`` gets the dialect,
    the name and the description.
    """
    name = source.__name__.removeprefix(f"{dialect.partition('-')[0]}_")
    says = " ".join((source.__doc__ or "").split())
    assert says, f"{name} says nothing"
    assert f"{dialect}: {name}" not in faults, f"{name} is there twice"
    faults[f"{dialect}: {name}"] = make(dialect, name, says)
