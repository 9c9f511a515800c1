"""Finds the cassettes and exchanges of a project that nothing names, and the specs that no run
collects. Moves unused cassettes out of the way.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.adapters.clients import CLIENTS
from harness.cassettes import CassetteError
from harness.judging.attempts import attempts_after
from harness.pipeline.replay import is_answer
from harness.recording.part_file import FOLDER, make_state_folder
from harness.specs.models import Case
from harness.specs.spec_error import SpecError
from harness.stream.printable import plural

from .folders import LEFT_OUT, SUFFIXES, yaml_files
from .mentions import Mentions
from .project import Project, kind_of

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
    computed: str = ""
    """The place that computes a name, which may be that of this cassette; "" if there is none."""

    @property
    def sentence(self) -> str:
        """``unused: nothing names exchange 2 of the cassette gemini-api/text``."""
        numbers = list(map(str, self.exchanges))
        *first, last = numbers or [""]
        listed = f"{', '.join(first)} and {last}" if first else last
        noun = "exchanges" if first else "exchange"
        exchanges = f"{noun} {listed} of " if numbers else ""
        return f"unused: nothing names {exchanges}the cassette {self.cassette}"


def unused_of(project: Project, folder: Path, opened: Collection[Path] = ()) -> list[Unused]:
    """Return each cassette, or its exchanges, that no case names, by name. A text of the project in
    ``folder`` uses all exchanges of a cassette that it names, as a case of a client does, or whose
    test it has, as with pytest-recording. ``opened``: files of cassettes that are used.
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
    used = {path.resolve() for path in opened}
    unopened = [name for name in candidates if project.cassette_path(name).resolve() not in used]

    def is_read(path: Path) -> bool:
        return path.suffix in SUFFIXES and (
            path.resolve().is_relative_to(project.cassettes)
            or (project.root_of(path) is not None and kind_of(path) == "spec")
        )

    mentions = Mentions(folder, project.cassettes, project.cassette_names)
    unnamed, computed = mentions.split(unopened, is_read)
    return [replace(candidates[name], computed=computed.get(name, "")) for name in sorted(unnamed)]


def lines_of(unused: Sequence[Unused]) -> list[str]:
    """Return a line for each that is unused, and one for each place that computes names."""
    lines = [one.sentence for one in unused if not one.computed]
    for place in sorted({one.computed for one in unused} - {""}):
        names = [one.cassette for one in unused if one.computed == place]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        lines.append(
            f"not decided: {place} computes the name of a cassette, which may be"
            f" {', '.join(names[:3])}{more}"
        )
    return lines


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


def prune(
    project: Project, unused: Sequence[Unused], folder: Path, missing: str = ""
) -> Iterator[str]:
    """Move the cassettes that nothing names to ``.harness/unused`` in the folder of the project,
    and yield a line for each. A cassette with exchanges that are used keeps all its exchanges,
    because specs name them by number. ``missing``: the option without which nothing is moved, if it
    was not given. Raises `OSError`.
    """
    names = [one.cassette for one in unused if not one.exchanges and not one.computed]
    if missing and names:
        counted = plural(len(names), "unused cassette")
        yield f"nothing was moved: add {missing} to move {counted} to .harness/unused"
        return
    if unused and not names:
        yield "nothing was moved: no cassette is known to be unused"
    for name in names:
        path = project.cassette_path(name)
        inner = path.relative_to(folder.resolve())
        target = folder / FOLDER / "unused" / inner
        make_state_folder(target.parent)
        number = 1
        while target.exists():
            number += 1
            target = target.with_name(f"{path.stem}-{number}{path.suffix}")
        path.rename(target)
        yield f"moved: {inner} to {target.relative_to(folder)}"


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
