"""Finds the cassettes and exchanges of a project that no spec, marker or test names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.adapters.clients import CLIENTS
from harness.cassettes import CassetteError
from harness.judging.attempts import attempts_after
from harness.pipeline.replay import is_answer
from harness.specs import Case, SpecError

from .folders import LEFT_OUT
from .project import Project, kind_of, yaml_files


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
