"""Finds the cassettes and exchanges of a project that no spec, marker or test names, and the specs
that no run collects. Deletes unused cassettes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.adapters.clients import CLIENTS
from harness.cassettes import CassetteError
from harness.judging.attempts import attempts_after
from harness.pipeline.replay import is_answer
from harness.specs import Case, SpecError

from .folders import LEFT_OUT
from .project import SUFFIXES, Project, kind_of, yaml_files

_CONFIGURATIONS: Final = frozenset(
    {"pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg", "pyvenv.cfg"}
)
"""The files that show another project, or a virtual environment, in a folder below."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A cassette that nothing names, or the numbers of its exchanges that nothing names."""

    cassette: str
    exchanges: tuple[int, ...] = ()
    """The numbers from 1; empty for the whole cassette."""

    @property
    def sentence(self) -> str:
        """``unused: no spec, marker or test names exchange 2 of the cassette gemini-api/text``."""
        numbers = list(map(str, self.exchanges))
        *first, last = numbers or [""]
        listed = f"{', '.join(first)} and {last}" if first else last
        noun = "exchanges" if first else "exchange"
        exchanges = f"{noun} {listed} of " if numbers else ""
        return f"unused: no spec, marker or test names {exchanges}the cassette {self.cassette}"


def unused_of(project: Project, folder: Path) -> list[Unused]:
    """Return each cassette, or its exchanges, that no case names, by name. A Python file below
    ``folder`` uses all exchanges of a cassette that it names, as a case of a client does, or whose
    test it has, as with pytest-recording.
    """
    cases: dict[str, list[Case]] = {name: [] for name in project.cassette_names}
    for root in project.specs:
        for file in yaml_files(root):
            if kind_of(file) == "spec":
                with suppress(SpecError):  # `harness check` and pytest report it
                    for case in project.cases(file):
                        cases.setdefault(case.cassette, []).append(case)
    candidates = {
        name: Unused(name, tuple(numbers) if cases[name] else ())
        for name in project.cassette_names
        if (numbers := _unused(project, name, cases[name]))
    }
    if candidates:
        for text in _python_files(folder):
            candidates = {name: one for name, one in candidates.items() if not _named(name, text)}
    return [candidates[name] for name in sorted(candidates)]


def uncollected(project: Project, folder: Path) -> list[Path]:
    """Return the specs below ``folder`` that are in no folder of specs, so that no run collects
    them. The paths are relative to ``folder``. Other projects below are left out.
    """
    collected = (*(root.resolve() for root in project.specs), project.cassettes.resolve())
    specs: list[Path] = []
    for place, folders, files in os.walk(folder):
        if place != str(folder) and _CONFIGURATIONS.intersection(files):
            folders[:], files = [], []
        folders[:] = [name for name in folders if name not in LEFT_OUT and name[:1] != "."]
        for name in files:
            path = Path(place, name)
            if (
                path.suffix in SUFFIXES
                and not any(path.resolve().is_relative_to(root) for root in collected)
                and path.is_file()
                and kind_of(path) == "spec"
            ):
                specs.append(path.relative_to(folder))
    return sorted(specs)


OUTSIDE: Final = "the folder of cassettes is outside of the project, so others may use them"


def is_outside(project: Project, folder: Path) -> bool:
    """Whether the folder of cassettes is not below ``folder``, whose files show what is used."""
    return not project.cassettes.resolve().is_relative_to(folder.resolve())


def delete_unused(project: Project, unused: Sequence[Unused]) -> Iterator[Path]:
    """Delete the cassettes that nothing names, and yield the file of each. A cassette with
    exchanges that are used keeps all its exchanges, because specs name them by number. Raises
    `OSError`.
    """
    for name in [one.cassette for one in unused if not one.exchanges]:
        paths = (project.cassettes / f"{name}{suffix}" for suffix in SUFFIXES)
        path = next(path for path in paths if path.is_file())
        path.unlink()
        yield path


def _named(cassette: str, text: str) -> bool:
    test = cassette.rpartition("/")[2].partition("[")[0]
    return cassette in text or f"def {test}(" in text


def _unused(project: Project, name: str, cases: list[Case]) -> list[int]:
    """Return the numbers of the exchanges that no case uses; [1] for a cassette that no case
    names.
    """
    if not cases:
        return [1]
    if any(client in case.expect for case in cases for client in CLIENTS):
        return []
    try:
        exchanges = project.cassette(name).exchanges
    except CassetteError:
        return []  # `harness check` and pytest report it
    used: set[int] = set()
    for case in cases:
        last = case.exchange + max(len(case.turns), 1) - 1
        used |= {*range(case.exchange, last + 1)}
        if last <= len(exchanges) and is_answer(exchanges[last - 1], case.provider):
            attempts = attempts_after(exchanges[last - 1], exchanges[last:])
            used |= {*range(last + 1, last + len(attempts) + 1)}
    return [
        number
        for number, exchange in enumerate(exchanges, 1)
        if number not in used and is_answer(exchange, exchange.provider)
    ]


def _python_files(folder: Path) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT and name[:1] != "."]
        for name in files:
            if name.endswith(".py"):
                yield Path(place, name).read_text(encoding="utf-8", errors="replace")
