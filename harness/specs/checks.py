"""What the values of a spec mean: known names, paths, dates, operators, repeated names.

A table of checks, one for each key of a case whose value names something outside it. Each takes raw
data and looks only at what has its right shape: wrong shapes are somebody else's finding, and one
fault must not hide another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from harness.cassettes.validation import Fault, Path, bare, listed, place, show, unknown

from .matching import check_expectation
from .models import LAYERS, OPERATORS
from .prompts import expectation_faults, kind_faults

_SEGMENT: Final = re.compile(r"[a-z0-9._-]+")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Known:
    """What the door knows and a spec may name.

    ``losses`` maps a dialect to the names of its declared losses, ``adapters`` an adapter's name to
    the dialect that it is held to.
    """

    dialects: Collection[str]
    providers: Collection[str]
    features: Collection[str]
    losses: Mapping[str, Collection[str]]
    today: date | None
    adapters: Mapping[str, str] = field(default_factory=dict)

    @property
    def cells(self) -> list[str]:
        """What ``expect`` may have as keys."""
        return [*LAYERS, *sorted({*self.dialects, *self.adapters.values()})]


def case_faults(data: Any, known: Known) -> Iterator[Fault]:
    """The faults of every case of a file, case by case."""
    cases = data.get("cases")
    for index, case in enumerate(cases if isinstance(cases, list) else []):
        if isinstance(case, dict):
            for key, check in _CHECKS.items():
                for path, message in check(case.get(key), case, known):
                    yield ("cases", index, key, *path), message
            for path, message in kind_faults(case, known.dialects):
                yield ("cases", index, *path), message


def repeated(items: Any, group: str, key: str, line: Callable[[Path], int]) -> Iterator[Fault]:
    """Entries of ``group`` whose ``key`` an earlier entry has too."""
    seen: dict[str, int] = {}
    for index, item in enumerate(items if isinstance(items, list) else []):
        name = item.get(key) if isinstance(item, dict) else None
        if isinstance(name, str):
            if name in seen:
                yield (
                    (group, index, key),
                    (
                        f"{key} {show(name)} stands on line {seen[name]} already; give this one a"
                        " name of its own"
                    ),
                )
            seen.setdefault(name, line((group, index, key)))


def cassette_fault(name: str) -> str | None:
    """What is wrong with the name of a cassette, or None: a name may lead nowhere but below the
    cassettes folder.
    """
    segments = name.split("/")
    if "\\" in name:
        return "has a backslash; folders are divided by /"
    if name.startswith("/"):
        return "is absolute; it is a path below the cassettes folder"
    if any(segment in (".", "..") for segment in segments):
        return "has a folder . or ..; it is a path below the cassettes folder"
    if "" in segments:
        return "has an empty folder or file name"
    if not all(_SEGMENT.fullmatch(segment) for segment in segments):
        return "has other characters than a-z 0-9 . _ - and /"
    if name.endswith((".yaml", ".yml")):
        return "ends in .yaml, which is left out here"
    return None


def _features(value: Any, _: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, name in enumerate(value if isinstance(value, list) else []):
        if isinstance(name, str):
            if name not in known.features:
                yield (index,), unknown("feature", name, sorted(known.features))
            elif name in seen:
                yield (index,), f"feature {name} stands twice; once is enough"
            seen.add(name)


def _cassette(value: Any, _: Mapping[str, Any], __: Known) -> Iterator[Fault]:
    if isinstance(value, str) and value and (fault := cassette_fault(value)):
        yield (), f"cassette {show(value)} {fault}"


def _provider(value: Any, _: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    if isinstance(value, str) and value not in known.providers:
        yield (), unknown("provider", value, sorted(known.providers))


def _expect(value: Any, case: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    cells = known.cells
    asks = isinstance(case.get("prompt"), dict) or bool(case.get("turns"))
    for cell, expected in value.items() if isinstance(value, dict) else ():
        if cell not in cells:
            yield (cell,), unknown("layer or dialect", cell, cells, "known ones")
        if expected is not None:  # empty: nothing is expected yet
            for path, message in (
                expectation_faults(case, cell, expected)
                if asks
                else _one_expectation(cell, expected)
            ):
                yield (cell, *path), message


def _one_expectation(cell: str, expected: Any) -> Iterator[Fault]:
    """A stream is a list, so what stands for it is one too, or an operator; deeper down an unlisted
    ``$`` key is data.
    """
    operator = next(iter(expected)) if isinstance(expected, dict) and len(expected) == 1 else ""
    if operator.startswith("$") and operator not in OPERATORS:
        yield (operator,), unknown("operator", operator, OPERATORS)
    elif isinstance(expected, list) or operator in OPERATORS:
        for path, message in check_expectation(expected):
            yield path, f"{place(('expect', cell, *path[:-1]))}: {message}"
    else:
        yield (), f"expect.{bare(cell)} must be a list, an operator, or empty, not {show(expected)}"


def _not_carried(value: Any, case: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    for cell, names in value.items() if isinstance(value, dict) else ():
        yield from _outside("not_carried", cell, case)
        declared = known.losses.get(cell, ())
        for index, name in enumerate(names if isinstance(names, list) else []):
            if isinstance(name, str) and name not in declared:
                yield (
                    (cell, index),
                    unknown("loss", name, declared, f"declared losses of {bare(cell)}"),
                )


def _known_failing(value: Any, case: Mapping[str, Any], known: Known) -> Iterator[Fault]:
    for cell, mark in value.items() if isinstance(value, dict) else ():
        yield from _outside("known_failing", known.adapters.get(cell, cell), case)
        expires = mark.get("expires") if isinstance(mark, dict) else None
        if (
            known.today
            and isinstance(expires, str)
            and _DATE.fullmatch(expires)
            and expires < known.today.isoformat()
        ):
            yield (
                (cell, "expires"),
                (
                    f"known_failing.{bare(cell)} expired on {expires}; make the cell pass, or set a"
                    " later date"
                ),
            )


def _outside(key: str, cell: str, case: Mapping[str, Any]) -> Iterator[Fault]:
    """Only a cell that is expected can fail or lose something."""
    expect = case.get("expect")
    if isinstance(expect, dict) and cell not in expect:
        yield (
            (cell,),
            f"{key} names {show(cell)}, which expect does not have; it has {listed(expect)}",
        )


_CHECKS: Final[dict[str, Callable[[Any, Mapping[str, Any], Known], Iterator[Fault]]]] = {
    "features": _features,
    "cassette": _cassette,
    "provider": _provider,
    "expect": _expect,
    "not_carried": _not_carried,
    "known_failing": _known_failing,
}
